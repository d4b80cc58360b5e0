package planner

import "time"

// SnapshotEtcd saves a snapshot of etcd on the operator's disk, verifies its hash there, and
// changes nothing on a host. With a MaxAge it is done when the interrupted plan that this one
// continues has left a complete, younger snapshot of the same etcd in the operator's folder. Its
// output snapshot is the path of the file.
type SnapshotEtcd struct {
	// Cluster is the label in the file name.
	Cluster string        `json:"cluster"`
	MaxAge  time.Duration `json:"max_age,omitempty"`
	// Keep is how many of the cluster's snapshots stay in the folder, including this one; 0 for
	// all.
	Keep int `json:"keep,omitempty"`
	// Quota is the configured maximum size of the etcd database, in bytes; 0 for etcd's own
	// default. A snapshot of more than twice this size is refused.
	Quota int64 `json:"quota,omitempty"`
	// Recipients are those that the file is encrypted to, unless it is encrypted as the state is.
	Recipients []string `json:"recipients,omitempty"`
}

// EtcdQuota is etcd's default for the maximum size of the database, in bytes (quota-backend-bytes
// of etcd 3.5 and 3.6).
const EtcdQuota = 2 << 30

// Most returns the maximum size of a snapshot, in bytes. The database may be somewhat larger than
// its quota.
func (s SnapshotEtcd) Most() int64 {
	if s.Quota <= 0 {
		return 2 * EtcdQuota
	}
	return 2 * min(s.Quota, 1<<50)
}

// Op returns the name in JSON.
func (SnapshotEtcd) Op() string { return "snapshot_etcd" }

// Summary returns one line for the progress display.
func (SnapshotEtcd) Summary() string { return "fetch a snapshot of etcd" }

// CompactEtcd makes etcd drop all revisions that were deleted or overwritten up to now, and waits
// until every member has done so. It precedes a defragmentation, which only frees compacted space,
// where no API server can have compacted. Repeating it does no harm.
type CompactEtcd struct{}

// Op returns the name in JSON.
func (CompactEtcd) Op() string { return "compact_etcd" }

// Summary returns one line for the progress display.
func (CompactEtcd) Summary() string { return "compact old revisions of etcd" }

// DefragmentEtcd makes an etcd member free the disk space that its database does not use, and waits
// until it answers again. Leadership is moved away first. The member does not answer meanwhile.
// Repeating it does no harm.
type DefragmentEtcd struct {
	Name    string        `json:"name"`
	PeerURL string        `json:"peer_url"`
	Timeout time.Duration `json:"timeout"`
}

// Op returns the name in JSON.
func (DefragmentEtcd) Op() string { return "defragment_etcd" }

// Summary returns one line for the progress display.
func (o DefragmentEtcd) Summary() string { return "defragment etcd member " + o.Name }

// MoveEtcdLeader transfers leadership before the member on the step's node stops, if it leads. A
// leader that stops also transfers leadership, but to the member that it has been connected to for
// the longest time: in a rolling restart, to the one that restarts next (etcd 3.6,
// server/etcdserver: longestConnected). Each time etcd may drop a write. If no member can take
// over, or etcd does not answer, it does nothing.
type MoveEtcdLeader struct {
	Name    string `json:"name"`
	PeerURL string `json:"peer_url"`
	// To are the peer URLs of the preferred leaders, best first; if none of them is healthy, any
	// other voter is used.
	To []string `json:"to"`
}

// Op returns the name in JSON.
func (MoveEtcdLeader) Op() string { return "move_etcd_leader" }

// Summary returns one line for the progress display.
func (o MoveEtcdLeader) Summary() string { return "transfer etcd leadership from " + o.Name }

// DisarmEtcd disarms an alarm on all members. Done when no member has it. It fails when etcd raises
// it again.
type DisarmEtcd struct {
	Alarm string `json:"alarm"`
}

// Op returns the name in JSON.
func (DisarmEtcd) Op() string { return "disarm_etcd" }

// Summary returns one line for the progress display.
func (o DisarmEtcd) Summary() string { return "disarm alarm " + o.Alarm + " of etcd" }

// Operations on the data of a stacked member, on the step's own host. They wait until the member
// has stopped.
type (
	// SetAsideEtcd renames the data of a member within its folder, so that nothing is lost. Done
	// when there is no data.
	SetAsideEtcd struct {
		DataDir string `json:"data_dir"`
		// As is the new name of the folder member.
		As string `json:"as"`
	}

	// RestoreEtcd creates the data of the only member of a new cluster from a snapshot of the
	// operator, with a revision beyond any that a client has seen (etcd: disaster recovery,
	// "Restoring with revision bump"). Existing data is set aside. Done when there is data and the
	// host records that it was made from this snapshot.
	RestoreEtcd struct {
		// Artifact is the file in the operator's folder, SHA256 its digest.
		Artifact string `json:"artifact"`
		SHA256   string `json:"sha256"`
		DataDir  string `json:"data_dir"`
		As       string `json:"as"`
		Name     string `json:"name"`
		PeerURL  string `json:"peer_url"`
		// Image is etcd's image, Socket the runtime that has it.
		Image  string `json:"image"`
		Socket string `json:"socket"`
	}
)

// RestoredMark is the file on a host that records, during a restore, the snapshot that its etcd was
// made from: the hex SHA-256.
const RestoredMark = "/var/lib/kubewright/etcd-restored"

// RestoredData is the file within a member's restored data with the snapshot that it was made from,
// in the same form. It moves with the data: an etcd that a member founds by itself after losing its
// disk does not have it.
const RestoredData = "kubewright-restored"

// Op returns the name in JSON.
func (SetAsideEtcd) Op() string { return "set_aside_etcd" }

// Summary returns one line for the progress display.
func (o SetAsideEtcd) Summary() string { return "set etcd's data aside as " + o.As }

// Op returns the name in JSON.
func (RestoreEtcd) Op() string { return "restore_etcd" }

// Summary returns one line for the progress display.
func (o RestoreEtcd) Summary() string { return "restore etcd from " + o.Artifact }
