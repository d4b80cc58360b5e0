package config

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/state"
)

// WithOtherSecrets returns the configuration with other values in place of its secrets. Whatever is derived
// from both and is equal holds no secret; what differs does. So no code has to follow a secret
// through rendering, patching and encoding, and nothing derived from one can be forgotten. For
// a configuration without secrets it returns nil.
func (c *Config) WithOtherSecrets() *Config {
	t := substitution{}
	out := *c
	out.Clusters, out.Nodes = nil, nil
	for _, cl := range c.Clusters {
		out.Clusters = append(out.Clusters, t.cluster(cl))
	}
	for _, n := range c.Nodes {
		out.Nodes = append(out.Nodes, t.node(n))
	}
	if !t.any {
		return nil
	}
	return &out
}

// SecretTexts returns the texts and numbers in clusters, nodes and addons that must not be
// shown.
func (c *Config) SecretTexts() []string {
	t := substitution{}
	for _, cl := range c.Clusters {
		t.cluster(cl)
	}
	for _, n := range c.Nodes {
		t.node(n)
	}
	return t.found
}

// substitution replaces sensitive values and remembers the originals.
type substitution struct {
	sensitive map[string]bool
	// any reports whether a value was replaced.
	any   bool
	found []string
	// shown are the keys and names beside them, which are shown.
	shown []string
}

// cluster returns a cluster with its secrets replaced.
func (t *substitution) cluster(c *Cluster) *Cluster {
	t.sensitive = c.Sensitive
	out := *c
	out.APIServer.Component = t.component("api_server", c.APIServer.Component)
	out.ControllerManager = t.component("controller_manager", c.ControllerManager)
	out.Scheduler = t.component("scheduler", c.Scheduler)
	out.Etcd.Args, out.Etcd.Envs = t.args("etcd", c.Etcd.Args), t.envs("etcd", c.Etcd.Envs)
	out.KubeProxy.Config = t.tree("kube_proxy.config", c.KubeProxy.Config)
	out.Kubelet = t.kubelet(c.Kubelet)
	out.ProxyEnv = t.texts("proxy_env", c.ProxyEnv)
	out.Patches, out.Units = t.patches(c.Patches), t.units(c.Units)
	out.Files = t.files(c.Files)
	out.Addons = nil
	for _, a := range c.Addons {
		out.Addons = append(out.Addons, t.addon(a))
	}
	out.BootstrapTokens = slices.Clone(c.BootstrapTokens)
	for i, k := range c.BootstrapTokens {
		// The first half is the token's name.
		if id, secret, ok := strings.Cut(string(k.Token.Reveal()), "."); ok {
			out.BootstrapTokens[i].Token = state.NewSecret([]byte(id + "." + t.other(state.String(secret)).AsString()))
		}
	}
	if !c.CertificateKey.IsZero() {
		out.CertificateKey = state.NewSecret([]byte(t.other(state.String(string(c.CertificateKey.Reveal()))).AsString()))
	}
	return &out
}

// node returns a node with its secrets replaced.
func (t *substitution) node(n *Node) *Node {
	t.sensitive = n.Sensitive
	out := *n
	out.Labels, out.Annotations = t.texts("labels", n.Labels), t.texts("annotations", n.Annotations)
	out.Kubelet = t.kubelet(n.Kubelet)
	out.Patches, out.Units = t.patches(n.Patches), t.units(n.Units)
	out.Files = t.files(n.Files)
	return &out
}

// replacedSecrets matches the keys of Cluster.Sensitive and Node.Sensitive that WithOtherSecrets replaces, or that
// never reach a file, an object or a name.
var replacedSecrets = regexp.MustCompile(`^(` + strings.Join([]string{
	`(api_server|controller_manager|scheduler|etcd|kubelet)\.arg\[.*`,
	`(api_server|controller_manager|scheduler|etcd)\.extra_env\[.*`,
	`(kubelet|kube_proxy)\.config(\W.*)?`,
	`(proxy_env|labels|annotations)(\W.*)?`,
	`patch\[\d+\]\.content`,
	`unit\[.*\]\.content`,
	`file\[.*\]\.(content|source)`,
	`audit\.(policy|webhook\.kubeconfig)`,
	`authentication\..*`,
	`backup\.s3\.(access_key|secret_key)`,
	`admission\.plugin\[.*\]\.configuration(\W.*)?`,
	`addon\[.*\]\.manifest(\W.*)?`,
	`bootstrap_token\[\d+\]\.token`,
	`certificate_key`,
	`certificates\..*\.key`,
	`etcd\.external\.key`,
	`connection\.sudo_password`,
	`lifecycle\.precondition\[\d+\]\.(condition|error_message)`,
}, "|") + `)$`)

// secrets refuses sensitive values in places where they cannot be hidden, such as addresses and
// names: every plan shows those, and the state records how to reach a host.
func (c checker) secrets() {
	for _, path := range keys(c.hidden) {
		if !replacedSecrets.MatchString(path) {
			c.errorf(path, "Value cannot be sensitive", "%s is shown in plans and kept in the state. "+
				"Give a value that is no secret, or wrap it in nonsensitive() if it is none.", path)
		}
	}
}

