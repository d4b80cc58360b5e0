package listing

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/state"
)

// MetricFamily is a family of metrics of a status. All are gauges, which readers of OpenMetrics and
// of the older text format of Prometheus know alike, such as node_exporter's textfile collector.
type MetricFamily struct {
	// Name ends with the unit, if there is one.
	Name, Unit, Help string
	// Labels are the names of the labels, in order.
	Labels  []string
	samples func(Status) []sample
}

// sample is a value with the values of the labels.
type sample struct {
	labels []string
	value  float64
}

// StatusMetrics prints a status in the text form of OpenMetrics 1.0. What is not known has no sample.
func StatusMetrics(w io.Writer, s Status, _ ui.Options) error {
	var b strings.Builder
	for _, f := range MetricFamilies() {
		f.print(&b, s)
	}
	b.WriteString("# EOF\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// print prints a family, unless it has no sample.
func (f MetricFamily) print(b *strings.Builder, s Status) {
	samples := f.samples(s)
	if len(samples) == 0 {
		return
	}
	fmt.Fprintf(b, "# TYPE %s gauge\n", f.Name)
	if f.Unit != "" {
		fmt.Fprintf(b, "# UNIT %s %s\n", f.Name, f.Unit)
	}
	fmt.Fprintf(b, "# HELP %s %s\n", f.Name, escapeMetric(f.Help))
	for _, v := range samples {
		b.WriteString(f.Name)
		for i, label := range f.Labels {
			open := ","
			if i == 0 {
				open = "{"
			}
			fmt.Fprintf(b, `%s%s="%s"`, open, label, escapeMetric(v.labels[i]))
		}
		if len(f.Labels) > 0 {
			b.WriteByte('}')
		}
		b.WriteString(" " + strconv.FormatFloat(v.value, 'f', -1, 64) + "\n")
	}
}

// escapeMetric escapes the value of a label, or a help text (OpenMetrics 1.0, escaped-string). Bytes
// that are not UTF-8 become the replacement character.
func escapeMetric(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(strings.ToValidUTF8(s, "�"))
}

func isReady(n NodeStatus) (float64, bool) {
	return number(n.Ready == state.NodeReady), n.Ready != state.NodeUnknown
}

// MetricFamilies returns all families, in the order in which they are printed.
func MetricFamilies() []MetricFamily {
	cluster, node := []string{"cluster"}, []string{"cluster", "node", "role"}
	return []MetricFamily{
		{"kubewright_observed_timestamp_seconds", "seconds", "When hosts and clusters were observed.", nil, func(s Status) []sample { return []sample{{nil, seconds(s.Time)}} }},
		{"kubewright_problems", "", "Problems of the cluster, by kind: api, etcd, node, certificate, skew, plan, host.", []string{"cluster", "kind"}, problemSamples},
		{"kubewright_api_up", "", "1 if the API answers, 0 if it does not.", cluster, perCluster(func(c ClusterStatus) (float64, bool) {
			return truth(c.API.Answers)
		})},
		{"kubewright_cluster_version", "", "1; the labels have the version of the configuration and the one of the API server.", []string{"cluster", "configured", "observed"}, versionSamples},
		{"kubewright_host_up", "", "1 if the host answers over SSH, 0 if it does not.", node, perNode(func(n NodeStatus) (float64, bool) { return number(n.HostAnswers), true })},
		{"kubewright_node_ready", "", "1 if the API reports the node as ready, 0 if not, or if it has no such node.", node, perNode(isReady)},
		{"kubewright_node_cordoned", "", "1 if the node is cordoned.", node, perNode(func(n NodeStatus) (float64, bool) {
			return number(n.Cordoned), n.Ready != state.NodeUnknown && n.Ready != state.NodeMissing
		})},
		{"kubewright_node_version", "", "1; the label has the version of the kubelet.", []string{"cluster", "node", "role", "kubelet"}, kubeletSamples},
		{"kubewright_etcd_voters", "", "Members of etcd that vote.", cluster, perCluster(func(c ClusterStatus) (float64, bool) { return float64(c.Etcd.Voters), c.Etcd.Voters > 0 })},
		{"kubewright_etcd_healthy_voters", "", "Voting members of etcd that answer.", cluster, perCluster(func(c ClusterStatus) (float64, bool) { return float64(c.Etcd.Healthy), c.Etcd.Voters > 0 })},
		{"kubewright_etcd_quorum", "", "How many voting members have to answer.", cluster, perCluster(func(c ClusterStatus) (float64, bool) { return float64(c.Etcd.Quorum), c.Etcd.Voters > 0 })},
		{"kubewright_etcd_alarms", "", "Alarms that the member has raised.", []string{"cluster", "member"}, perMember(func(m state.EtcdMember) (float64, bool) { return float64(len(m.Alarms)), true })},
		{"kubewright_etcd_database_bytes", "bytes", "Size of the member's database on disk.", []string{"cluster", "member"}, perMember(func(m state.EtcdMember) (float64, bool) { return float64(m.DBSize), m.DBSize > 0 })},
		{"kubewright_etcd_database_used_bytes", "bytes", "How much of it is in use.", []string{"cluster", "member"}, perMember(func(m state.EtcdMember) (float64, bool) { return float64(m.DBInUse), m.DBInUse > 0 })},
		{"kubewright_certificate_expiry_timestamp_seconds", "seconds", "When the first certificate on the host expires that the kubelet does not renew by itself.", []string{"cluster", "node", "path"}, expirySamples},
		{"kubewright_certificates_due", "", "Certificates that have to be renewed now.", cluster, perCluster(func(c ClusterStatus) (float64, bool) { return float64(c.Certificates.Due), c.Created })},
		{"kubewright_certificates_expired", "", "Certificates that have expired.", cluster, perCluster(func(c ClusterStatus) (float64, bool) { return float64(c.Certificates.Expired), c.Created })},
		{"kubewright_snapshot_timestamp_seconds", "seconds", "When the last snapshot of etcd in the folder beside the state was taken.", cluster, perCluster(func(c ClusterStatus) (float64, bool) {
			if c.Snapshot == nil || c.Snapshot.Taken.IsZero() {
				return 0, false
			}
			return seconds(c.Snapshot.Taken), true
		})},
		{"kubewright_backup_timestamp_seconds", "seconds", "When the control planes have taken the last backup.", cluster, perCluster(func(c ClusterStatus) (float64, bool) {
			if c.Backup == nil || c.Backup.Taken.IsZero() {
				return 0, false
			}
			return seconds(c.Backup.Taken), true
		})},
		{"kubewright_backup_overdue", "", "1 if the last backup is older than twice the schedule of the backup block.", cluster, perCluster(func(c ClusterStatus) (float64, bool) {
			return number(c.Backup != nil && c.Backup.Overdue), c.Backup != nil
		})},
		{"kubewright_plan_possible", "", "1 if a plan can be made, so that the differences are known.", cluster, perCluster(func(c ClusterStatus) (float64, bool) { return number(c.Differences.Known), true })},
		{"kubewright_outside_changes", "", "Items that were changed outside of kubewright.", cluster, perCluster(func(c ClusterStatus) (float64, bool) {
			return float64(len(c.Differences.Outside)), c.Differences.Known
		})},
		{"kubewright_outside_changes_after_timestamp_seconds", "seconds", "A moment at which none of these items differed.", cluster, perCluster(func(c ClusterStatus) (float64, bool) {
			return seconds(c.Differences.After), !c.Differences.After.IsZero()
		})},
		{"kubewright_pending_changes", "", "Clusters, nodes and addons that an apply would change, by action: add, change, destroy.", []string{"cluster", "action"}, pendingSamples},
		{"kubewright_state_serial", "", "Serial of the state.", nil, func(s Status) []sample {
			if !s.State.Exists {
				return nil
			}
			return []sample{{nil, float64(s.State.Serial)}}
		}},
		{"kubewright_state_locked", "", "1 if a run holds the lock of the state.", nil, func(s Status) []sample {
			if v, known := truth(s.State.Locked); known {
				return []sample{{nil, v}}
			}
			return nil
		}},
		{"kubewright_state_lock_timestamp_seconds", "seconds", "Since when a run holds the lock of the state.", nil, func(s Status) []sample {
			if s.State.Holder == nil || s.State.Holder.Since.IsZero() {
				return nil
			}
			return []sample{{nil, seconds(s.State.Holder.Since)}}
		}},
		{"kubewright_last_apply_timestamp_seconds", "seconds", "When the last apply began.", nil, lastApply(func(a Applied) float64 { return seconds(a.Time) })},
		{"kubewright_last_apply_completed", "", "1 if the last apply was completed; 0 if it failed, was interrupted, or runs.", nil, lastApply(func(a Applied) float64 { return number(a.Outcome == state.OutcomeCompleted) })},
	}
}

func seconds(t time.Time) float64 { return float64(t.Unix()) }

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// truth returns the number of a value that may be unknown.
func truth(b *bool) (value float64, known bool) {
	if b == nil {
		return 0, false
	}
	return number(*b), true
}

func perCluster(value func(ClusterStatus) (float64, bool)) func(Status) []sample {
	return func(s Status) (out []sample) {
		for _, c := range s.Clusters {
			if v, known := value(c); known {
				out = append(out, sample{[]string{c.Name}, v})
			}
		}
		return out
	}
}

func perNode(value func(NodeStatus) (float64, bool)) func(Status) []sample {
	return func(s Status) (out []sample) {
		for _, c := range s.Clusters {
			for _, n := range c.Nodes {
				if v, known := value(n); known {
					out = append(out, sample{[]string{c.Name, n.shownName(), n.Role}, v})
				}
			}
		}
		return out
	}
}

func perMember(value func(state.EtcdMember) (float64, bool)) func(Status) []sample {
	return func(s Status) (out []sample) {
		for _, c := range s.Clusters {
			for _, m := range c.Etcd.Members {
				name := m.Name
				if name == "" { // it was not started yet
					name = m.ID
				}
				if v, known := value(m); known {
					out = append(out, sample{[]string{c.Name, name}, v})
				}
			}
		}
		return out
	}
}

func problemSamples(s Status) (out []sample) {
	for _, c := range s.Clusters {
		for _, kind := range []ProblemKind{ProblemAPI, ProblemEtcd, ProblemNode, ProblemCertificate, ProblemBackup, ProblemSkew, ProblemPlan, ProblemHost} {
			n := 0
			for _, p := range c.Problems {
				if p.Kind == kind {
					n++
				}
			}
			out = append(out, sample{[]string{c.Name, string(kind)}, float64(n)})
		}
	}
	return out
}

func versionSamples(s Status) (out []sample) {
	for _, c := range s.Clusters {
		out = append(out, sample{[]string{c.Name, c.Configured, strings.TrimPrefix(c.API.Version, "v")}, 1})
	}
	return out
}

func kubeletSamples(s Status) (out []sample) {
	for _, c := range s.Clusters {
		for _, n := range c.Nodes {
			if n.Kubelet != "" {
				out = append(out, sample{[]string{c.Name, n.shownName(), n.Role, n.Kubelet}, 1})
			}
		}
	}
	return out
}

func expirySamples(s Status) (out []sample) {
	for _, c := range s.Clusters {
		for _, n := range c.Nodes {
			if e := n.Certificate; e != nil {
				out = append(out, sample{[]string{c.Name, n.shownName(), e.Path}, seconds(e.NotAfter)})
			}
		}
	}
	return out
}

func pendingSamples(s Status) (out []sample) {
	for _, c := range s.Clusters {
		if p := c.Differences.Pending; p != nil {
			out = append(out, sample{[]string{c.Name, "add"}, float64(p.Add)}, sample{[]string{c.Name, "change"}, float64(p.Change)}, sample{[]string{c.Name, "destroy"}, float64(p.Destroy)})
		}
	}
	return out
}

func lastApply(value func(Applied) float64) func(Status) []sample {
	return func(s Status) []sample {
		if len(s.Applies) == 0 {
			return nil
		}
		return []sample{{nil, value(s.Applies[0])}}
	}
}
