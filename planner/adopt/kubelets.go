package adopt

import (
	"slices"
	"strconv"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// kubelets reads how each kubelet differs from the cluster's configuration.
func (r *reader) kubelets() error {
	for i, n := range r.nodes {
		h := &r.seen.Hosts[i]
		r.socket(n, h)
		r.flags(n, h)
		if err := r.settings(n, h); err != nil {
			return err
		}
	}
	return nil
}

// socket reads the runtime's endpoint when it differs from the detected one.
func (r *reader) socket(n *config.Node, h *Host) {
	seen := h.flag("container-runtime-endpoint")
	if f := h.Files[instanceConfig]; f.Exists {
		if v, err := kubeadm.YAMLAttributes(f.Content); err == nil {
			seen = v.Get("containerRuntimeEndpoint").AsString()
		}
	}
	if seen != "" && seen != h.Facts.CRISocket {
		n.CRISocket = seen
	}
}

// args returns the flags in kubeadm-flags.env.
func (h *Host) args() []state.Arg {
	f := h.Files[kubeletFlags]
	if !f.Exists {
		return nil
	}
	v, err := kubeadm.KubeletFlagsAttributes(f.Content)
	if err != nil {
		return nil
	}
	return v.Get("args").AsArgs()
}

// flag returns the last value of a flag; empty when it is not set.
func (h *Host) flag(name string) string {
	for _, a := range slices.Backward(h.args()) {
		if a.Name == name {
			return a.Value
		}
	}
	return ""
}

// flags reads the flags of one kubelet: its taints, both addresses of a dual-stack host, and
// arguments.
func (r *reader) flags(n *config.Node, h *Host) {
	if n.Role == config.Worker {
		n.Taints = flaggedTaints(h)
	}
	if both := strings.Split(h.flag("node-ip"), ","); len(both) == 2 && both[0] == n.Address {
		n.AdvertiseAddresses = both
	}
	v, err := kubeadm.KubeletFlagsAttributes(kubeadm.KubeletFlags(r.input(n, h)))
	if err != nil {
		return
	}
	base := v.Get("args").AsArgs()
	for _, a := range h.args() {
		if a.Name == "hostname-override" || a.Name == "container-runtime-endpoint" {
			continue // covered by the node's name and socket
		}
		if r.pauseImage(a) {
			continue
		}
		if i := slices.IndexFunc(base, a.Equal); i >= 0 {
			base = slices.Delete(slices.Clone(base), i, i+1)
			continue
		}
		if word, err := strconv.Unquote(a.Name); err == nil && len(n.Kubelet.Args) > 0 {
			// A word without dashes belongs to the value before it.
			n.Kubelet.Args[len(n.Kubelet.Args)-1].Value += " " + word
			continue
		}
		n.Kubelet.Args = append(n.Kubelet.Args, config.Arg{Name: a.Name, Value: a.Value})
	}
}

// pauseImage reports whether an argument is kubeadm's own: until 1.34, kubeadm join passed kubelets
// the sandbox image of that version, and later versions did not update it. Kubelets of 1.35 do not
// know the argument.
func (r *reader) pauseImage(a state.Arg) bool {
	repository, _, _ := strings.Cut(a.Value, "/pause:")
	return a.Name == "pod-infra-container-image" && slices.Contains([]string{r.cluster.ImageRepository, config.DefaultImageRepository, "k8s.gcr.io"}, repository)
}

// flaggedTaints returns the taints that a worker registered with and still has; nil when one of
// them is gone, because then the flag remains an argument.
func flaggedTaints(h *Host) []state.Taint {
	text := h.flag("register-with-taints")
	if text == "" {
		return nil
	}
	var out []state.Taint
	for word := range strings.SplitSeq(text, ",") {
		pair, effect, _ := strings.Cut(word, ":")
		key, value, _ := strings.Cut(pair, "=")
		t := state.Taint{Key: key, Value: value, Effect: effect}
		if !slices.Contains(h.Node.Taints, t) {
			return nil
		}
		out = append(out, t)
	}
	return out
}

// unsaidTaints returns the taints of workers that are missing in their blocks.
func (r *reader) unsaidTaints() []string {
	var out []string
	for i, n := range r.nodes {
		var taints []string
		for _, t := range r.seen.Hosts[i].Node.Taints {
			if n.Role == config.Worker && !ofControllers(t.Key) && !slices.Contains(n.Taints, t) {
				taints = append(taints, t.String())
			}
		}
		if len(taints) > 0 {
			out = append(out, n.Name+" ("+strings.Join(taints, ", ")+")")
		}
	}
	return out
}

// settings reads how one kubelet's configuration differs from the cluster's: values become settings
// of the node, missing values a patch.
func (r *reader) settings(n *config.Node, h *Host) error {
	f := h.Files[kubeletConfig]
	if !f.Exists {
		return nil
	}
	seen, err := kubeadm.YAMLAttributes(f.Content)
	if err != nil {
		return nil // the plan shows it as it is
	}
	text, err := kubeadm.KubeletConfig(r.input(n, h))
	if err != nil {
		return err
	}
	base, err := kubeadm.YAMLAttributes(text)
	if err != nil {
		return err
	}
	add, gone := over(base, seen)
	n.Kubelet.Config = add
	if len(gone) > 0 {
		content, err := kubeadm.AsYAML(nulls(gone))
		if err != nil {
			return err
		}
		n.Patches = append(n.Patches, config.Patch{Target: "kubeletconfiguration", Type: "merge", Content: content})
	}
	return nil
}
