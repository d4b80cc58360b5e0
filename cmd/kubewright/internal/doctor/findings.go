package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/listing"
	"github.com/kubewright/kubewright/engine/hosts"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/diagnosis"
	"github.com/kubewright/kubewright/state"
)

// nodeConditions returns what the API says against a node.
func nodeConditions(n *topology.Node) []string {
	at := n.NodeCondition()
	if at == state.NodeUnknown || at == state.NodeMissing {
		return nil
	}
	node := n.Cluster.Report.Nodes[n.NodeName]
	out := slices.Clone(node.Troubles)
	switch {
	case at == state.NodeSilent:
		out = append(out, "the kubelet has not reported to the API for a while")
	case at == state.NodeNotReady && len(out) == 0:
		out = append(out, "the node is not ready")
	}
	if node.Unschedulable && (n.Schedulable == nil || *n.Schedulable) {
		out = append(out, "the node is cordoned: no pod is scheduled to it")
	}
	return out
}

// lateClock is how far a clock may be off: bootstrap tokens, leases and certificates of a minute ago
// are not valid yet elsewhere.
const lateClock = time.Minute

// ofHost returns what is wrong with a host by its observation: its clock and its certificates.
func (x examination) ofHost(m *hosts.Member) []diagnosis.Cause {
	var out []diagnosis.Cause
	if r := x.fleet.Reports[m.Target]; r != nil && r.Facts.ClockOffset.Abs() > lateClock {
		side := "ahead of"
		if r.Facts.ClockOffset < 0 {
			side = "behind"
		}
		out = append(out, diagnosis.Cause{
			Subject: "clock", Problem: fmt.Sprintf("is %s %s this machine's", r.Facts.ClockOffset.Abs().Round(time.Second), side),
			ToDo: "have the host keep its time (timedatectl, chronyc tracking): certificates and leases depend on it",
		})
	}
	if r := x.fleet.Reports[m.Target]; r != nil {
		out = append(out, forwardingOff(r.Sysctls)...)
	}
	for _, c := range x.certificates {
		switch {
		case c.Node != m.Target || c.RenewedBy == planner.NotRenewed:
		case c.Invalid != "":
			out = append(out, diagnosis.Cause{Subject: "certificate " + c.Path, Problem: "cannot be read: " + c.Invalid, ToDo: "bring the file back; kubewright plan says whether an apply writes it again"})
		case c.NotAfter.Before(x.session.Hosts.World.Clock().Now()):
			out = append(out, diagnosis.Cause{Subject: "certificate " + c.Path, Problem: "has expired on " + c.NotAfter.UTC().Format(time.DateOnly), ToDo: renewal(c.RenewedBy)})
		}
	}
	return out
}

// forwardingOff returns the kernel parameters that keep a host from passing on packets.
func forwardingOff(sysctls map[string]string) []diagnosis.Cause {
	var out []diagnosis.Cause
	for _, name := range slices.Sorted(maps.Keys(sysctls)) {
		if sysctls[name] == "0" && strings.HasSuffix(strings.TrimSuffix(name, "ing"), "forward") {
			out = append(out, diagnosis.Cause{
				Subject: "kernel parameter " + name, Problem: "is 0: this host passes no packets on to its pods",
				ToDo: "kubewright apply sets it; see what else does (sysctl --system, /etc/sysctl.d)",
			})
		}
	}
	return out
}

// renewal returns how an expired certificate is renewed.
func renewal(by planner.Renewer) string {
	switch by {
	case planner.ByApply:
		return "renew it with kubewright apply"
	case planner.ByKubelet:
		return "the kubelet cannot renew it any more: join the node again with kubewright apply -replace=NODE"
	}
	return "renew it where it was issued; kubewright certificates says who renews which"
}

// lacking returns those of the static pods of a control plane whose manifests are not there, if others are.
func lacking(pods []string, r *diagnosis.Report) []diagnosis.Cause {
	var out []diagnosis.Cause
	for _, name := range pods {
		gone := !slices.Contains(r.Manifests, name) && !slices.ContainsFunc(r.Containers, func(c diagnosis.Container) bool { return c.Name == name })
		if gone && len(r.Manifests) > 0 {
			out = append(out, diagnosis.Cause{
				Subject: "static pod " + name, Problem: "does not run: /etc/kubernetes/manifests has no " + name + ".yaml",
				ToDo: "bring the manifest back; an apply of kubewright writes it again",
			})
		}
	}
	return out
}

// dialTime is how long a connection inside a cluster may take.
const dialTime = 5 * time.Second

