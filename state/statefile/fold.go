package statefile

import (
	"fmt"
	"maps"
	"slices"

	"github.com/kubewright/kubewright/state"
)

// maxApplies is the maximum length of a state's history.
const maxApplies = 50

// Fold applies the entries of a journal to a state and returns the result. It does not change st,
// which may be nil, as before the first apply. Folding entries that a state already contains
// changes nothing. Fold fails with ErrForeign when the entries are of another lineage.
func Fold(st *state.State, entries []state.Entry) (*state.State, error) {
	f := newFolder(st)
	for _, e := range entries[contained(st, entries):] {
		if err := f.apply(e); err != nil {
			return nil, err
		}
	}
	return f.finish(), nil
}

// contained returns how many of the entries a state contains. A state is written with the whole
// journal, which is emptied next: a state that knows a run contains all of its entries, and
// beyond these an observation of the hosts.
func contained(st *state.State, entries []state.Entry) int {
	n, known := 0, false
	for i, e := range entries {
		if e.Kind == state.EntryRun {
			known = st != nil && slices.ContainsFunc(st.Applies, func(a state.Apply) bool { return a.Run == e.Run })
		}
		if known {
			n = i + 1
		}
	}
	return n
}

// folder is a state during a fold, with its items by address.
type folder struct {
	state state.State
	items map[string]state.Item
	// done are the completed steps of the last run; partial reports whether that run does not
	// cover its whole plan.
	done    map[string]bool
	partial bool
}

func newFolder(st *state.State) *folder {
	f := &folder{state: state.State{FormatVersion: state.FormatVersion}, items: map[string]state.Item{}, done: map[string]bool{}}
	if st != nil {
		f.state = *st
	}
	f.state.Clusters = orEmpty(maps.Clone(f.state.Clusters))
	f.state.Nodes = orEmpty(maps.Clone(f.state.Nodes))
	f.state.Durations = orEmpty(maps.Clone(f.state.Durations))
	f.state.Applies, f.state.Unseen = slices.Clone(f.state.Applies), slices.Clone(f.state.Unseen)
	for i := range f.state.Applies {
		f.state.Applies[i].Begun = slices.Clone(f.state.Applies[i].Begun)
	}
	for _, item := range f.state.Items {
		f.items[item.Address.String()] = item
	}
	return f
}

func orEmpty[M ~map[K]V, K comparable, V any](m M) M {
	if m == nil {
		return M{}
	}
	return m
}

func (f *folder) apply(e state.Entry) error {
	switch e.Kind {
	case state.EntryRun:
		if err := f.run(e); err != nil {
			return err
		}
		f.learn(e.Learned)
	case state.EntryBegin:
		// The owner of a host has to be recorded before its first change.
		f.learn(e.Learned)
		f.begun(e.Step)
	case state.EntryDone:
		if e.Op == nil && e.Phase != "" {
			f.state.Durations[state.DurationKey(e.Phase, e.Action)] = e.Seconds
			f.worked(e)
			f.closed(e.Step)
		}
		f.learn(e.Learned)
	case state.EntryFailed:
		f.learn(e.Learned)
		f.worked(e)
		f.failed(e)
	}
	return nil
}

// last returns the history's entry of the current run; nil before the first run.
func (f *folder) last() *state.Apply {
	if n := len(f.state.Applies); n > 0 {
		return &f.state.Applies[n-1]
	}
	return nil
}

// begun records a step that may have been done in part.
func (f *folder) begun(step string) {
	if i, found := slices.BinarySearch(f.state.Unseen, step); !found && step != "" {
		f.state.Unseen = slices.Insert(f.state.Unseen, i, step)
	}
	a := f.last()
	if a == nil || !a.Unfinished || step == "" {
		return
	}
	if i, found := slices.BinarySearch(a.Begun, step); !found {
		a.Begun = slices.Insert(a.Begun, i, step)
	}
}

// closed records a completed step; with the last one the plan is completed.
func (f *folder) closed(step string) {
	f.begun(step)
	f.done[step] = true
	a := f.last()
	if a != nil && a.Unfinished {
		a.Done = len(f.done)
	}
	if a == nil || !a.Unfinished || f.partial || len(f.done) < a.Steps {
		return
	}
	a.Finish()
	f.forgetBegun()
}

// worked records that the run was at work when a step ended.
func (f *folder) worked(e state.Entry) {
	if a := f.last(); a != nil && !e.Time.IsZero() {
		a.Ended = e.Time
	}
}

// failed records a failed step. A step that was refused because of a foreign change counts as not
// begun, even if it did something before: a run that continues the plan has to detect that
// change, and must not take it for the step's own.
func (f *folder) failed(e state.Entry) {
	if e.Refused {
		f.see(e.Step)
	}
	a := f.last()
	if a == nil {
		return
	}
	a.Failed++
	if i, found := slices.BinarySearch(a.Begun, e.Step); found && e.Refused {
		a.Begun = slices.Delete(a.Begun, i, i+1)
	}
}

// forgetBegun drops the begun steps of plans that are not continued any more.
func (f *folder) forgetBegun() {
	for i := range f.state.Applies {
		f.state.Applies[i].Begun = nil
	}
}

