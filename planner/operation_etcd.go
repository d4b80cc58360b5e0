package planner

import "time"

// SnapshotEtcd brings a snapshot of what etcd holds to the operator's disk, and
// changes nothing on a host. Its hash is verified there. Done when the folder of
// the operator's holds a whole one of the same etcd that is younger than
// MaxAge. Its output snapshot is the path of the file.
type SnapshotEtcd struct {
	// Cluster is the label that the file is named by.
	Cluster string        `json:"cluster"`
	MaxAge  time.Duration `json:"max_age,omitempty"`
	// Keep is how many of the cluster's snapshots stay in the folder, this one
	// among them; 0 for all.
	Keep int `json:"keep,omitempty"`
}

// Op is the name in JSON.
func (SnapshotEtcd) Op() string { return "snapshot_etcd" }

// Summary is one line for the progress display.
func (SnapshotEtcd) Summary() string { return "fetch a snapshot of etcd" }

// DefragmentEtcd has a member of etcd give back the space on its disk that its
// database does not use, and waits until it answers again. Leadership is moved
// away first. The member does not answer meanwhile. A second time does no harm.
type DefragmentEtcd struct {
	Name    string        `json:"name"`
	PeerURL string        `json:"peer_url"`
	Timeout time.Duration `json:"timeout"`
}

// Op is the name in JSON.
func (DefragmentEtcd) Op() string { return "defragment_etcd" }

// Summary is one line for the progress display.
func (o DefragmentEtcd) Summary() string { return "defragment etcd member " + o.Name }

// DisarmEtcd takes back an alarm of all members. Done when no member has it. It
// fails when etcd raises it again.
type DisarmEtcd struct {
	Alarm string `json:"alarm"`
}

// Op is the name in JSON.
func (DisarmEtcd) Op() string { return "disarm_etcd" }

// Summary is one line for the progress display.
func (o DisarmEtcd) Summary() string { return "disarm alarm " + o.Alarm + " of etcd" }
