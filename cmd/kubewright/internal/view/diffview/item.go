package diffview

import (
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// Item is a change together with facts that only the operations of its step have.
type Item struct {
	planner.Change
	// withKey reports whether the private key of a certificate is created or removed with it.
	withKey bool
	// validity is the validity of a certificate that is issued.
	validity time.Duration
	// from is the short name of the node that a CA is copied from, or an artifact.
	from string
}

// Items joins each certificate with its key if both have the same action, and adds the facts
// that only the step's operations have.
func Items(changes []planner.Change, step *planner.Step) []Item {
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
	made := producedBy(step)
	var out []Item
	for _, c := range changes {
		if c.Kind == state.KindKey && certificates[pair(c)] {
			continue
		}
		it := made[strings.TrimSuffix(c.Address.ID(), ".crt")]
		it.Change, it.withKey = c, c.Kind == state.KindCertificate && keys[pair(c)]
		out = append(out, it)
	}
	return out
}

// producedBy returns what the operations of a step produce: for certificates, by path without
// extension, their validity or where they are copied from; for programs and images the artifact
// that contains them.
func producedBy(step *planner.Step) map[string]Item {
	out := map[string]Item{}
	if step == nil {
		return out
	}
	for _, op := range step.Operations {
		switch o := op.(type) {
		case planner.IssueCA:
			out[o.To] = Item{validity: o.Validity}
		case planner.IssueCertificate:
			out[o.To] = Item{validity: o.Validity}
		case planner.UploadArtifact:
			for _, f := range o.Files {
				out[f.Path] = Item{from: o.Artifact}
			}
		case planner.LoadImage:
			for _, image := range append([]string{o.Image}, o.Others...) {
				out[image] = Item{from: o.Artifact}
			}
		case planner.CopySecrets:
			for _, f := range o.Files {
				out[strings.TrimSuffix(f.Path, ".crt")] = Item{from: ui.ShortName(o.From)}
			}
		}
	}
	return out
}

// Item returns one changed item: a block with its attributes, or one line with the most important
// ones.
func (p Printer) Item(it Item, attributes bool) Entry {
	e := Entry{Sym: ui.SymbolOf(it.Action), Head: it.Head()}
	if text := expiry(it.Shown); it.renews() && text != "" {
		e.Text = gap + text
		return e
	}
	if attributes && len(it.Attributes) > 0 {
		e.Block = true
		e.Kids = p.Entries(Grow(it.readable()), e.Sym)
		if text := it.lifetime(); text != "" {
			e.Kids = append(e.Kids, Entry{Comment: true, Indented: true, Text: text})
		}
		return e
	}
	if it.Action == planner.Create {
		e.Text, e.Of = it.summary(), &it.Change
	}
	return e
}

// lifetime returns when a certificate that is renewed expires, and the validity of the new one.
func (it Item) lifetime() string {
	text := expiry(it.Shown)
	if it.Kind != state.KindCertificate || it.validity == 0 || text == "" {
		return ""
	}
	return "# " + text + "; reissued for " + config.Duration(it.validity)
}

// readable returns the changes of an item with the validity of a certificate as the
// configuration writes it: 2160h, and not 2160h0m0s. An attribute is marked as changed outside
// only if the item's reason does not say so about all of them.
func (it Item) readable() []planner.AttributeChange {
	out := slices.Clone(it.Attributes)
	for i, c := range out {
		if c.Path == "validity" {
			out[i].Before, out[i].After = wholeHours(c.Before), wholeHours(c.After)
		}
		out[i].Outside = c.Outside && it.Reason != planner.ReasonDrift
	}
	return out
}

func wholeHours(v state.Value) state.Value {
	d, err := time.ParseDuration(v.AsString())
	if err != nil {
		return v
	}
	return state.String(config.Duration(d))
}

// Head returns the item's kind and name, as its address has them or in a clearer word.
func (it Item) Head() string {
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
	case state.KindEtcdMember:
		word = "etcd member"
	case state.KindMark:
		word = "mark of"
	case state.KindNodeObject:
		word = "object"
		if !strings.Contains(id, "/") {
			id = "v1/Node/" + id
		}
	}
	return strings.ReplaceAll(ui.Clean(word), "_", " ") + " " + ui.Quote(id)
}

