package state

import (
	"maps"
	"slices"
	"time"
)

// FormatVersion is the number of the state format that this version writes.
const FormatVersion = 1

// State is the content of the state file: what kubewright owns and has recorded. Its only secret
// is FingerprintKey.
type State struct {
	FormatVersion int    `json:"format_version"`
	Lineage       string `json:"lineage"`
	// FingerprintKey keys the fingerprints of secrets, and authenticates saved plans; see Key. It
	// is the hex of 32 random bytes, created with the lineage and never shown.
	FingerprintKey string `json:"fingerprint_key,omitempty"`
	Serial         int64  `json:"serial"`
	ToolVersion    string `json:"tool_version"`
	// RunToken is the token of the last run that changed something.
	RunToken int64                       `json:"run_token"`
	Clusters map[string]*RecordedCluster `json:"clusters,omitempty"`
	Nodes    map[Target]*RecordedNode    `json:"nodes,omitempty"`
	// Items are the items that kubewright owns, sorted by address.
	Items   []Item           `json:"items,omitempty"`
	Outputs map[string]Value `json:"outputs,omitempty"`
	// Durations holds the seconds of the last successful step per phase and action, for
	// estimates.
	Durations map[string]float64 `json:"durations,omitempty"`
	Applies   []Apply            `json:"applies,omitempty"`
	// Unseen are steps, as sorted addresses, that were begun and not confirmed as done: the
	// operator's machine stopped, or a host became unreachable before the observation of all
	// hosts that ends an apply. What they change may have changed already, and does not count as
	// drift.
	Unseen []string `json:"unseen,omitempty"`
}

// RecordedCluster is the identity of a cluster.
type RecordedCluster struct {
	// CA is the KeyDigest of the cluster's CA.
	CA            string `json:"ca,omitempty"`
	EtcdClusterID string `json:"etcd_cluster_id,omitempty"`
	Version       string `json:"version,omitempty"`
	// Fixed are the settings that cannot change during the life of the cluster, by their names in
	// its block, such as network.pod_subnet.
	Fixed map[string]string `json:"fixed,omitempty"`
	// PreventDestroy reports whether the cluster is protected, even if its block no longer says
	// so.
	PreventDestroy bool `json:"prevent_destroy,omitempty"`
}

// Equal reports whether both record the same.
func (c RecordedCluster) Equal(o RecordedCluster) bool {
	return c.CA == o.CA && c.EtcdClusterID == o.EtcdClusterID && c.Version == o.Version &&
		c.PreventDestroy == o.PreventDestroy && maps.Equal(c.Fixed, o.Fixed)
}

// RecordedNode is the record of a node, enough to reach it and to remove it from its cluster when
// its block is gone. It holds no credentials.
type RecordedNode struct {
	Cluster string `json:"cluster"`
	// Role is control-plane or worker.
	Role string `json:"role"`
	// Name is the Kubernetes node name, fixed once recorded.
	Name      string `json:"name"`
	Address   string `json:"address"`
	MachineID string `json:"machine_id,omitempty"`
	HostKey   string `json:"host_key,omitempty"`
	// HopKeys are the keys of the jump hosts on the way, by the ways to them.
	HopKeys map[string]string `json:"hop_keys,omitempty"`
	// Connection describes how the node was reached: type, host, port, user and the paths of
	// keys, never their content.
	Connection Value `json:"connection"`
	// Programs are the host's programs at the last observation.
	Programs Programs `json:"programs,omitzero"`
	// Adopted is set for a node that was not created by kubewright.
	Adopted *Adoption `json:"adopted,omitempty"`
	// PreventDestroy reports whether the node is protected, even if its block no longer says so.
	PreventDestroy bool `json:"prevent_destroy,omitempty"`
}

// Equal reports whether both record the same.
func (n RecordedNode) Equal(o RecordedNode) bool {
	return n.Cluster == o.Cluster && n.Role == o.Role && n.Name == o.Name && n.Address == o.Address && n.MachineID == o.MachineID &&
		n.HostKey == o.HostKey && maps.Equal(n.HopKeys, o.HopKeys) && n.Connection.Equal(o.Connection) && n.Programs.Equal(o.Programs) &&
		n.Adopted.equal(o.Adopted) && n.PreventDestroy == o.PreventDestroy
}

// Adoption is the record of a node that existed before kubewright.
type Adoption struct {
	// Without are the items, as PHASE/CLASS:ID, that kubewright would have created on the node
	// and that it lacked when it was adopted: they do not count as missing.
	Without []string `json:"without,omitempty"`
}

func (a *Adoption) equal(o *Adoption) bool {
	return a == o || a != nil && o != nil && slices.Equal(a.Without, o.Without)
}

// Apply is one entry of the history.
type Apply struct {
	Time time.Time `json:"time"`
	Run  string    `json:"run"`
	// Plan is the plan's digest and Serial the serial of the state that it was made for: together
	// they identify a plan.
	Plan   string `json:"plan"`
	Serial int64  `json:"serial,omitempty"`
	Who    string `json:"who,omitempty"`
	// Steps is 0 for a refresh-only apply.
	Steps  int `json:"steps"`
	Failed int `json:"failed,omitempty"`
	// Unfinished reports whether the plan was not completed: only then does applying it again
	// continue it. Entries of older versions lack the field, so nothing is done twice because of
	// them.
	Unfinished bool `json:"unfinished,omitempty"`
	// Begun are the steps of an unfinished plan that were begun, in this run or in the runs that
	// it continues, as sorted addresses. What they change may have changed already.
	Begun []string `json:"begun,omitempty"`
	// Left are the targets that have left the state, with this apply or with earlier ones, since
	// the last completed apply whose state was written: the command that continues may still name
	// them.
	Left []Target `json:"left,omitempty"`
}

// Interrupted returns since when no apply was completed, if the last one has begun the step; zero
// otherwise. A refresh-only apply does nothing and does not count.
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

// HaveLeft returns the targets that have left with applies that were not completed or whose state
// was not written.
func (s *State) HaveLeft() []Target {
	if s == nil || len(s.Applies) == 0 {
		return nil
	}
	return s.Applies[len(s.Applies)-1].Left
}

// Finish records that the plan was completed.
func (a *Apply) Finish() { a.Unfinished, a.Begun = false, nil }

// Written records that the state is about to be written: the targets that have left with a
// completed apply are not needed any longer.
func (s *State) Written() {
	if n := len(s.Applies); n > 0 && !s.Applies[n-1].Unfinished {
		s.Applies[n-1].Left = nil
	}
}
