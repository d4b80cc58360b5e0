package hclconfig

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/state"
)

func sorted(s []string) []string {
	slices.Sort(s)
	return s
}

// get evaluates an attribute. An invalid one gets the default of its row, so that it causes no
// further errors. ok is false if there is no value.
func (e *evaluator) get(b *block, name string) (v cty.Value, ok bool) {
	t := b.attrs[name]
	if t == nil {
		panic("internal error: the schema of " + b.row.Name + " has no attribute " + name)
	}
	v, marks := e.force(t).UnmarkDeep()
	if failed(marks) && t.row != nil && t.row.Default != nil {
		v = t.row.Value()
	}
	return v, v.IsKnown() && !v.IsNull()
}

// wrong reports whether an attribute has a value that could not be evaluated.
func (e *evaluator) wrong(b *block, name string) bool {
	_, marks := e.force(b.attrs[name]).UnmarkDeep()
	return failed(marks)
}

func (e *evaluator) str(b *block, name string) string {
	v, ok := e.get(b, name)
	if !ok {
		return ""
	}
	if row := b.attrs[name].row; row != nil && row.Plain != nil {
		return row.Plain(v.AsString())
	}
	return v.AsString()
}

func withoutV(version string) string { return strings.TrimPrefix(version, "v") }

// withoutSlash removes slashes from the end of a path or registry.
func withoutSlash(s string) string {
	if trimmed := strings.TrimRight(s, "/"); trimmed != "" {
		return trimmed
	}
	return s
}

func socketURL(s string) string {
	if strings.HasPrefix(s, "/") {
		return "unix://" + s
	}
	return s
}

func (e *evaluator) boolean(b *block, name string) bool {
	v, ok := e.get(b, name)
	return ok && v.True()
}

func (e *evaluator) number(b *block, name string) int {
	if v, ok := e.get(b, name); ok {
		i, _ := v.AsBigFloat().Int64()
		return int(i)
	}
	return 0
}

func (e *evaluator) duration(b *block, name string) time.Duration {
	if v, ok := e.get(b, name); ok {
		d, _ := time.ParseDuration(v.AsString())
		return d
	}
	return 0
}

// strings returns a list, nil if nothing is written.
func (e *evaluator) strings(b *block, name string) []string {
	v, ok := e.get(b, name)
	if !ok {
		return nil
	}
	out := make([]string, 0, v.LengthInt())
	for it := v.ElementIterator(); it.Next(); {
		_, s := it.Element()
		out = append(out, s.AsString())
	}
	return out
}

func (e *evaluator) stringMap(b *block, name string) map[string]string {
	v, ok := e.get(b, name)
	if !ok {
		return nil
	}
	out := make(map[string]string, v.LengthInt())
	for it := v.ElementIterator(); it.Next(); {
		k, s := it.Element()
		out[k.AsString()] = s.AsString()
	}
	return out
}

func (e *evaluator) boolMap(b *block, name string) map[string]bool {
	v, ok := e.get(b, name)
	if !ok {
		return nil
	}
	out := make(map[string]bool, v.LengthInt())
	for it := v.ElementIterator(); it.Next(); {
		k, x := it.Element()
		out[k.AsString()] = x.True()
	}
	return out
}

func (e *evaluator) tree(b *block, name string) state.Value {
	if v, ok := e.get(b, name); ok {
		return toTree(v)
	}
	return state.Null()
}

func (e *evaluator) secret(b *block, name string) state.Secret {
	if s := e.str(b, name); s != "" {
		return state.NewSecret([]byte(s))
	}
	return state.Secret{}
}

// origins records the positions of the values of a block and its nested blocks.
func (e *evaluator) origins(b *block, into map[string]state.Source) {
	if b.path != "" && b.written {
		into[b.path] = source(b.at)
	}
	for _, t := range b.attrs {
		if !t.set() {
			continue
		}
		path := t.row.Name
		if b.path != "" {
			path = b.path + "." + path
		}
		into[path] = source(t.at)
		if t.row.Type.Name != typeForEach.Name && (t.row.Type.cty == cty.DynamicPseudoType || t.row.Type.cty.IsMapType()) {
			e.keyOrigins(path, t.expr, t.scope, into)
			e.valueOrigins(path, t, into)
		}
		if b.row == argBlock && t.row.Name == "value" {
			into[b.path] = source(t.at)
		}
	}
	for _, c := range e.children(b) {
		if c.written {
			e.origins(c, into)
		}
	}
}

