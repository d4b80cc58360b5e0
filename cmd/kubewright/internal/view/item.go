package view

import (
	"strings"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// item is a change of a plan as it is shown.
type item struct {
	planner.Change
	// withKey tells that the private key of a certificate comes or goes with it.
	withKey bool
}

// items joins each certificate with its key where the same happens to both.
func items(changes []planner.Change) []item {
	pair := func(c planner.Change) string {
		return string(c.Action) + strings.TrimSuffix(strings.TrimSuffix(c.Address.Item, ".crt"), ".key")
	}
	certificates, keys := map[string]bool{}, map[string]bool{}
	for _, c := range changes {
		if c.Action != planner.Update {
			certificates[pair(c)] = certificates[pair(c)] || c.Kind == state.KindCertificate
			keys[pair(c)] = keys[pair(c)] || c.Kind == state.KindKey
		}
	}
	var out []item
	for _, c := range changes {
		if c.Kind == state.KindKey && certificates[pair(c)] {
			continue
		}
		out = append(out, item{c, c.Kind == state.KindCertificate && keys[pair(c)]})
	}
	return out
}

// item is one changed thing: a block with its attributes, or one line with
// those that tell most.
func (p *page) item(it item, attributes bool) entry {
	e := entry{sym: symbolOf(it.Action), head: it.head()}
	if attributes && len(it.Attributes) > 0 {
		e.block = true
		e.kids = p.entries(grow(it.Attributes), e.sym)
		return e
	}
	if it.Action == planner.Create {
		e.text = gist(it.Change)
	}
	return e
}

// head is the item's kind and name, as the address has them or in a word that
// says more.
func (it item) head() string {
	word, id := it.Address.Class(), it.Address.ID()
	switch it.Kind {
	case state.KindCertificate:
		word = "certificate"
		if it.withKey {
			id = strings.TrimSuffix(id, ".crt") + ".{crt,key}"
		}
	case state.KindKubeconfig:
		word = "kubeconfig"
	case state.KindKey:
		word = "key"
	case state.KindNodeObject:
		word = "object"
		if !strings.Contains(id, "/") {
			id = "v1/Node/" + id
		}
	}
	return strings.ReplaceAll(Clean(word), "_", " ") + " " + quote(id)
}

// gist is what tells most about a new item, in brackets.
func gist(c planner.Change) string {
	v := values(c)
	var parts []string
	switch c.Kind {
	case state.KindStaticPod:
		parts = []string{"static pod", labelled("image ", text(v, "image")), counted(v.Get("args"), "arg")}
	case state.KindCertificate:
		parts = certificateGist(v)
	case state.KindKubeconfig:
		parts = []string{labelled("user ", firstText(v, "client.common_name", "common_name", "user")), labelled("server ", text(v, "server"))}
	case state.KindYAMLFile:
		parts = []string{firstText(v, "content.kind", "kind")}
	case state.KindEnvFile:
		parts = []string{counted(v.Get("args"), "arg")}
	case state.KindFile:
		parts = []string{counted(v.Get("content"), "line"), labelled("mode ", text(v, "mode"))}
	case state.KindSysctl:
		return " = " + inline(v.Get("value"))
	case state.KindUnit:
		parts = []string{text(v, "enabled"), text(v, "active")}
	case state.KindBinary:
		parts = []string{text(v, "version")}
	case state.KindEtcdMember:
		parts = []string{firstText(v, "peer_url", "peer_urls.0")}
	case state.KindNodeObject:
		parts = nodeGist(v)
	case state.KindObject:
		parts = objectGist(v)
	}
	return brackets(parts)
}

func brackets(parts []string) string {
	var kept []string
	for _, part := range parts {
		if part != "" {
			kept = append(kept, part)
		}
	}
	if len(kept) == 0 {
		return ""
	}
	return " (" + strings.Join(kept, ", ") + ")"
}

// values puts the attributes of a new item together again.
func values(c planner.Change) state.Value {
	return treeValue(grow(c.Attributes))
}

func treeValue(b *branch) state.Value {
	if len(b.kids) == 0 {
		if b.change == nil {
			return state.Null()
		}
		return b.change.After
	}
	m := map[string]state.Value{}
	for _, k := range b.kids {
		m[k.key] = treeValue(k)
	}
	return state.Map(m)
}

// text is an attribute for a line of few words; pending and secret ones say so.
func text(v state.Value, path string) string {
	switch a := v.Get(path); a.Kind() {
	case state.KindNull, state.KindMap, state.KindList, state.KindArgs:
		return ""
	case state.KindString:
		return Clean(a.AsString())
	default:
		return inline(a)
	}
}

func firstText(v state.Value, paths ...string) string {
	for _, path := range paths {
		if s := text(v, path); s != "" {
			return s
		}
	}
	return ""
}

func labelled(label, s string) string {
	if s == "" {
		return ""
	}
	return label + s
}

// counted is how many of something a value holds.
func counted(v state.Value, noun string) string {
	n := 0
	switch v.Kind() {
	case state.KindArgs:
		n = len(v.AsArgs())
	case state.KindMap:
		n = len(v.AsMap())
	case state.KindList:
		n = len(v.AsList())
	case state.KindString:
		n = len(textLines(v))
	}
	if n == 0 {
		return ""
	}
	return plural(n, noun)
}

func certificateGist(v state.Value) []string {
	parts := []string{labelled("CN ", text(v, "common_name"))}
	if v.Get("is_ca").AsBool() {
		parts[0] = labelled("CA ", text(v, "common_name"))
	}
	if orgs := v.Get("organizations").AsList(); len(orgs) > 0 {
		parts = append(parts, "O "+Clean(orgs[0].AsString()))
	}
	if n := len(v.Get("dns_names").AsList()) + len(v.Get("ip_addresses").AsList()); n > 0 {
		parts = append(parts, plural(n, "SAN"))
	}
	return append(parts, labelled("for ", validity(text(v, "validity"))))
}

// validity prints a long duration in years or days.
func validity(s string) string {
	d, err := time.ParseDuration(s)
	if err != nil || d < 48*time.Hour {
		return s
	}
	days := int(d / (24 * time.Hour))
	if days%365 == 0 {
		return plural(days/365, "year")
	}
	return plural(days, "day")
}

func nodeGist(v state.Value) []string {
	var parts []string
	for _, group := range []string{"labels", "annotations"} {
		if m := v.Get(group); len(m.AsMap()) > 0 {
			parts = append(parts, strings.TrimSuffix(group, "s")+" "+strings.Join(assignments(m), " "))
		}
	}
	return append(parts, counted(v.Get("taints"), "taint"))
}

func assignments(m state.Value) []string {
	var out []string
	for _, k := range m.Keys() {
		s := Clean(k)
		if v := text(m, state.JoinPath("", k)); v != "" {
			s += "=" + v
		}
		out = append(out, s)
	}
	return out
}

func objectGist(v state.Value) []string {
	if m := v.Get("data"); len(m.AsMap()) > 0 {
		return []string{plural(len(m.AsMap()), "key")}
	}
	if n := v.Get("spec.replicas"); n.Kind() == state.KindNumber {
		return []string{n.AsString() + " replicas"}
	}
	return nil
}
