package state

import (
	"maps"
	"slices"
	"time"
)

// FormatVersion is the number of the state format that this program writes.
const FormatVersion = 1

// State is what the state file holds: what kubewright owns and remembers. It
// holds no secret but FingerprintKey.
type State struct {
	FormatVersion int    `json:"format_version"`
	Lineage       string `json:"lineage"`
	// FingerprintKey keys the fingerprints of secrets, and authenticates saved plans; see
	// Key. It is hex of 32 random bytes, made with the lineage and never shown.
	FingerprintKey string `json:"fingerprint_key,omitempty"`
	Serial         int64  `json:"serial"`
	ToolVersion    string `json:"tool_version"`
	// RunToken is the token of the last run that changed something.
	RunToken int64                       `json:"run_token"`
	Clusters map[string]*RecordedCluster `json:"clusters,omitempty"`
	Nodes    map[Target]*RecordedNode    `json:"nodes,omitempty"`
	// Items are what we own, sorted by address.
	Items   []Item           `json:"items,omitempty"`
	Outputs map[string]Value `json:"outputs,omitempty"`
	// Durations holds seconds per phase and action of the last successful step, for estimates.
	Durations map[string]float64 `json:"durations,omitempty"`
	Applies   []Apply            `json:"applies,omitempty"`
	// Unseen are steps, as sorted addresses, that were begun and that nobody has seen to
	// be done: the operator's machine stopped, or a host went off before the look at all
	// hosts that ends an apply. What they change may be changed, and is no change from outside.
	Unseen []string `json:"unseen,omitempty"`
}

// RecordedCluster is the identity of a cluster.
type RecordedCluster struct {
	// CA is the KeyDigest of the cluster's CA.
	CA            string `json:"ca,omitempty"`
	EtcdClusterID string `json:"etcd_cluster_id,omitempty"`
	Version       string `json:"version,omitempty"`
	// Fixed are the settings that the cluster keeps while it lives, by their names in
	// its block, such as network.pod_subnet.
	Fixed map[string]string `json:"fixed,omitempty"`
	// PreventDestroy reports whether the cluster is protected, whether its block still says so or not.
	PreventDestroy bool `json:"prevent_destroy,omitempty"`
}

// Equal reports whether both remember the same.
func (c RecordedCluster) Equal(o RecordedCluster) bool {
	return c.CA == o.CA && c.EtcdClusterID == o.EtcdClusterID && c.Version == o.Version &&
		c.PreventDestroy == o.PreventDestroy && maps.Equal(c.Fixed, o.Fixed)
}

// RecordedNode is what is remembered of a node, enough to reach it and to take
// it out of its cluster when its block is gone. It holds no credential.
type RecordedNode struct {
	Cluster string `json:"cluster"`
	// Role is control-plane or worker.
	Role string `json:"role"`
	// Name is the Kubernetes node name, fixed once recorded.
	Name      string `json:"name"`
	Address   string `json:"address"`
	MachineID string `json:"machine_id,omitempty"`
	HostKey   string `json:"host_key,omitempty"`
	// HopKeys are the keys of the hosts that are passed on the way, by the ways to them.
	HopKeys map[string]string `json:"hop_keys,omitempty"`
	// Connection is how the node was reached: type, host, port, user and the
	// paths of keys, never their content.
	Connection Value `json:"connection"`
	// Programs are the host's, as they were last seen.
	Programs Programs `json:"programs,omitzero"`
	// Adopted is set for a node that somebody else made.
	Adopted *Adoption `json:"adopted,omitempty"`
	// PreventDestroy reports whether the node is protected, whether its block still says so or not.
	PreventDestroy bool `json:"prevent_destroy,omitempty"`
}

// Equal reports whether both remember the same.
func (n RecordedNode) Equal(o RecordedNode) bool {
	return n.Cluster == o.Cluster && n.Role == o.Role && n.Name == o.Name && n.Address == o.Address && n.MachineID == o.MachineID &&
		n.HostKey == o.HostKey && maps.Equal(n.HopKeys, o.HopKeys) && n.Connection.Equal(o.Connection) && n.Programs.Equal(o.Programs) &&
		n.Adopted.equal(o.Adopted) && n.PreventDestroy == o.PreventDestroy
}

// Adoption is what is remembered of a node that was there before kubewright.
type Adoption struct {
	// Without are the items, as PHASE/CLASS:ID, that kubewright would have given the
	// node and that it did without when it was adopted: nothing is missing for it.
	Without []string `json:"without,omitempty"`
}

func (a *Adoption) equal(o *Adoption) bool {
	return a == o || a != nil && o != nil && slices.Equal(a.Without, o.Without)
}

// Apply is one entry of the history.
type Apply struct {
	Time time.Time `json:"time"`
	Run  string    `json:"run"`
	// Plan is the plan's digest and Serial that of the state which it was made for:
	// together they tell one plan from all others.
	Plan   string `json:"plan"`
	Serial int64  `json:"serial,omitempty"`
	Who    string `json:"who,omitempty"`
	// Steps are none of one that was refresh-only.
	Steps  int `json:"steps"`
	Failed int `json:"failed,omitempty"`
	// Unfinished reports whether the plan has not come to its end: only then does it go on
	// when it is applied again. Entries of versions that did not know this lack it, so
	// that nothing is done twice on the strength of them.
	Unfinished bool `json:"unfinished,omitempty"`
	// Begun are the steps of an unfinished plan that were begun, in this run or in those
	// that it goes on from, as sorted addresses. What they change may be changed already.
	Begun []string `json:"begun,omitempty"`
	// Left are the targets that have left the state, with this apply or with those before it,
	// since one came to its end and the state was written: the command that goes on may name
	// them still.
	Left []Target `json:"left,omitempty"`
}

// Interrupted is since when no apply has come to its end, where the last one has begun
// a step; zero otherwise. One that was refresh-only has done nothing, and does not count.
func (s *State) Interrupted(step Address) time.Time {
	var since time.Time
	for i := len(s.Applies) - 1; i >= 0; i-- {
		if s.Applies[i].Steps == 0 {
			continue
		}
		if !s.Applies[i].Unfinished {
			break
		}
		if since.IsZero() && !slices.Contains(s.Applies[i].Begun, step.String()) {
			break
		}
		since = s.Applies[i].Time
	}
	return since
}

// HaveLeft returns the targets that have left with applies that did not come to their end, or
// whose state was not written.
func (s *State) HaveLeft() []Target {
	if s == nil || len(s.Applies) == 0 {
		return nil
	}
	return s.Applies[len(s.Applies)-1].Left
}

// Finish notes that the plan has come to its end.
func (a *Apply) Finish() { a.Unfinished, a.Begun = false, nil }

// Written notes that the state is about to be written: who has left with an apply that came
// to its end needs no remembering then.
func (s *State) Written() {
	if n := len(s.Applies); n > 0 && !s.Applies[n-1].Unfinished {
		s.Applies[n-1].Left = nil
	}
}
