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
