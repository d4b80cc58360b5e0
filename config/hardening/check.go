package hardening

import (
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/state"
)

// Check refuses settings that contradict an enforced control.
func Check(c *config.Config) diag.Diagnostics {
	var out diag.Diagnostics
	for _, cl := range c.Clusters {
		if cl.Hardening == nil {
			continue
		}
		k := checker{Cluster: cl, out: &out, block: cl.Source, about: state.ClusterTarget(cl.Label), origins: cl.Origins}
		k.cluster()
		for _, n := range c.NodesOf(cl.Label, "") {
			of := k
			of.block, of.about, of.origins = n.Source, n.Target, n.Origins
			of.node(n)
		}
	}
	return out
}

// checker collects what contradicts the controls of a cluster.
type checker struct {
	*config.Cluster
	out     *diag.Diagnostics
	block   state.Source
	about   fmt.Stringer
	origins config.Origins
}

// Contradicts is the title of errors about settings that contradict a control.
const Contradicts = "Setting contradicts a control"

// refuse reports a setting that contradicts a control.
func (k checker) refuse(c *Control, at state.Source, format string, args ...any) {
	if at.IsZero() {
		at = k.block
	}
	k.out.Append(diag.Errorf(Contradicts, "%s", refusal(c, fmt.Sprintf(format, args...))).At(at).In(k.block).For(k.about))
}

// refusal says which control is contradicted, by what, and what to do.
func refusal(c *Control, what string) string {
	return fmt.Sprintf("%s (%s) is a control of the hardening block, and %s. Change that, or leave the control out: except %q { reason = \"…\" } in the hardening block.",
		c.Name(), c.Title, what, c.Number)
}

func (k checker) cluster() {
	for _, number := range k.Hardening.Enforced {
		c := Find(number)
		for _, s := range c.Settings {
			switch s.In {
			case Blocks:
				k.whole(c, s)
			case Kubelet:
				k.kubelet(c, s, k.Kubelet)
			case KubeProxy:
				if v := k.KubeProxy.Config.Get(s.Name); !v.IsNull() && !s.Must.Allows(v.AsString()) {
					k.refuse(c, k.Origins.Of("kube_proxy.config."+s.Name), "%s of kube-proxy has to %s", s.Name, s.Must.Want)
				}
			case Sysctls:
				k.sysctl(c, s, k.Sysctls)
			case Files:
			default:
				k.args(c, s)
			}
		}
	}
}

// node checks the settings of a node.
func (k checker) node(n *config.Node) {
	for _, number := range k.Hardening.Enforced {
		c := Find(number)
		for _, s := range c.Settings {
			switch s.In {
			case Kubelet:
				k.kubelet(c, s, n.Kubelet)
			case Sysctls:
				k.sysctl(c, s, n.Sysctls)
			}
		}
	}
}

// args checks an argument of a component; the last of several with one name counts.
func (k checker) args(c *Control, s Setting) {
	if s.In == Etcd && k.Etcd.External != nil {
		return
	}
	var given *config.Arg
	for i, a := range *args(k.Cluster, s.In) {
		if sameFlag(a, s.Name) {
			given = &(*args(k.Cluster, s.In))[i]
		}
	}
	if given != nil && !s.Must.Allows(given.Value) {
		k.refuse(c, given.Source, "the argument %s of %s has to %s", s.Name, s.In, s.Must.Want)
	}
}

// kubelet checks a field of a kubelet, and the argument that overrides it.
func (k checker) kubelet(c *Control, s Setting, of config.Kubelet) {
	if v := of.Config.Get(s.Name); !v.IsNull() && !s.Must.Allows(flat(v)) {
		k.refuse(c, k.origins.Of("kubelet.config."+s.Name), "%s of the kubelet's configuration has to %s", s.Name, s.Must.Want)
	}
	for _, a := range of.Args {
		if sameFlag(a, s.Flag) && !s.Must.Allows(a.Value) {
			k.refuse(c, a.Source, "the argument %s of the kubelet has to %s", s.Flag, s.Must.Want)
		}
	}
}

