package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/session"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/listing"
	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/backup"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/engine/hosts"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/etcd"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/skew"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/providers/snapshots"
	"github.com/kubewright/kubewright/state"
)

// facts are what a status is made of.
type facts struct {
	session *session.Session
	fleet   *topology.Fleet
	// plan is what an apply would do; nil if none can be made, and findings say why.
	plan         *planner.Plan
	findings     diag.Diagnostics
	certificates []pki.HeldCertificate
}

// labels returns the labels of all clusters of configuration and state: first those of the
// configuration, in its order.
func (f facts) labels() []string {
	var out []string
	add := func(label string) {
		if !slices.Contains(out, label) {
			out = append(out, label)
		}
	}
	for _, c := range f.session.Config.Clusters {
		add(c.Label)
	}
	var left []string
	for _, m := range f.session.Hosts.Members {
		left = append(left, m.Cluster)
	}
	slices.Sort(left)
	for _, label := range left {
		add(label)
	}
	return out
}

// members returns the hosts of a cluster: first control planes, each role in the order of the
// configuration, then nodes that leave.
func (f facts) members(label string) []*hosts.Member {
	rank := func(m *hosts.Member) int {
		switch {
		case m.Leaves:
			return 2
		case m.Plane:
			return 0
		}
		return 1
	}
	all := slices.DeleteFunc(slices.Clone(f.session.Hosts.Members), func(m *hosts.Member) bool { return m.Cluster != label })
	slices.SortStableFunc(all, func(a, b *hosts.Member) int {
		if d := cmp.Compare(rank(a), rank(b)); d != 0 || !a.Leaves {
			return d
		}
		return cmp.Compare(a.Target.String(), b.Target.String())
	})
	return all
}

// said returns a text from a host on one line, without secrets.
func (f facts) said(text string) string {
	return strings.Join(strings.Fields(state.WithoutPasswords(f.session.Config.Secrets.Text(text))), " ")
}

// cluster returns the status of a cluster.
func (f facts) cluster(label string) listing.ClusterStatus {
	out := listing.ClusterStatus{Name: label, Created: f.created(label), Problems: []listing.Problem{}, Nodes: []listing.NodeStatus{}}
	c := f.session.Config.Cluster(label)
	external := c != nil && c.Etcd.External != nil
	if c != nil {
		out.Configured = c.KubernetesVersion
	}
	out.API = f.api(label)
	for _, m := range f.members(label) {
		out.Nodes = append(out.Nodes, f.node(m))
	}
	out.Etcd = f.etcd(label, external)
	out.Certificates = f.certificatesOf(label)
	if !external {
		out.Snapshot = f.snapshot(label)
	}
	if c != nil && c.Backup != nil {
		out.Backup = f.backup(c)
	}
	out.Differences = f.differences(label)
	out.Problems = append(out.Problems, f.problems(out)...)
	return out
}

// created reports whether the state or a host knows the cluster.
func (f facts) created(label string) bool {
	return f.fleet.Remembers(label) || f.fleet.ClusterReports[label] != nil ||
		slices.ContainsFunc(f.session.Hosts.Members, func(m *hosts.Member) bool { return m.Cluster == label && f.fleet.CA(m.Target) != "" })
}

// api says whether an API server answers.
func (f facts) api(label string) listing.APIStatus {
	if r := f.fleet.ClusterReports[label]; r != nil {
		return listing.APIStatus{Answers: new(true), Version: r.Version}
	}
	if why := f.fleet.ClusterErrors[label]; why != "" {
		return listing.APIStatus{Answers: new(false), Reason: f.said(why)}
	}
	if !f.created(label) {
		return listing.APIStatus{}
	}
	for _, m := range f.members(label) {
		if _, silent := f.fleet.Unobserved[m.Target]; m.Plane && !silent {
			return listing.APIStatus{Reason: "no control plane that answers has /etc/kubernetes/admin.conf"}
		}
	}
	return listing.APIStatus{Reason: "no host of a control plane answers"}
}

// node returns the status of a node and its host.
func (f facts) node(m *hosts.Member) listing.NodeStatus {
	out := listing.NodeStatus{Address: m.Target.String(), Role: string(config.Worker), Leaving: m.Leaves, HostAnswers: true}
	if m.Plane {
		out.Role = string(config.ControlPlane)
	}
	if u, silent := f.fleet.Unobserved[m.Target]; silent {
		out.HostAnswers, out.Reason = false, f.said(u.Reason)
	}
	configured := ""
	for _, n := range f.session.Config.Nodes {
		if n.Target == m.Target {
			configured = n.Name
		}
	}
	out.Name = f.fleet.NameOf(m.Target, configured)
	if c := f.first(func(c pki.HeldCertificate) bool { return c.Node == m.Target }); c != nil {
		out.Certificate = c
	}
	r := f.fleet.ClusterReports[m.Cluster]
	if out.Ready = r.NodeCondition(out.Name); r == nil {
		return out
	}
	n := r.Nodes[out.Name]
	out.Cordoned, out.Kubelet = n.Unschedulable, strings.TrimPrefix(n.KubeletVersion, "v")
	if v, known := runs(r, "kube-apiserver", out.Name); known {
		out.APIServer = v.String()
	}
	return out
}