// run opens a run. A run that the state already knows is replaced.
func (f *folder) run(e state.Entry) error {
	if f.state.Lineage == "" {
		f.state.Lineage = e.Lineage
	}
	if e.Lineage != "" && e.Lineage != f.state.Lineage {
		return &Error{
			Op: "fold journal", Path: fmt.Sprintf("of run %s", e.Run), Kind: ErrForeign,
			Problem: fmt.Sprintf("it is of lineage %s, the state of %s", e.Lineage, f.state.Lineage),
			Remedy:  "put back the state that it belongs to, or move the journal away and plan: the hosts are observed again",
		}
	}
	f.state.RunToken = state.LaterRun(f.state.RunToken, e.Token)
	a := state.Apply{Time: e.Time, Run: e.Run, Plan: e.Plan, Serial: e.Serial, Who: e.Who, Job: e.Job, Steps: e.Steps, Partial: e.Partial, Unfinished: true, Left: f.state.HaveLeft()}
	if last := f.last(); last != nil {
		last.Left = nil
	}
	before := slices.IndexFunc(f.state.Applies, func(a state.Apply) bool { return a.Run == e.Resumes })
	if e.Resumes != "" && before >= 0 {
		a.Serial, a.Begun = f.state.Applies[before].Serial, slices.Clone(f.state.Applies[before].Begun)
	} else {
		f.forgetBegun()
	}
	f.done, f.partial = map[string]bool{}, e.Partial
	f.state.Applies = slices.DeleteFunc(f.state.Applies, func(a state.Apply) bool { return a.Run == e.Run })
	f.state.Applies = append(f.state.Applies, a)
	f.state.Applies = f.state.Applies[max(0, len(f.state.Applies)-maxApplies):]
	return nil
}

func (f *folder) learn(l state.Learned) {
	for _, m := range l.Moved {
		f.move(m)
	}
	for _, target := range l.Left {
		f.leave(target)
	}
	for _, address := range l.Gone {
		delete(f.items, address.String())
	}
	for _, item := range l.Items {
		item.Origin = nil // the origin of a value comes from the configuration
		f.items[item.Address.String()] = item
	}
	maps.Copy(f.state.Clusters, l.Clusters)
	maps.Copy(f.state.Nodes, l.Nodes)
	for _, step := range l.Seen {
		f.see(step)
	}
}

// see removes a step from those that are not confirmed as done.
func (f *folder) see(step string) {
	if i, found := slices.BinarySearch(f.state.Unseen, step); found {
		f.state.Unseen = slices.Delete(f.state.Unseen, i, i+1)
	}
}

// move renames a target in everything recorded. If nothing is recorded under the old name, it was
// moved before.
func (f *folder) move(m state.Moved) {
	for key, item := range f.items {
		if to := m.Of(item.Address.Target); to != item.Address.Target {
			delete(f.items, key)
			item.Address.Target = to
			f.items[item.Address.String()] = item
		}
	}
	renamed(f.state.Unseen, m)
	for i := range f.state.Applies {
		renamed(f.state.Applies[i].Begun, m)
	}
	if n, ok := f.state.Nodes[m.From]; ok {
		delete(f.state.Nodes, m.From)
		f.state.Nodes[m.To] = n
	}
	if c, ok := f.state.Clusters[m.From.Name]; ok && m.From.Type == state.TypeCluster {
		delete(f.state.Clusters, m.From.Name)
		f.state.Clusters[m.To.Name] = c
		for t, n := range f.state.Nodes {
			if n.Cluster == m.From.Name {
				renamed := *n
				renamed.Cluster = m.To.Name
				f.state.Nodes[t] = &renamed
			}
		}
	}
}

// renamed renames a target in sorted step addresses.
func renamed(steps []string, m state.Moved) {
	for i, text := range steps {
		if a, err := state.ParseAddress(text); err == nil {
			a.Target = m.Of(a.Target)
			steps[i] = a.String()
		}
	}
	slices.Sort(steps)
}

// leave drops a target; the addons of a cluster are dropped with it.
func (f *folder) leave(t state.Target) {
	of := func(a state.Address) bool {
		return a.Target == t || t.Type == state.TypeCluster && a.Target.Type == state.TypeAddon && a.Target.Name == t.Name
	}
	maps.DeleteFunc(f.items, func(_ string, item state.Item) bool { return of(item.Address) })
	f.state.Unseen = slices.DeleteFunc(f.state.Unseen, func(step string) bool {
		a, err := state.ParseAddress(step)
		return err == nil && of(a)
	})
	if a := f.last(); a != nil && !slices.Contains(a.Left, t) {
		a.Left = append(slices.Clip(a.Left), t)
	}
	switch t.Type {
	case state.TypeCluster:
		delete(f.state.Clusters, t.Name)
	case state.TypeNode:
		delete(f.state.Nodes, t)
	}
}

func (f *folder) finish() *state.State {
	f.state.Items = make([]state.Item, 0, len(f.items))
	for _, address := range slices.Sorted(maps.Keys(f.items)) {
		f.state.Items = append(f.state.Items, f.items[address])
	}
	return &f.state
}