func (k checker) sysctl(c *Control, s Setting, of map[string]string) {
	for key, value := range of {
		if sysctlName(key) == s.Name && !s.Must.Allows(strings.TrimSpace(value)) {
			k.refuse(c, k.origins.Of(state.JoinPath("sysctls", key)), "the kernel parameter %s has to %s", s.Name, s.Must.Want)
		}
	}
}

// whole checks what a block stands for.
func (k checker) whole(c *Control, s Setting) {
	switch s.Name {
	case ServingSetting:
		k.serving(c)
	case AuthenticationBlock:
		k.authentication(c)
	case PodSecurityBlock:
		k.podSecurity(c)
	}
}

// serving checks that kubelets serve with certificates that API servers verify.
func (k checker) serving(c *Control) {
	own := servesByField(k.Kubelet)
	if c.Number == "1.2.5" {
		own = verifiesByArg(k.Cluster)
	}
	both := c.Number == "4.2.9" && k.Hardening.Enforces("1.2.5") && !verifiesByArg(k.Cluster) // reported already
	if !k.Certificates.KubeletServing && !own && !both {
		k.refuse(c, k.Origins.Of(ServingSetting), "kubelet_serving of the certificates block has to be true")
	}
}

// authentication checks that API servers answer requests without credentials on health paths alone.
func (k checker) authentication(c *Control) {
	var file string
	for _, a := range k.APIServer.Args {
		switch {
		case sameFlag(a, "authentication-config"):
			file = a.Value
		case sameFlag(a, "anonymous-auth") && ofBool(a.Value, true), strings.HasPrefix(a.Name, "oidc"):
			k.refuse(c, a.Source, "with the argument %s all paths are answered without credentials: write an authentication block in place of it", a.Name)
			return
		}
	}
	for _, f := range k.Files {
		if f.Path == file && !guarded(f.Content) {
			k.refuse(c, f.Source, "the AuthenticationConfiguration answers requests without credentials beyond %s", strings.Join(config.ProbePaths, ", "))
		}
	}
}

// guarded reports whether an AuthenticationConfiguration answers requests without credentials on health
// paths alone. One that cannot be parsed is reported elsewhere.
func guarded(content string) bool {
	var a struct {
		Anonymous *struct {
			Enabled    bool `json:"enabled"`
			Conditions []struct {
				Path string `json:"path"`
			} `json:"conditions"`
		} `json:"anonymous"`
	}
	if yaml.Unmarshal([]byte(content), &a) != nil {
		return true
	}
	switch {
	case a.Anonymous == nil:
		return false // the default answers all
	case !a.Anonymous.Enabled:
		return true
	case len(a.Anonymous.Conditions) == 0:
		return false
	}
	for _, condition := range a.Anonymous.Conditions {
		if !slices.Contains(config.ProbePaths, condition.Path) {
			return false
		}
	}
	return true
}

// podSecurity checks that an own configuration of PodSecurity enforces a level.
func (k checker) podSecurity(c *Control) {
	for _, f := range k.Files {
		if f.Path != config.AdmissionPath {
			continue
		}
		var a struct {
			Plugins []struct {
				Name          string `json:"name"`
				Configuration struct {
					Defaults struct {
						Enforce string `json:"enforce"`
					} `json:"defaults"`
				} `json:"configuration"`
			} `json:"plugins"`
		}
		if yaml.Unmarshal([]byte(f.Content), &a) != nil {
			return
		}
		for _, p := range a.Plugins {
			if p.Name == "PodSecurity" && (p.Configuration.Defaults.Enforce == "" || p.Configuration.Defaults.Enforce == config.PodSecurityLevels[0]) {
				k.refuse(c, f.Source, "enforce of pod_security of the admission block has to be %s", strings.Join(config.PodSecurityLevels[1:], " or "))
			}
		}
	}
}
