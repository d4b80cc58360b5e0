package hclconfig

import (
	"cmp"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/kubewright/kubewright/config"
)

// policyBlock is at the top level of the language and not in a cluster: otherwise a guard would
// be removed together with the block it guards.
var policyBlock = &Block{
	Name: "policy", Label: "NAME", Doc: "What a plan may not do, whatever the configuration asks for. A plan shows what its policies say; an apply is refused by them, at its beginning and before each further step, and continues only with `-override-policy=NAME`.",
	Attributes: []Attribute{
		{Name: "cluster", Type: typeReference, Derived: "all clusters", Cost: CostNone, Doc: "The cluster, as in `cluster.prod`, with its nodes and addons."},
		{Name: "max_destroys", Type: typeNumber, Derived: "any number", Cost: CostNone, Doc: "How many clusters, nodes and addons one plan may destroy or replace."},
		{Name: "protected", Type: typeStrings, Cost: CostNone, Doc: "Addresses that no plan may destroy or replace, also when their blocks are gone. `*` stands for any characters, and a node block's name alone for all of its nodes: `node.cp`, `cluster.*`, `node.worker[\"db-*\"]`."},
	},
	Blocks: []*Block{
		{
			Name: "freeze", Label: "NAME", Doc: "A time in which no step is begun. A run that is under way when it begins finishes what it has begun, and stops.",
			Attributes: []Attribute{
				{Name: "from", Type: typeString, Cost: CostNone, Doc: "When it begins: a moment (`2026-12-20 18:00`, or the day alone), a time of the week (`fri 16:00`) or a time of day (`22:00`)."},
				{Name: "to", Type: typeString, Cost: CostNone, Doc: "When it ends, written in the same way. A time of day that is not after `from` is on the next day."},
				{Name: "weekdays", Type: typeStrings, Derived: "every day", Cost: CostNone, Doc: "Days on which a time of day begins, as in `[\"sat\", \"sun\"]`; without `from` and `to` whole days."},
				{Name: "time_zone", Type: typeString, Default: "UTC", Cost: CostNone, Doc: "Time zone of the IANA database, as in `Europe/Berlin`."},
				{Name: "reason", Type: typeString, Cost: CostNone, Doc: "What a refusal says."},
			},
		},
		{
			Name: "approval", Doc: "The very plan that is carried out must be approved: by its digest, or by having been saved. `-auto-approve`, and a yes at the prompt, are no approval.",
			Attributes: []Attribute{
				{Name: "approvers", Type: typeNumber, Default: 1, Cost: CostNone, Doc: "How many different people have to approve. More than one needs `file`."},
				{Name: "file", Type: typeString, Cost: CostNone, Doc: "File in the configuration folder with an approval on each line: `DIGEST NAME`. Without it `-approve=DIGEST`, or a saved plan, is the approval. The names are not verified: the review of the repository decides who may write the file."},
				{Name: "names", Type: typeStrings, Derived: "any name", Cost: CostNone, Doc: "Names whose approval counts."},
			},
		},
	},
}

// quoted reports unquoted addresses in protected. They are patterns; as expressions they would
// refer to attributes.
func (e *evaluator) quoted(b *block) bool {
	a := b.template.attrs["protected"]
	if a == nil {
		return true
	}
	list, _ := hcl.ExprList(a.Expr)
	ok := true
	for _, x := range list {
		native, is := x.(*hclsyntax.ScopeTraversalExpr)
		if !is {
			continue
		}
		if t, is := addressed(native.Traversal); is {
			e.errorAt(x.Range(), "Invalid pattern", "Addresses are quoted here, for they are patterns, and what they refer to need not exist. Write %s.", config.Quote(t.String()))
			ok = false
		}
	}
	return ok
}

// policies returns the policy blocks, in the order of their names.
func (l *loader) policies() []config.Policy {
	var out []config.Policy
	e := l.eval
	for _, b := range l.policed {
		p := config.Policy{Name: b.label, MaxDestroys: config.NoLimit, Unclear: b.template.broken, Source: source(b.at)}
		if e.quoted(b) {
			p.Protected = e.strings(b, "protected")
		} else {
			p.Unclear = true
		}
		if _, ok := e.get(b, "max_destroys"); ok {
			p.MaxDestroys = e.number(b, "max_destroys")
		}
		p.Unclear = p.Unclear || e.wrong(b, "max_destroys") || e.wrong(b, "protected")
		if b.template.attrs["cluster"] != nil {
			p.Cluster = l.clusterOf(b.template)
		}
		for _, f := range e.all(b, "freeze") {
			p.Freezes = append(p.Freezes, config.Freeze{
				Name: f.label, From: e.str(f, "from"), To: e.str(f, "to"), Weekdays: e.strings(f, "weekdays"),
				Zone: e.str(f, "time_zone"), Reason: e.str(f, "reason"), Source: source(f.at),
			})
		}
		if a := e.one(b, "approval"); a.written {
			p.Approval = &config.Approval{Approvers: e.number(a, "approvers"), File: e.str(a, "file"), Names: e.strings(a, "names"), Source: source(a.at)}
		}
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b config.Policy) int { return cmp.Compare(a.Name, b.Name) })
	return out
}