// cut returns the ways that a node needs and that something blocks: from its host to the API endpoint,
// and from a control plane to its kubelet.
func (x examination) cut(ctx context.Context, host providers.Host, n *topology.Node) []diagnosis.Cause {
	if at := n.NodeCondition(); at == state.NodeUnknown || at == state.NodeMissing {
		return nil // no API to reach, or no node yet
	}
	var out []diagnosis.Cause
	if endpoint := n.Cluster.ControlPlaneEndpoint; endpoint != "" {
		if why := dial(ctx, host, endpoint); why != "" {
			out = append(out, diagnosis.Cause{
				Subject: "this host", Problem: "cannot connect to the API endpoint " + endpoint + ": " + why,
				ToDo: "see its name service, its routes (ip route), and its firewall (nft list ruleset, iptables -S)",
			})
		}
	}
	kubelet := net.JoinHostPort(n.Address, "10250")
	for _, m := range x.session.Hosts.Members {
		if !m.Plane || m.Cluster != n.Cluster.Label || m.Target == n.Target || x.fleet.Reports[m.Target] == nil {
			continue
		}
		from, err := x.session.Hosts.Host(ctx, m.Target)
		if err != nil {
			continue
		}
		if why := dial(ctx, from, kubelet); why != "" {
			out = append(out, diagnosis.Cause{
				Subject: "kubelet", Problem: "cannot be reached from " + m.Target.String() + " at " + kubelet + ": " + why + "; kubectl logs, exec and metrics need that",
				ToDo: "open port 10250 of this host to the control planes (nft list ruleset, iptables -S)",
			})
		}
		break
	}
	return out
}

// dial returns why a host cannot connect to an address; empty if it can, or if it does not forward
// connections.
func dial(ctx context.Context, host providers.Host, address string) string {
	limited, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	conn, err := host.DialContext(limited, "tcp", address)
	if err == nil {
		conn.Close()
		return ""
	}
	if e, ok := errors.AsType[*providers.Error](err); ok && e.Kind == providers.ErrNoForwarding || ctx.Err() != nil {
		return ""
	}
	if limited.Err() != nil {
		return fmt.Sprintf("no answer within %s", dialTime)
	}
	return err.Error()
}

// notServing returns that the API server of a control plane runs and does not serve at its address, which
// others use.
func (x examination) notServing(ctx context.Context, host providers.Host, n *topology.Node, r *diagnosis.Report) []diagnosis.Cause {
	runs := slices.ContainsFunc(r.Containers, func(c diagnosis.Container) bool { return c.Name == "kube-apiserver" && c.Running })
	if !runs || x.fleet.ClusterErrors[n.Cluster.Label] == "" {
		return nil
	}
	address := net.JoinHostPort(n.AdvertiseAddress(), strconv.Itoa(n.Cluster.BindPort))
	why := dial(ctx, host, address)
	if why == "" {
		return nil
	}
	return []diagnosis.Cause{{
		Subject: "container kube-apiserver", Problem: "runs, and does not serve at " + address + ": " + why,
		ToDo: "correct bind-address and secure-port in /etc/kubernetes/manifests/kube-apiserver.yaml (kubewright plan shows what was changed by hand), or see ss -lptn and iptables -S",
	}}
}

// clusters returns what is wrong with the clusters of these hosts, as API and etcd report it.
func (x examination) clusters(members []*hosts.Member) []listing.Examined {
	var out []listing.Examined
	for _, c := range x.session.Config.Clusters {
		if !slices.ContainsFunc(members, func(m *hosts.Member) bool { return m.Cluster == c.Label }) {
			continue
		}
		e := listing.Examined{Target: "cluster." + c.Label, Cluster: true}
		if why := x.fleet.ClusterErrors[c.Label]; why != "" {
			e.Causes = append(e.Causes, noAPI(why))
		}
		report := x.fleet.ClusterReports[c.Label]
		alone := x.fleet.EtcdAlone[c.Label].Members
		if report != nil {
			alone = report.Members
			if report.EtcdUnobserved != "" {
				e.Causes = append(e.Causes, withLog("etcd", "does not answer", report.EtcdUnobserved, "see the hosts below, and kubewright etcd status"))
			}
		}
		for _, m := range alone {
			e.Causes = append(e.Causes, memberCauses(m)...)
		}
		if e.Causes = masked(x.session, e.Causes); !e.Well() {
			out = append(out, e)
		}
	}
	return out
}

// noAPI returns the cause of an API that does not answer, with what to do if its words are known.
func noAPI(why string) diagnosis.Cause {
	c := withLog("API server", "does not answer", why, "")
	if c.Remedy() == "" {
		c.ToDo = "see below what does not run on the hosts of its control planes"
	}
	return c
}

func withLog(subject, problem, words, remedy string) diagnosis.Cause {
	return diagnosis.Cause{Subject: subject, Problem: problem, Log: []string{strings.Join(strings.Fields(words), " ")}, ToDo: remedy}
}

// memberCauses returns what is wrong with a member of etcd.
func memberCauses(m state.EtcdMember) []diagnosis.Cause {
	name := m.Name
	if name == "" {
		name = m.ID
	}
	var out []diagnosis.Cause
	for _, a := range m.Alarms {
		todo := "kubewright plan says what clears it"
		switch a {
		case "NOSPACE":
			todo = "etcd refuses writes: free space with kubewright etcd defragment, raise quota-backend-bytes if the data is wanted, and let kubewright apply clear the alarm"
		case "CORRUPT":
			todo = "its data differs from the other members': remove and join this control plane again with kubewright apply -replace=NODE"
		}
		out = append(out, diagnosis.Cause{Subject: "member " + name + " of etcd", Problem: "has raised the alarm " + a, ToDo: todo})
	}
	if !m.Healthy {
		out = append(out, diagnosis.Cause{Subject: "member " + name + " of etcd", Problem: "is not healthy", ToDo: "see its host below, and kubewright etcd status"})
	}
	return out
}