// summary returns the most important attributes of a new item, in brackets.
func (it Item) summary() string {
	v := Values(it.Change)
	var parts []string
	switch it.Kind {
	case state.KindStaticPod:
		parts = []string{"static pod", labelled("image ", attributeText(v, "image")), counted(v.Get("args"), "arg")}
	case state.KindCertificate:
		parts = append(certificateSummary(v, it.validity), labelled("copied from ", it.from))
	case state.KindKubeconfig:
		parts = kubeconfigSummary(v)
	case state.KindYAMLFile:
		parts = []string{firstText(v, "content.kind", "kind")}
	case state.KindEnvFile:
		parts = []string{counted(v.Get("args"), "arg")}
	case state.KindFile:
		parts = []string{counted(v.Get("content"), "line"), labelled("mode ", attributeText(v, "mode"))}
	case state.KindSysctl:
		return " = " + ui.Inline(v.Get("value"))
	case state.KindUnit:
		parts = []string{attributeText(v, "enabled"), attributeText(v, "active")}
	case state.KindPackage:
		parts = []string{attributeText(v, "version"), heldWord(v)}
	case state.KindBinary:
		parts = []string{labelled("from ", it.from)}
	case state.KindImage:
		parts = []string{labelled("from ", it.from)}
	case state.KindKey:
		parts = []string{labelled("copied from ", it.from)}
	case state.KindMark:
		parts = []string{labelled("cluster ", attributeText(v, "cluster"))}
	case state.KindEtcdMember:
		parts = []string{labelled("name ", attributeText(v, "name"))}
	case state.KindNodeObject:
		parts = nodeSummary(v)
	case state.KindObject:
		parts = objectSummary(v)
	}
	return ui.Brackets(parts)
}

// heldWord returns "held" for a package that upgrades of the host leave alone.
func heldWord(v state.Value) string {
	if v.Get("held").AsBool() {
		return "held"
	}
	return ""
}

// Values joins the attributes of a new item into one value.
func Values(c planner.Change) state.Value {
	return treeValue(Grow(c.Attributes))
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

// attributeText returns an attribute for a short line; a word in place of a pending or sensitive
// one.
func attributeText(v state.Value, path string) string {
	switch a := v.Get(path); a.Kind() {
	case state.KindNull, state.KindMap, state.KindList, state.KindArgs:
		return ""
	case state.KindString:
		return ui.Clean(a.AsString())
	default:
		return ui.Inline(a)
	}
}

func firstText(v state.Value, paths ...string) string {
	for _, path := range paths {
		if s := attributeText(v, path); s != "" {
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

// counted returns the number of elements that a value has.
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
		n = len(ui.TextLines(v))
	}
	if n == 0 {
		return ""
	}
	return ui.Plural(n, noun)
}

// kubeconfigSummary names the user, or without one the server, which is mostly the same for all.
func kubeconfigSummary(v state.Value) []string {
	if user := firstText(v, "client.common_name", "common_name", "user"); user != "" {
		return []string{"user " + user}
	}
	return []string{labelled("server ", attributeText(v, "server"))}
}

func certificateSummary(v state.Value, valid time.Duration) []string {
	if slices.ContainsFunc(v.Get("usages").AsList(), func(u state.Value) bool { return u.AsString() == "cert sign" }) {
		parts := []string{labelled("CA ", attributeText(v, "common_name"))}
		if valid > 0 {
			parts = append(parts, years(valid))
		}
		return parts
	}
	parts := []string{labelled("CN ", attributeText(v, "common_name"))}
	if orgs := v.Get("organizations").AsList(); len(orgs) > 0 {
		parts = append(parts, "O "+ui.Clean(orgs[0].AsString()))
	}
	if n := len(v.Get("dns_names").AsList()) + len(v.Get("ip_addresses").AsList()); n > 0 {
		parts = append(parts, ui.Plural(n, "SAN"))
	}
	if valid > 0 {
		parts = append(parts, years(valid))
	}
	return parts
}

// years prints a long duration in years or days.
func years(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < 2*day:
		return ui.Duration(d)
	case d%(365*day) == 0:
		return ui.Plural(int(d/(365*day)), "year")
	}
	return ui.Plural(int(d/day), "day")
}

func nodeSummary(v state.Value) []string {
	var parts []string
	for _, noun := range []string{"label", "annotation", "taint"} {
		switch m := v.Get(noun + "s"); len(m.AsMap()) {
		case 0:
		case 1:
			parts = append(parts, noun+" "+assignments(m)[0])
		default:
			parts = append(parts, ui.Plural(len(m.AsMap()), noun))
		}
	}
	if v.Get("schedulable").Equal(state.Bool(false)) {
		parts = append(parts, "cordoned")
	}
	return parts
}

func assignments(m state.Value) []string {
	var out []string
	for _, k := range m.Keys() {
		s := ui.Clean(k)
		if v := attributeText(m, state.JoinPath("", k)); v != "" {
			s += "=" + v
		}
		out = append(out, s)
	}
	return out
}

func objectSummary(v state.Value) []string {
	if m := v.Get("data"); len(m.AsMap()) > 0 {
		return []string{ui.Plural(len(m.AsMap()), "key")}
	}
	if n := v.Get("spec.replicas"); n.Kind() == state.KindNumber {
		return []string{n.AsString() + " replicas"}
	}
	return nil
}
