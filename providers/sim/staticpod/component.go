package staticpod

import (
	"net/url"
	"strings"
	"time"
)

// The components of a control plane, by the labels of their pods.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
)

// StartupTime returns how long a component takes from its pod's start until it is ready.
func StartupTime(component string) time.Duration {
	switch component {
	case Etcd:
		return 2 * time.Second
	case APIServer:
		return 4 * time.Second
	}
	return 3 * time.Second
}

// Ports returns the TCP ports that a component listens on.
func Ports(component string, p *Manifest) []int {
	switch component {
	case APIServer:
		return []int{Number(p.Flag("secure-port", "6443"))}
	case ControllerManager:
		return []int{Number(p.Flag("secure-port", "10257"))}
	case Scheduler:
		return []int{Number(p.Flag("secure-port", "10259"))}
	}
	out := []int{}
	for _, flag := range []string{"listen-client-urls", "listen-peer-urls", "listen-metrics-urls"} {
		for s := range strings.SplitSeq(p.Flag(flag, ""), ",") {
			if u, err := url.Parse(s); err == nil && u.Port() != "" {
				out = append(out, Number(u.Port()))
			}
		}
	}
	return out
}