// runs returns the version of a control plane's component, as its pod names it.
func runs(r *state.ClusterReport, component, node string) (skew.Release, bool) {
	image := r.StaticPods[component+"-"+node].Image
	return skew.ParseRelease(image[strings.LastIndex(image, ":")+1:])
}

// etcd returns the status of a cluster's etcd, which may answer although the API does not.
func (f facts) etcd(label string, external bool) listing.EtcdHealth {
	out := listing.EtcdHealth{External: external}
	if external {
		return out
	}
	alone := f.fleet.EtcdAlone[label]
	out.ID, out.Members = alone.ClusterID, alone.Members
	if r := f.fleet.ClusterReports[label]; r != nil {
		out.ID, out.Members, out.Reason = r.EtcdClusterID, r.Members, f.said(r.EtcdUnobserved)
	}
	if len(out.Members) == 0 {
		if f.session.Config.Cluster(label) == nil {
			out.Reason = "not asked, for the configuration has no such cluster any more"
		}
		if out.Reason == "" && f.created(label) {
			out.Reason = cmp.Or(f.api(label).Reason, "it listed no member")
		}
		return out
	}
	out.Reason = ""
	out.Voters, out.Healthy = state.Voters(out.Members)
	out.Quorum = out.Voters/2 + 1
	return out
}

// certificatesOf sums up the certificates of a cluster.
func (f facts) certificatesOf(label string) listing.CertificatesStatus {
	of := func(c pki.HeldCertificate) bool { return f.session.Hosts.ClusterOf(c.Node) == label }
	out := listing.CertificatesStatus{First: f.first(of)}
	for _, c := range f.certificates {
		switch {
		case !of(c) || c.RenewedBy == planner.NotRenewed && c.Invalid == "":
		case c.Invalid != "":
			out.Unreadable++
		case c.Ended:
			out.Expired++
		case c.Due:
			out.Due++
		}
	}
	return out
}

