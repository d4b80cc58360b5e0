package kubelet

import (
	"github.com/kubewright/kubewright/planner/skew"
	"github.com/kubewright/kubewright/providers/sim/refusal"
	"github.com/kubewright/kubewright/providers/sim/staticpod"
	"github.com/kubewright/kubewright/state"
)

// refusal returns why the kubelet exits with its flags and its configuration, or "".
func (kl Kubelet) refusal(config state.Value) string {
	version, known := skew.ParseRelease(kl.m.Version("kubelet"))
	if !known {
		return ""
	}
	return refusal.Start{
		Component: "kubelet", Minor: version.Minor, Config: config, Path: kubeletConfig,
		Flags: staticpod.FlagsIn(kl.servers.Content(kl.m.Resolve(kubeletFlags))),
	}.Exits()
}

// podRefusal returns why the component of a static pod exits with its flags, or "".
func podRefusal(p *staticpod.Manifest) string {
	minor := 0
	if p.Component() == staticpod.Etcd {
		minor = refusal.EtcdMinor(p.Tag())
	} else if version, known := skew.ParseRelease(p.Tag()); known {
		minor = version.Minor
	}
	return refusal.Start{Component: p.Component(), Minor: minor, Flags: p.Args}.Exits()
}
