package state

import "time"

// EntryKind is the kind of event that a journal entry records.
type EntryKind string

// The kinds of a journal entry.
const (
	// EntryRun opens a run: run, token, lineage, serial, plan and steps are set; Learned holds
	// what the plan moves and forgets.
	EntryRun EntryKind = "run"
	// EntryBegin is written before operations are performed: step, op and count are set.
	EntryBegin EntryKind = "begin"
	// EntryDone is written after operations (op and count are set), or closes a step (op is nil).
	EntryDone EntryKind = "done"
	// EntryFailed closes a failed step; Learned holds what it changed before it failed.
	EntryFailed EntryKind = "failed"
)

// Entry is one line of the journal. It never holds a secret. A begin without its done only says
// where to look: the host alone knows what was done.
type Entry struct {
	// N counts from 1 without a gap; the journal sets it.
	N    int64     `json:"n"`
	Time time.Time `json:"time"`
	Kind EntryKind `json:"event"`
	// Format is the number of the journal's format; the journal sets it on EntryRun.
	Format int `json:"format_version,omitempty"`
	// Run, Token, Lineage, Serial, Plan, Resumes, Partial, Who, Steps and Job are set by EntryRun.
	Run     string `json:"run,omitempty"`
	Token   int64  `json:"token,omitempty"`
	Lineage string `json:"lineage,omitempty"`
	// Serial is the serial of the state file that the run began with.
	Serial int64 `json:"serial,omitempty"`
	// Plan is the plan's digest.
	Plan string `json:"plan,omitempty"`
	// Resumes is the run whose plan this one continues; Partial reports whether it leaves a part
	// of that plan for a later run.
	Resumes string `json:"resumes,omitempty"`
	Partial bool   `json:"partial,omitempty"`
	Who     string `json:"who,omitempty"`
	Steps   int    `json:"steps,omitempty"`
	Job     Job    `json:"job,omitzero"`
	// Step is the ID of a step.
	Step string `json:"step,omitempty"`
	// Op is the index of the first operation referred to; nil for the whole step.
	Op *int `json:"op,omitempty"`
	// Count is the number of operations that are performed together; 0 stands for one.
	Count int `json:"count,omitempty"`
	// Observed is the digest of the observation after an operation.
	Observed string `json:"observed,omitempty"`
	// Phase, Action and Seconds are set when a step is closed.
	Phase   string  `json:"phase,omitempty"`
	Action  string  `json:"action,omitempty"`
	Seconds float64 `json:"seconds,omitempty"`
	Error   string  `json:"error,omitempty"`
	// Refused reports whether the step failed because the thing that it was about to overwrite
	// has changed since the plan was made.
	Refused bool `json:"refused,omitempty"`
	// Learned is what the state records from now on.
	Learned Learned `json:"learned,omitzero"`
}

// Learned is the result of a step that the state records.
type Learned struct {
	// Items are the items observed after the step; each replaces the one with its address.
	Items []Item `json:"items,omitempty"`
	// Gone are the addresses of items that were observed to be absent, or that kubewright no
	// longer owns.
	Gone []Address `json:"gone,omitempty"`
	// Clusters and Nodes are identities, by the cluster's label and the node's target.
	Clusters map[string]*RecordedCluster `json:"clusters,omitempty"`
	Nodes    map[Target]*RecordedNode    `json:"nodes,omitempty"`
	// Moved are renamed targets. It applies before everything else, which uses the new names.
	Moved []Moved `json:"moved,omitempty"`
	// Left are removed targets: everything recorded for them is dropped.
	Left []Target `json:"left,omitempty"`
	// Seen are the addresses of steps that were confirmed as done: whatever they change is as
	// desired.
	Seen []string `json:"seen,omitempty"`
}

// IsZero reports whether there is nothing to record.
func (l Learned) IsZero() bool {
	return len(l.Items)+len(l.Gone)+len(l.Clusters)+len(l.Nodes)+len(l.Left)+len(l.Moved)+len(l.Seen) == 0
}

// DurationKey returns the key of State.Durations for a phase and an action: control-plane/update.
func DurationKey(phase, action string) string { return phase + "/" + action }
