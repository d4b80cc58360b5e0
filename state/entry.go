package state

import "time"

// EntryKind says what a line of the journal records.
type EntryKind string

// The kinds of a journal entry.
const (
	// EntryRun opens a run: run, token, lineage, serial, plan and steps are set;
	// what the plan moves and forgets is in Learned.
	EntryRun EntryKind = "run"
	// EntryBegin stands before operations are performed: step, op and count are set.
	EntryBegin EntryKind = "begin"
	// EntryDone stands behind operations (op and count are set), or closes a step (op is nil).
	EntryDone EntryKind = "done"
	// EntryFailed closes a step that failed; what it changed before is in Learned.
	EntryFailed EntryKind = "failed"
)

// Entry is one line of the journal. It never holds a secret. A begin without
// its done tells where to look, never what is true: only the host knows that.
type Entry struct {
	// N counts from 1 without a gap; the journal sets it.
	N    int64     `json:"n"`
	Time time.Time `json:"time"`
	Kind EntryKind `json:"event"`
	// Format is the number of the journal's format; the journal sets it on EntryRun.
	Format int `json:"format_version,omitempty"`
	// Run, Token, Lineage, Serial, Plan, Resumes, Partial, Who and Steps are set by EntryRun.
	Run     string `json:"run,omitempty"`
	Token   int64  `json:"token,omitempty"`
	Lineage string `json:"lineage,omitempty"`
	// Serial is that of the state file which the run began with.
	Serial int64 `json:"serial,omitempty"`
	// Plan is the plan's digest.
	Plan string `json:"plan,omitempty"`
	// Resumes is the run whose plan this one goes on with; Partial reports whether it has to
	// leave a part of that for yet another one.
	Resumes string `json:"resumes,omitempty"`
	Partial bool   `json:"partial,omitempty"`
	Who     string `json:"who,omitempty"`
	Steps   int    `json:"steps,omitempty"`
	// Step is the ID of a step.
	Step string `json:"step,omitempty"`
	// Op is the index of the first operation referred to; nil for the whole step.
	Op *int `json:"op,omitempty"`
	// Count is the number of operations that travel together; 0 stands for one.
	Count int `json:"count,omitempty"`
	// Observed is the digest of what was seen behind an operation.
	Observed string `json:"observed,omitempty"`
	// Phase, Action and Seconds are set when a step is closed.
	Phase   string  `json:"phase,omitempty"`
	Action  string  `json:"action,omitempty"`
	Seconds float64 `json:"seconds,omitempty"`
	Error   string  `json:"error,omitempty"`
	// Refused tells of a step that failed because what it was about to overwrite is not
	// as it was when the plan was made.
	Refused bool `json:"refused,omitempty"`
	// Learned is what the state is to remember from here on.
	Learned Learned `json:"learned,omitzero"`
}

// Learned is what a step taught about the world: what the state remembers of it.
type Learned struct {
	// Items are those observed after the step; each replaces the one with its address.
	Items []Item `json:"items,omitempty"`
	// Gone are addresses of items that were observed to be absent, or are no longer ours.
	Gone []Address `json:"gone,omitempty"`
	// Clusters and Nodes are identities, by the cluster's label and the node's target.
	Clusters map[string]*RecordedCluster `json:"clusters,omitempty"`
	Nodes    map[Target]*RecordedNode    `json:"nodes,omitempty"`
	// Moved are targets that have another name from here on; it comes before
	// everything else, which has the new names.
	Moved []Moved `json:"moved,omitempty"`
	// Left are targets that are no more: everything recorded of them goes.
	Left []Target `json:"left,omitempty"`
	// Seen are steps, as addresses, that were seen to be done: whatever they change is as
	// it is wanted.
	Seen []string `json:"seen,omitempty"`
}

// IsZero reports whether nothing was learnt that is to be remembered by itself.
func (l Learned) IsZero() bool {
	return len(l.Items)+len(l.Gone)+len(l.Clusters)+len(l.Nodes)+len(l.Left)+len(l.Moved)+len(l.Seen) == 0
}

// DurationKey returns the key of State.Durations for a phase and an action: control-plane/update.
func DurationKey(phase, action string) string { return phase + "/" + action }
