package hardening

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/hostrules"
	"github.com/kubewright/kubewright/state"
)

// Fill gives settings the values of the enforced controls where the configuration says nothing about
// them. What whole blocks stand for is filled in by the loader, which makes it from blocks, too.
func Fill(cl *config.Cluster) {
	f := filler{cl}
	for _, number := range cl.Hardening.Enforced {
		c := Find(number)
		for _, s := range c.Settings {
			switch {
			case s.In == Files:
				cl.Origins[config.ControlKey(number)] = f.source(c)
			case s.In == Blocks && s.Name == ServingSetting:
				f.serving(c)
			case s.Value.IsNull():
			case s.In == Kubelet:
				f.kubelet(c, s)
			case s.In == Sysctls:
				f.sysctl(c, s)
			default:
				f.arg(c, s)
			}
		}
	}
}

// Source returns the position of a hardening block, as the origin of what some controls set; zero if
// none of them is enforced.
func Source(h *config.Hardening, numbers ...string) state.Source {
	var names []string
	for _, n := range numbers {
		if h.Enforces(n) {
			names = append(names, n)
		}
	}
	if len(names) == 0 {
		return state.Source{}
	}
	s := h.Source
	for i, n := range names {
		name := Find(n).Name()
		if i > 0 {
			name = ", " + n
		}
		s.Control += name
	}
	return s
}

type filler struct{ *config.Cluster }

func (f filler) source(c *Control) state.Source { return Source(f.Hardening, c.Number) }

// and adds a control to the origin of a value that another control has set.
func and(s state.Source, c *Control) state.Source {
	if s.Control != "" {
		s.Control += ", " + c.Number
	}
	return s
}

// serving has kubelets serve with certificates of the cluster's CA.
func (f filler) serving(c *Control) {
	const key = ServingSetting
	switch at := f.Origins[key]; {
	case verifiesByArg(f.Cluster) || servesByField(f.Kubelet):
	case at.Control != "":
		f.Origins[key] = and(at, c)
	case at.IsZero():
		f.Certificates.KubeletServing, f.Origins[key] = true, f.source(c)
	}
}

// verifiesByArg reports whether an argument has API servers verify kubelets.
func verifiesByArg(cl *config.Cluster) bool {
	return slices.ContainsFunc(cl.APIServer.Args, func(a config.Arg) bool { return sameFlag(a, "kubelet-certificate-authority") })
}

// servesByField reports whether a kubelet is given a serving certificate by its own settings.
func servesByField(k config.Kubelet) bool {
	for field, flag := range map[string]string{"tlsCertFile": "tls-cert-file", "serverTLSBootstrap": "rotate-server-certificates"} {
		if !k.Config.Get(field).IsNull() || slices.ContainsFunc(k.Args, func(a config.Arg) bool { return sameFlag(a, flag) }) {
			return true
		}
	}
	return false
}

// args returns the arguments of a component.
func args(cl *config.Cluster, in Place) *[]config.Arg {
	switch in {
	case APIServer:
		return &cl.APIServer.Args
	case ControllerManager:
		return &cl.ControllerManager.Args
	case Scheduler:
		return &cl.Scheduler.Args
	case Etcd:
		return &cl.Etcd.Args
	}
	return nil
}

// sameFlag reports whether an argument is the flag with the name, as the flags of Kubernetes are read.
func sameFlag(a config.Arg, name string) bool {
	return strings.ReplaceAll(a.Name, "_", "-") == name
}

// arg sets an argument that is not there, or adds a word to one that a control has set.
func (f filler) arg(c *Control, s Setting) {
	list := args(f.Cluster, s.In)
	key := string(s.In) + ".arg[" + strconv.Quote(s.Name) + "]"
	i := slices.IndexFunc(*list, func(a config.Arg) bool { return sameFlag(a, s.Name) })
	value := s.Value.AsString()
	switch {
	case i < 0:
		if s.Must.list {
			value = "NodeRestriction," + value
		}
		*list = append(*list, config.Arg{Name: s.Name, Value: value, Source: f.source(c)})
		f.Origins[key] = f.source(c)
	case s.Must.list && (*list)[i].Source.Control != "":
		a := &(*list)[i]
		a.Value, a.Source = a.Value+","+value, and(a.Source, c)
		f.Origins[key] = a.Source
	}
}

// kubelet sets a field of the kubelet that neither the configuration nor an argument sets.
func (f filler) kubelet(c *Control, s Setting) {
	given := slices.ContainsFunc(f.Kubelet.Args, func(a config.Arg) bool { return sameFlag(a, s.Flag) })
	if given || !f.Kubelet.Config.Get(s.Name).IsNull() {
		return
	}
	f.Kubelet.Config = config.MergeTrees(f.Kubelet.Config, state.Map(map[string]state.Value{s.Name: s.Value}))
	f.Origins["kubelet.config."+s.Name] = f.source(c)
}

// sysctl sets a kernel parameter that the configuration does not set.
func (f filler) sysctl(c *Control, s Setting) {
	for key := range f.Sysctls {
		if sysctlName(key) == s.Name {
			return
		}
	}
	set := maps.Clone(f.Sysctls)
	if set == nil {
		set = map[string]string{}
	}
	set[s.Name] = s.Value.AsString()
	f.Sysctls, f.Origins[state.JoinPath("sysctls", s.Name)] = set, f.source(c)
}

// sysctlName returns the name of a kernel parameter with dots, or "".
func sysctlName(key string) string {
	name, err := hostrules.SysctlName(key)
	if err != nil {
		return ""
	}
	return name
}
