package hclconfig

import (
	"slices"

	"github.com/zclconf/go-cty/cty"
)

// Cost says what changing a value does to running components.
type Cost string

// The costs, from the cheapest.
const (
	// CostNone changes nothing that runs: the value is a setting of kubewright itself.
	CostNone Cost = "none"
	// CostObject changes only API objects or markers.
	CostObject Cost = "object"
	// CostRestart restarts a component on each affected node.
	CostRestart Cost = "restart"
	// CostNodeReplace removes the node and joins it again.
	CostNodeReplace Cost = "node-replace"
	// CostImmutable cannot change during the life of the cluster.
	CostImmutable Cost = "immutable"
)

// Type is the type of an attribute.
type Type struct {
	// Name is the type as the reference documentation prints it.
	Name string
	// Static attributes are not evaluated: a type, or a reference to a block.
	Static bool

	cty cty.Type
	// normal checks and rewrites a value after its conversion to cty.
	normal func(cty.Value) (cty.Value, error)
}

// The types of attributes.
var (
	typeString     = Type{Name: "string", cty: cty.String}
	typeNumber     = Type{Name: "number", cty: cty.Number, normal: wholeNumber}
	typeBool       = Type{Name: "bool", cty: cty.Bool}
	typeStrings    = Type{Name: "list of strings", cty: cty.List(cty.String)}
	typeStringMap  = Type{Name: "map of strings", cty: cty.Map(cty.String)}
	typeBoolMap    = Type{Name: "map of bools", cty: cty.Map(cty.Bool)}
	typeDuration   = Type{Name: "duration", cty: cty.String, normal: checkDuration}
	typeTree       = Type{Name: "object", cty: cty.DynamicPseudoType, normal: checkTree}
	typeAny        = Type{Name: "any", cty: cty.DynamicPseudoType}
	typeOneOrMore  = Type{Name: "string or list of strings", cty: cty.DynamicPseudoType, normal: oneOrMore}
	typeTaints     = Type{Name: "list of objects", cty: cty.DynamicPseudoType, normal: checkTaints}
	typeReference  = Type{Name: "reference to a cluster", Static: true, cty: cty.DynamicPseudoType}
	typeConstraint = Type{Name: "type", Static: true, cty: cty.DynamicPseudoType}
	typeAddress    = Type{Name: "address", Static: true, cty: cty.DynamicPseudoType}
	typeIgnored    = Type{Name: "list of paths", Static: true, cty: cty.DynamicPseudoType}
	typeCommand    = Type{Name: "command", Static: true, cty: cty.DynamicPseudoType}
	typeForEach    = Type{Name: "map or set of strings", cty: cty.DynamicPseudoType}
)

var taintsType = cty.List(cty.ObjectWithOptionalAttrs(map[string]cty.Type{
	"key": cty.String, "value": cty.String, "effect": cty.String,
}, []string{"value"}))

// Attribute is a row of the table: a name with a value.
type Attribute struct {
	Name string
	Type Type
	// Default is the value if nothing is written: nil for none, or a value that literal takes.
	// Derived describes a default that is computed.
	Default  any
	Derived  string
	Required bool
	// Computed attributes can be referred to, and not be written.
	Computed bool
	// NonEmpty refuses the empty string.
	NonEmpty bool
	// Plain returns a value in the form that everything else expects, where kubeadm takes others too.
	Plain     func(string) string
	Doc       string
	Since     string
	Sensitive bool
	Cost      Cost
}

// Block is a row of the table: a block with its own attributes and blocks.
type Block struct {
	Name string
	// Label is what the block's label stands for; empty for a block without one.
	Label string
	// Repeat allows several: with a label, several with the same label.
	Repeat     bool
	Doc        string
	Since      string
	Attributes []Attribute
	Blocks     []*Block
	// Free allows any attribute, as in locals.
	Free bool
	// Variants are the rows of a block whose label selects its content; their names are the
	// labels.
	Variants []*Block
}

// Schema returns the whole language: the blocks that a file may have.
func Schema() *Block { return root }

// Attribute returns the row of an attribute, or nil.
func (b *Block) Attribute(name string) *Attribute {
	i := slices.IndexFunc(b.Attributes, func(a Attribute) bool { return a.Name == name })
	if i < 0 {
		return nil
	}
	return &b.Attributes[i]
}

// Block returns the row of a nested block, or nil.
func (b *Block) Block(name string) *Block {
	i := slices.IndexFunc(b.Blocks, func(c *Block) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return b.Blocks[i]
}

// variant returns the row for a label, or nil.
func (b *Block) variant(label string) *Block {
	i := slices.IndexFunc(b.Variants, func(c *Block) bool { return c.Name == label })
	if i < 0 {
		return nil
	}
	return b.Variants[i]
}

// single reports whether there can be only one such block: its attributes can be referred to.
func (b *Block) single() bool { return b.Label == "" && !b.Repeat }

// Value returns the default as a value of the type; null without one.
func (a *Attribute) Value() cty.Value {
	if a.Default == nil {
		return cty.NullVal(a.Type.cty)
	}
	return literal(a.Default)
}

// literal converts a default in the table to a value.
func literal(x any) cty.Value {
	switch x := x.(type) {
	case string:
		return cty.StringVal(x)
	case int:
		return cty.NumberIntVal(int64(x))
	case bool:
		return cty.BoolVal(x)
	case []string:
		vs := make([]cty.Value, len(x))
		for i, s := range x {
			vs[i] = cty.StringVal(s)
		}
		if len(vs) == 0 {
			return cty.ListValEmpty(cty.String)
		}
		return cty.ListVal(vs)
	}
	panic("internal error: a default of this type in the schema table")
}