// keyOrigins records the position of each key of an object that is written out.
func (e *evaluator) keyOrigins(path string, x hcl.Expression, sc *scope, into map[string]state.Source) {
	pairs, diags := hcl.ExprMap(x)
	if diags.HasErrors() {
		return
	}
	for _, p := range pairs {
		key, ok := e.constantKey(p.Key, sc)
		if !ok {
			continue
		}
		inner := state.JoinPath(path, key)
		into[inner] = source(hcl.RangeBetween(p.Key.Range(), p.Value.Range()))
		e.keyOrigins(inner, p.Value, sc, into)
	}
}

// valueOrigins records the positions of values in an object whose keys are not written out, as
// in merge(local.all, local.own): the position of the nearest enclosing value.
func (e *evaluator) valueOrigins(path string, t *thunk, into map[string]state.Source) {
	v, _ := e.force(t).UnmarkDeep()
	for _, leaf := range toTree(v).Leaves() {
		inner := path
		for _, key := range state.SplitPath(leaf) {
			inner = state.JoinPath(inner, key)
		}
		if _, ok := into[inner]; !ok {
			into[inner] = config.Origins(into).Of(inner)
		}
	}
}

// constantKey returns a key of an object constructor that was already evaluated as a whole.
func (e *evaluator) constantKey(x hcl.Expression, sc *scope) (string, bool) {
	v, diags := e.meter.value(x, nil)
	if diags.HasErrors() {
		ctx, _ := e.context(x.Variables(), sc)
		if v, diags = e.meter.value(x, ctx); diags.HasErrors() {
			return "", false
		}
	}
	v, _ = v.UnmarkDeep()
	v, err := convertTo(v, cty.String)
	if err != nil || !v.IsKnown() || v.IsNull() {
		return "", false
	}
	return v.AsString(), true
}

// sensitivePaths records the keys of values that must not be shown.
func (e *evaluator) sensitivePaths(b *block, into map[string]bool) {
	for _, t := range b.attrs {
		if !t.set() || t.row.Type.Name == typeForEach.Name {
			continue
		}
		path := t.row.Name
		if b.path != "" {
			path = b.path + "." + path
		}
		if t.row.Sensitive {
			into[path] = true
			continue
		}
		plain, marked := e.force(t).UnmarkDeepWithPaths()
		hide := func(inner cty.Path) {
			into[appendPath(path, inner)] = true
			if b.row == argBlock {
				into[b.path] = true
			}
		}
		for _, m := range marked {
			if m.Marks.Has(sensitive) {
				hide(m.Path)
			}
		}
		if b.row == argBlock || b.row == envBlock || slices.Contains(mayHoldLogins, t.row.Name) {
			logins(plain, hide)
		}
	}
	for _, c := range e.children(b) {
		if c.written {
			e.sensitivePaths(c, into)
		}
	}
}

// mayHoldLogins are the attributes, besides arguments and environments, whose values reach
// hosts and may be secret.
var mayHoldLogins = []string{"proxy_env", "config", "annotations"}

// wholeLogin matches a URL with a user and a password in it.
var wholeLogin = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://[^/\s@:]*:[^/\s]+@\S*$`)

// logins finds the URLs with a password in them, such as a proxy's: they are secrets even if
// nothing marks them as sensitive.
func logins(v cty.Value, found func(cty.Path)) {
	_ = cty.Walk(v, func(path cty.Path, v cty.Value) (bool, error) {
		if v.Type() == cty.String && v.IsKnown() && !v.IsNull() && wholeLogin.MatchString(v.AsString()) {
			found(path.Copy())
		}
		return true, nil
	})
}

// appendPath appends a path inside a value in the form of Origins, up to the first list.
func appendPath(path string, inner cty.Path) string {
	for _, step := range inner {
		switch s := step.(type) {
		case cty.GetAttrStep:
			path = state.JoinPath(path, s.Name)
		case cty.IndexStep:
			if s.Key.Type() != cty.String {
				return path
			}
			path = state.JoinPath(path, s.Key.AsString())
		}
	}
	return path
}
