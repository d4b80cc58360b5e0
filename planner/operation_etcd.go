package planner

import "time"

// SnapshotEtcd brings a snapshot of what etcd holds to the operator's disk, and
// changes nothing on a host. Its hash is verified there. With a MaxAge it is done
// when the interrupted plan that this one goes on with has put a whole one of the same
// etcd into the operator's folder that is younger. Its output snapshot is the path of the file.
type SnapshotEtcd struct {
	// Cluster is the label that the file is named by.
	Cluster string        `json:"cluster"`
	MaxAge  time.Duration `json:"max_age,omitempty"`
	// Keep is how many of the cluster's snapshots stay in the folder, this one
	// among them; 0 for all.
	Keep int `json:"keep,omitempty"`
	// Quota is how large etcd lets a database become, in bytes, where the configuration
	// says it; 0 for etcd's own default. A snapshot of more than twice as much is refused.
	Quota int64 `json:"quota,omitempty"`
}

// EtcdQuota is how large etcd lets a database become unless it is told otherwise, in bytes
// (quota-backend-bytes of etcd 3.5 and 3.6).
const EtcdQuota = 2 << 30

// Most returns how large a snapshot may be, in bytes. The database may be somewhat larger
// than its quota.
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

// CompactEtcd has etcd drop what was deleted or written over, up to now, and waits
// until every member has. It comes before a defragmentation, which gives back
// nothing else, where no API server can have done it. A second time does no harm.
type CompactEtcd struct{}

// Op returns the name in JSON.
func (CompactEtcd) Op() string { return "compact_etcd" }

// Summary returns one line for the progress display.
func (CompactEtcd) Summary() string { return "compact old revisions of etcd" }

// DefragmentEtcd has a member of etcd give back the space on its disk that its
// database does not use, and waits until it answers again. Leadership is moved
// away first. The member does not answer meanwhile. A second time does no harm.
type DefragmentEtcd struct {
	Name    string        `json:"name"`
	PeerURL string        `json:"peer_url"`
	Timeout time.Duration `json:"timeout"`
}

// Op returns the name in JSON.
func (DefragmentEtcd) Op() string { return "defragment_etcd" }

// Summary returns one line for the progress display.
func (o DefragmentEtcd) Summary() string { return "defragment etcd member " + o.Name }

// MoveEtcdLeader hands leadership over before the member on the step's node stops, when it
// leads. A leader that stops hands over too, but to the member that it has been connected
// to for the longest time: in a plan which restarts one after the other, to the one that
// restarts next (etcd 3.6, server/etcdserver: longestConnected). Each time etcd may drop a
// write. Where nobody can take it over, or etcd does not answer, nothing is done.
type MoveEtcdLeader struct {
	Name    string `json:"name"`
	PeerURL string `json:"peer_url"`
	// To are the peer URLs of those that are to lead, the best first; where none of them is
	// healthy, any other voter is.
	To []string `json:"to"`
}

// Op returns the name in JSON.
func (MoveEtcdLeader) Op() string { return "move_etcd_leader" }

// Summary returns one line for the progress display.
func (o MoveEtcdLeader) Summary() string { return "transfer etcd leadership from " + o.Name }

// DisarmEtcd takes back an alarm of all members. Done when no member has it. It
// fails when etcd raises it again.
type DisarmEtcd struct {
	Alarm string `json:"alarm"`
}

// Op returns the name in JSON.
func (DisarmEtcd) Op() string { return "disarm_etcd" }

// Summary returns one line for the progress display.
func (o DisarmEtcd) Summary() string { return "disarm alarm " + o.Alarm + " of etcd" }

// Operations on the data of a stacked member, on the step's own host. The member
// has to have stopped, which they wait for.
type (
	// SetAsideEtcd gives the data of a member another name in its folder, so that
	// nothing of it is lost. Done when there is no data.
	SetAsideEtcd struct {
		DataDir string `json:"data_dir"`
		// As is the name that the folder member gets.
		As string `json:"as"`
	}

	// RestoreEtcd makes the data of the only member of a new cluster of a snapshot
	// of the operator's, with a revision beyond any that a client has seen (etcd:
	// disaster recovery, "Restoring with revision bump"). Data that is there is set
	// aside. Done when there is data and the host remembers that it was made of this
	// snapshot.
	RestoreEtcd struct {
		// Artifact is the file in the operator's folder, SHA256 its digest.
		Artifact string `json:"artifact"`
		SHA256   string `json:"sha256"`
		DataDir  string `json:"data_dir"`
		As       string `json:"as"`
		Name     string `json:"name"`
		PeerURL  string `json:"peer_url"`
		// Image is etcd's, Socket the runtime's that has it.
		Image  string `json:"image"`
		Socket string `json:"socket"`
	}
)

// RestoredMark is the file on a host that remembers, while a restore goes on,
// of which snapshot its etcd was made: the hex SHA-256.
const RestoredMark = "/var/lib/kubewright/etcd-restored"

// RestoredData is the file within the data of a member that was made of a snapshot,
// which says of which, in the same form. It goes where the data goes: an etcd that
// a member founds by itself, when its disk was lost, has none.
const RestoredData = "kubewright-restored"

// Op returns the name in JSON.
func (SetAsideEtcd) Op() string { return "set_aside_etcd" }

// Summary returns one line for the progress display.
func (o SetAsideEtcd) Summary() string { return "set etcd's data aside as " + o.As }

// Op returns the name in JSON.
func (RestoreEtcd) Op() string { return "restore_etcd" }

// Summary returns one line for the progress display.
func (o RestoreEtcd) Summary() string { return "restore etcd from " + o.Artifact }
