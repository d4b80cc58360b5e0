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
	CA string `json:"ca,omitempty"`
	// CACertificate is what clients have to trust: the certificate of the CA as PEM, with others
	// while it is rotated.
	CACertificate string `json:"ca_certificate,omitempty"`
	EtcdClusterID string `json:"etcd_cluster_id,omitempty"`
	Version       string `json:"version,omitempty"`
	// Fixed are the settings that cannot change during the life of the cluster, by their names in
	// its block, such as network.pod_subnet.
	Fixed map[string]string `json:"fixed,omitempty"`
	// PreventDestroy reports whether the cluster is protected, even if its block no longer says
	// so.
	PreventDestroy bool `json:"prevent_destroy,omitempty"`
	// Resetting reports whether a destroy has begun to reset a control plane since the API was
	// observed last: nothing is left to save of its etcd.
	Resetting bool `json:"resetting,omitempty"`
}

// Equal reports whether both record the same.
func (c RecordedCluster) Equal(o RecordedCluster) bool {
	return c.CA == o.CA && c.CACertificate == o.CACertificate && c.EtcdClusterID == o.EtcdClusterID && c.Version == o.Version &&
		c.PreventDestroy == o.PreventDestroy && c.Resetting == o.Resetting && maps.Equal(c.Fixed, o.Fixed)
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
	// Job says what was carried out. Entries of older versions lack it, and Done and Ended.
	Job Job `json:"job,omitzero"`
	// Steps is 0 for a refresh-only apply. Done counts those that were completed.
	Steps  int `json:"steps"`
	Done   int `json:"done,omitempty"`
	Failed int `json:"failed,omitempty"`
	// Ended is when the last step ended: for an interrupted run the last moment at which it is
	// known to have worked.
	Ended time.Time `json:"ended,omitzero"`
	// Partial reports whether the run left a part of its plan for a later one.
	Partial bool `json:"partial,omitempty"`
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

// Job is what a run carries out, for the history.
type Job struct {
	// Operation is the command with what makes it special: apply, destroy, drain w1, apply
	// -replace=cluster.prod/ca. At most MaxOperation bytes are kept.
	Operation   string `json:"operation,omitempty"`
	ToolVersion string `json:"tool_version,omitempty"`
	// Commit is the git commit of the configuration, if known.
	Commit string `json:"commit,omitempty"`
	// Add, Change and Destroy count the resources of the plan.
	Add     int `json:"add,omitempty"`
	Change  int `json:"change,omitempty"`
	Destroy int `json:"destroy,omitempty"`
	// Restricted reports whether the plan left something of the configuration alone: by -target and
	// the like, because hosts did not answer, or because another command than apply made it.
	Restricted bool `json:"restricted,omitempty"`
	// Observed is a moment before the observation that the plan rests on. A difference that no
	// unrestricted apply since has mended arose later.
	Observed time.Time `json:"observed,omitzero"`
}

// MaxOperation limits the length of Job.Operation in bytes.
const MaxOperation = 200

// Outcome is how an apply ended.
type Outcome string

// The outcomes of an apply.
const (
	// OutcomeCompleted: all steps of the plan are done.
	OutcomeCompleted Outcome = "completed"
	// OutcomePartial: what the run could do is done, and the rest of the plan is left for another.
	OutcomePartial Outcome = "partial"
	// OutcomeFailed: at least one step failed.
	OutcomeFailed Outcome = "failed"
	// OutcomeInterrupted: the run ended before all steps were done, and none failed.
	OutcomeInterrupted Outcome = "interrupted"
)

// Outcome returns how the apply ended.
func (a Apply) Outcome() Outcome {
	switch {
	case !a.Unfinished:
		return OutcomeCompleted
	case a.Failed > 0:
		return OutcomeFailed
	case a.Partial && a.Done >= a.Steps:
		return OutcomePartial
	}
	return OutcomeInterrupted
}

// Matched returns a moment at which everything was as configured, or was made so by the apply that
// had begun then: a difference that is observed now arose later. It is zero if no such apply is
// recorded.
func (s *State) Matched() time.Time {
	if s == nil {
		return time.Time{}
	}
	for _, a := range slices.Backward(s.Applies) {
		if a.Outcome() == OutcomeCompleted && a.Steps > 0 && !a.Job.Restricted {
			return a.Job.Observed
		}
	}
	return time.Time{}
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