// secretNames refuses names and identifiers that contain a secret of the configuration.
func (c *Config) secretNames(out *diag.Diagnostics) {
	for _, cl := range c.Clusters {
		for _, a := range cl.Addons {
			t := substitution{}
			t.addon(a)
			c.checkShown(out, t.shown, a.Source, state.AddonTarget(cl.Label, a.Name))
		}
		c.patchNames(out, cl.Patches, cl.Sensitive, state.ClusterTarget(cl.Label))
	}
	for _, n := range c.Nodes {
		c.patchNames(out, n.Patches, n.Sensitive, n.Target)
	}
}

func (c *Config) patchNames(out *diag.Diagnostics, patches []Patch, sensitive map[string]bool, about state.Target) {
	for i, p := range patches {
		t := substitution{sensitive: sensitive}
		if t.hides(patchPath(i)) {
			t.document(p.Content)
		}
		c.checkShown(out, t.shown, p.Source, about)
	}
}

func (c *Config) checkShown(out *diag.Diagnostics, shown []string, at state.Source, about state.Target) {
	if slices.ContainsFunc(shown, c.Secrets.Finds) {
		out.Append(diag.Errorf("Name cannot be sensitive", "A key or a name in it holds a sensitive value, and those are shown in plans. "+
			"Put the secret into a value.").At(at).For(about))
	}
}

func (t *substitution) hides(path string) bool {
	for ; path != ""; path = enclosing(path) {
		if t.sensitive[path] {
			return true
		}
	}
	return false
}

func (t *substitution) component(path string, c Component) Component {
	return Component{Args: t.args(path, c.Args), Volumes: c.Volumes, Envs: t.envs(path, c.Envs)}
}

func (t *substitution) kubelet(k Kubelet) Kubelet {
	return Kubelet{Config: t.tree("kubelet.config", k.Config), Args: t.args("kubelet", k.Args)}
}

func (t *substitution) files(files []File) []File {
	out := slices.Clone(files)
	for i, f := range out {
		out[i].Content = t.text(fmt.Sprintf("file[%q].content", f.Path), f.Content)
	}
	return out
}

func (t *substitution) args(block string, args []Arg) []Arg {
	out := slices.Clone(args)
	for i, a := range out {
		out[i].Value = t.text(fmt.Sprintf("%s.arg[%q]", block, a.Name), a.Value)
	}
	return out
}

func (t *substitution) envs(block string, envs []EnvVar) []EnvVar {
	out := slices.Clone(envs)
	for i, e := range out {
		path := fmt.Sprintf("%s.extra_env[%q]", block, e.Name)
		out[i].Value, out[i].ValueFrom = t.text(path+".value", e.Value), t.tree(path+".value_from", e.ValueFrom)
	}
	return out
}

func (t *substitution) texts(path string, m map[string]string) map[string]string {
	if m == nil {
		return nil
	}
	out := map[string]string{}
	for k, s := range m {
		out[k] = t.text(state.JoinPath(path, k), s)
	}
	return out
}

func (t *substitution) text(path, s string) string {
	if !t.hides(path) {
		return s
	}
	return t.other(state.String(s)).AsString()
}

// tree replaces the sensitive values in a tree, below paths as in Origins.
func (t *substitution) tree(path string, v state.Value) state.Value {
	switch {
	case t.hides(path):
		return t.all(v)
	case v.Kind() == state.KindMap:
		m := map[string]state.Value{}
		for k, e := range v.AsMap() {
			m[k] = t.tree(state.JoinPath(path, k), e)
		}
		return state.Map(m)
	}
	return v
}

func (t *substitution) patches(patches []Patch) []Patch {
	out := slices.Clone(patches)
	for i, p := range out {
		if t.hides(patchPath(i)) {
			out[i].Content = t.document(p.Content)
		} else {
			out[i].Content = loginInText.ReplaceAllStringFunc(p.Content, t.login)
		}
	}
	return out
}

// loginInText matches a URL with a user and a password in it, up to the host. It is a secret
// even if nothing marks it as sensitive.
var loginInText = regexp.MustCompile("[A-Za-z][A-Za-z0-9+.-]*://[^/\\s\"'`@:]*:[^/\\s\"'`]+@")

// login replaces the password of such a URL.
func (t *substitution) login(address string) string {
	scheme, rest, _ := strings.Cut(address, "://")
	user, password, _ := strings.Cut(rest, ":")
	other := t.other(state.String(password)).AsString()
	t.found[len(t.found)-1] = address // the password alone may be a word of other texts
	return scheme + "://" + user + ":" + other
}

func patchPath(i int) string { return fmt.Sprintf("patch[%d].content", i) }

// document replaces the leaves of each YAML document of a text.
func (t *substitution) document(text string) string {
	defer t.onlyLong(len(t.found))
	var out []string
	for doc := range strings.SplitSeq("\n"+text, "\n---") {
		var tree any
		if yaml.Unmarshal([]byte(doc), &tree) != nil {
			t.found = append(t.found, doc)
			continue // a text that is no YAML was refused before
		}
		v := state.FromGo(tree)
		if v.Kind() == state.KindList {
			v = t.operations(v)
		} else {
			v = t.all(v)
		}
		if b, err := v.MarshalJSON(); err == nil {
			out = append(out, string(b))
		}
	}
	return strings.Join(out, "\n---\n")
}