// day returns the day of a time. Of certificates that expire on one day the first in the list
// counts, as in a plan.
func day(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

// first returns the first to expire of some certificates; nil for none. One that the kubelet renews
// counts only if the kubelet should have renewed it, and one that no client verifies never.
func (f facts) first(of func(pki.HeldCertificate) bool) *listing.ExpiringCertificate {
	var out *listing.ExpiringCertificate
	for _, c := range f.certificates {
		if !of(c) || c.Invalid != "" || c.RenewedBy == planner.NotRenewed || c.RenewedBy == planner.ByKubelet && !c.Due {
			continue
		}
		if out == nil || day(c.NotAfter).Before(day(out.NotAfter)) {
			out = &listing.ExpiringCertificate{Node: c.Node.String(), Host: c.Host, Path: c.Path, NotAfter: c.NotAfter.UTC(), DaysLeft: c.DaysLeft, Due: c.Due}
		}
	}
	return out
}

// snapshot returns the last snapshot of etcd in the folder beside the state.
func (f facts) snapshot(label string) *listing.SnapshotStatus {
	out := &listing.SnapshotStatus{Folder: f.session.Store.Snapshots}
	files, err := snapshots.List(out.Folder, label)
	if err != nil {
		out.Reason = err.Error()
		return out
	}
	if len(files) > 0 {
		out.Path, out.Taken = files[0].Path, files[0].Taken.UTC()
		out.AgeSeconds = int64(max(0, f.fleet.ObservedAt.Sub(out.Taken)) / time.Second)
	}
	return out
}

// backup returns the last backup that the control planes have taken.
func (f facts) backup(c *config.Cluster) *listing.BackupStatus {
	b := etcd.BackupsOf(f.fleet, c)
	out := &listing.BackupStatus{Overdue: b.Overdue(c.Backup.Period, f.fleet.ObservedAt), Failure: f.said(b.Failed.Error)}
	if last := b.Last(); last != nil {
		out.Name, out.Taken = last.Name, last.Manifest.Time.UTC()
		out.AgeSeconds = int64(max(0, f.fleet.ObservedAt.Sub(out.Taken)) / time.Second)
	}
	return out
}

// problems returns what does not work in a cluster, or is not known, the worst first.
func (f facts) problems(c listing.ClusterStatus) []listing.Problem {
	var out []listing.Problem
	add := func(kind listing.ProblemKind, address, remedy, format string, args ...any) {
		out = append(out, listing.Problem{Kind: kind, Address: address, Text: fmt.Sprintf(format, args...), Remedy: remedy})
	}
	if c.API.Answers != nil && !*c.API.Answers {
		add(listing.ProblemAPI, "", "", "the API does not answer: %s", c.API.Reason)
	}
	out = append(out, etcdProblems(c)...)
	if n := c.Certificates.Expired; n > 0 {
		add(listing.ProblemCertificate, "", "run kubewright apply, which renews them", "certificates have expired: %d", n)
	}
	if n := c.Certificates.Unreadable; n > 0 {
		add(listing.ProblemCertificate, "", "kubewright certificates lists them", "certificates cannot be read: %d", n)
	}
	if c.Backup != nil && c.Backup.Overdue {
		remedy := "see why on a control plane: journalctl -u " + backup.Service
		if c.Backup.Failure != "" {
			remedy = "remove the cause, and take one: systemctl start " + backup.Service
		}
		add(listing.ProblemBackup, "", remedy, "the last backup is older than twice the schedule%s", because(c.Backup.Failure))
	}
	for _, err := range violations(c, f.fleet.ClusterReports[c.Name]) {
		add(listing.ProblemSkew, "", "", "versions do not fit: %s", err)
	}
	for _, m := range f.members(c.Name) {
		if p, is := f.nodeProblem(c, m); is {
			out = append(out, p)
		}
	}
	for _, reason := range f.refusals(c.Name) {
		add(listing.ProblemPlan, "", "see more with: kubewright plan", "no plan can be made: %s", reason)
	}
	return out
}

// because completes a sentence with a reason, if there is one.
func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

// etcdProblems returns what is wrong with the etcd of a cluster.
func etcdProblems(c listing.ClusterStatus) []listing.Problem {
	var out []listing.Problem
	e := c.Etcd
	if e.Voters == 0 {
		if e.Reason != "" && c.Configured != "" && c.API.Answers != nil && *c.API.Answers {
			out = append(out, listing.Problem{Kind: listing.ProblemEtcd, Text: "etcd does not answer: " + e.Reason})
		}
		return out
	}
	if e.Healthy < e.Quorum {
		out = append(out, listing.Problem{Kind: listing.ProblemEtcd, Text: fmt.Sprintf("etcd has no quorum: %d of %d voters are healthy", e.Healthy, e.Voters), Remedy: "kubewright etcd status shows what the members hold"})
	}
	for _, m := range e.Members {
		name := cmp.Or(m.Name, m.ID)
		if !m.Healthy {
			out = append(out, listing.Problem{Kind: listing.ProblemEtcd, Text: fmt.Sprintf("member %s of etcd is not healthy", name)})
		}
		for _, a := range m.Alarms {
			out = append(out, listing.Problem{Kind: listing.ProblemEtcd, Text: fmt.Sprintf("member %s of etcd has raised the alarm %s", name, a), Remedy: "kubewright plan says what clears it"})
		}
	}
	return out
}

// violations returns the violated rules of version skew.
func violations(c listing.ClusterStatus, r *state.ClusterReport) []error {
	if r == nil {
		return nil
	}
	v := skew.Versions{APIServers: map[string]skew.Release{}, ControllerManagers: map[string]skew.Release{}, Schedulers: map[string]skew.Release{}, Kubelets: map[string]skew.Release{}}
	for _, n := range c.Nodes {
		for component, on := range map[string]map[string]skew.Release{"kube-apiserver": v.APIServers, "kube-controller-manager": v.ControllerManagers, "kube-scheduler": v.Schedulers} {
			if version, known := runs(r, component, n.Name); known {
				on[n.Name] = version
			}
		}
		if version, known := skew.ParseRelease(n.Kubelet); known {
			v.Kubelets[n.Name] = version
		}
	}
	return v.Violations()
}

// nodeProblem returns what is wrong with a node or its host.
func (f facts) nodeProblem(c listing.ClusterStatus, m *hosts.Member) (listing.Problem, bool) {
	i := slices.IndexFunc(c.Nodes, func(n listing.NodeStatus) bool { return n.Address == m.Target.String() })
	n := c.Nodes[i]
	p := listing.Problem{Address: n.Address, Remedy: f.said(f.fleet.Unobserved[m.Target].Remedy)}
	text := map[state.NodeCondition]string{
		state.NodeNotReady: "the node is not ready", state.NodeSilent: "the kubelet has not reported to the API for a while",
	}[n.Ready]
	if n.Ready == state.NodeMissing && f.fleet.RecordedNode(m.Target) {
		text = "the API has no such node"
	}
	switch {
	case text == "" && n.HostAnswers:
		return p, false
	case text == "":
		p.Kind, p.Text = listing.ProblemHost, "its host does not answer: "+n.Reason
	case n.HostAnswers:
		p.Kind, p.Text, p.Remedy = listing.ProblemNode, text, "kubewright doctor says what does not run on its host"
	default:
		p.Kind, p.Text = listing.ProblemNode, text+", and its host does not answer: "+n.Reason
	}
	return p, true
}