// ordinary is the length up to which a leaf of a document is more likely a word such as Always
// than a secret: redacting it would make every message unreadable.
const ordinary = 7

// onlyLong drops the short ones of the texts found since.
func (t *substitution) onlyLong(since int) {
	long := slices.DeleteFunc(slices.Clone(t.found[since:]), func(s string) bool { return len(s) <= ordinary })
	t.found = append(t.found[:since], long...)
}

// operations replaces the values of a JSON patch (RFC 6902).
func (t *substitution) operations(list state.Value) state.Value {
	out := make([]state.Value, len(list.AsList()))
	for i, op := range list.AsList() {
		m := map[string]state.Value{}
		for k, e := range op.AsMap() {
			m[k] = e
			if k == "value" {
				m[k] = t.all(e)
			} else {
				t.shown = append(t.shown, e.AsString())
			}
		}
		out[i] = state.Map(m)
	}
	return state.List(out...)
}

// addon replaces the leaves of objects that contain sensitive values, and the content of every
// Secret.
func (t *substitution) addon(a *Addon) *Addon {
	out := *a
	out.Objects = slices.Clone(a.Objects)
	for i, o := range out.Objects {
		switch {
		case o.Sensitive:
			out.Objects[i].Value = t.object(o.Value)
		case o.Value.Get("apiVersion").AsString() == "v1" && o.Value.Get("kind").AsString() == "Secret":
			out.Objects[i].Value = t.secret(o.Value)
		}
	}
	return &out
}

// object replaces everything except what identifies an object.
func (t *substitution) object(o state.Value) state.Value {
	defer t.onlyLong(len(t.found))
	m := map[string]state.Value{}
	for k, e := range o.AsMap() {
		switch k {
		case "apiVersion", "kind":
			t.shown = append(t.shown, e.AsString())
			m[k] = e
		case "metadata":
			m[k] = t.metadata(e)
		default:
			m[k] = t.all(e)
		}
	}
	return state.Map(m)
}

func (t *substitution) metadata(v state.Value) state.Value {
	m := map[string]state.Value{}
	for k, e := range v.AsMap() {
		if m[k] = e; k == "name" || k == "namespace" {
			t.shown = append(t.shown, e.AsString())
		} else {
			m[k] = t.all(e)
		}
	}
	return state.Map(m)
}

// secret replaces the content of a Secret.
func (t *substitution) secret(o state.Value) state.Value {
	for _, text := range o.Get("data").AsMap() {
		if plain, err := base64.StdEncoding.DecodeString(text.AsString()); err == nil {
			t.found = append(t.found, string(plain))
		}
	}
	m := map[string]state.Value{}
	for k, e := range o.AsMap() {
		m[k] = e
		if k == "data" || k == "stringData" {
			m[k] = t.all(e)
		}
	}
	return state.Map(m)
}

// fixed are keys whose values identify an element of a list.
var fixed = []string{"name", "$patch", "apiVersion", "kind"}

// all replaces every leaf of a value.
func (t *substitution) all(v state.Value) state.Value {
	switch v.Kind() {
	case state.KindMap:
		m := map[string]state.Value{}
		for k, e := range v.AsMap() {
			t.shown = append(t.shown, k)
			if m[k] = e; slices.Contains(fixed, k) && e.Kind() == state.KindString {
				t.shown = append(t.shown, e.AsString())
			} else {
				m[k] = t.all(e)
			}
		}
		return state.Map(m)
	case state.KindList:
		list := make([]state.Value, len(v.AsList()))
		for i, e := range v.AsList() {
			list[i] = t.all(e)
		}
		return state.List(list...)
	case state.KindNull:
		return v
	}
	return t.other(v)
}

// other returns another value of the same kind and shape, so that it is parsed and rendered in
// the same way: another letter for each letter, another digit for each digit.
func (t *substitution) other(v state.Value) state.Value {
	t.any = true
	switch v.Kind() {
	case state.KindBool:
		return state.Bool(!v.AsBool())
	case state.KindNumber:
		t.found = append(t.found, v.AsString())
		return state.Number(strings.Map(otherRune, v.AsString()))
	case state.KindString:
		t.found = append(t.found, v.AsString())
		if v.AsString() == "" {
			return state.String("x") // that it is empty is a secret, too
		}
		other := strings.Map(otherRune, v.AsString())
		if other == v.AsString() {
			other += "x"
		}
		return state.String(other)
	}
	return v
}

func otherRune(r rune) rune {
	switch {
	case r >= '0' && r < '9', r >= 'a' && r < 'z', r >= 'A' && r < 'Z':
		return r + 1
	case r == '9':
		return '1' // a number does not get a leading zero
	case r == 'z':
		return 'a'
	case r == 'Z':
		return 'A'
	}
	return r
}
