package state

import "slices"

// A run token numbers the runs that change something. Hosts refuse a run whose token is below the
// highest one they have seen, so of two runs with copies of one state only the later one acts.
// The next token follows from the recorded state and from the hosts' reports; a host can report
// any number. How far hosts are trusted is decided here and nowhere else.

// MaxRunToken is the highest valid run token. It has 15 digits: every shell, jq and JavaScript
// calculates with it exactly. Real runs never reach a higher number.
const MaxRunToken int64 = 999_999_999_999_999

// RunWindow is how many runs a worker may be ahead of everything else that is known. An
// interrupted run on another machine leaves a host one ahead, so a real worker stays far below
// it. A compromised one can use up RunWindow numbers per run, so it takes a trillion runs to get
// to MaxRunToken.
const RunWindow int64 = 1000

// CountableRun reports whether a run token is in the range that runs count through.
func CountableRun(token int64) bool { return token >= 0 && token <= MaxRunToken }

// LaterRun returns the higher of two run tokens. A token that is not countable gives way to the
// other, so a state that has recorded such a number recovers with the next run.
func LaterRun(recorded, next int64) int64 {
	if !CountableRun(recorded) {
		return max(next, 0)
	}
	if !CountableRun(next) {
		return recorded
	}
	return max(recorded, next)
}

// SeenRun is the run token that one host reports.
type SeenRun struct {
	Target       Target
	ControlPlane bool
	Token        int64
}

// Runs is the evaluation of the run tokens of a state and its hosts.
type Runs struct {
	// Next is the token of the next run.
	Next int64
	// Older are the hosts that prove the state to be older than the last run: they have seen run
	// Seen, which the state does not know. Seen is zero if there are none.
	Older []SeenRun
	Seen  int64
	// Interrupted reports whether the only run that the state lacks is an interrupted one: the
	// cluster still has its lease.
	Interrupted bool
	// Ahead are workers that are ahead of everything else, within RunWindow. Their tokens count.
	Ahead []SeenRun
	// Void are hosts whose token does not count. The next run replaces it when it changes the
	// host.
	Void []SeenRun
}

// WeighRuns chooses the token of the next run. recorded is the state's token, leased the one in
// the lease that a run of the same state has on a cluster, or zero; seen are the hosts that
// belong to the state.
//
// A token above the state's has two explanations: the state is older than the last run, or the
// host reports a wrong number. A control plane is trusted, because control of it is control of
// the cluster; workers are trusted when more than half of all hosts agree. A single worker counts
// up to RunWindow and proves nothing.
func WeighRuns(recorded, leased int64, seen []SeenRun) Runs {
	var r Runs
	known := CountableRun(recorded)
	vouched := VouchedRun(seen)
	base := max(vouched, 0)
	if known {
		base = max(recorded, vouched)
	}
	r.Next = base
	for _, s := range seen {
		switch {
		case !CountableRun(s.Token), s.Token-base > RunWindow:
			r.Void = append(r.Void, s)
		case s.Token > base:
			r.Ahead = append(r.Ahead, s)
			r.Next = max(r.Next, s.Token)
		case known && s.Token > recorded:
			r.Older = append(r.Older, s)
			r.Seen = vouched
		}
	}
	r.Interrupted = len(r.Older) > 0 && r.Seen == recorded+1 && leased == r.Seen
	r.Next++
	return r
}

// VouchedRun returns the highest countable token that a control plane, or more than half of the
// hosts, have reached.
func VouchedRun(seen []SeenRun) int64 {
	var tokens []int64
	vouched := int64(0)
	for _, s := range seen {
		if !CountableRun(s.Token) {
			continue
		}
		tokens = append(tokens, s.Token)
		if s.ControlPlane {
			vouched = max(vouched, s.Token)
		}
	}
	slices.Sort(tokens)
	if most := len(seen)/2 + 1; len(tokens) >= most {
		vouched = max(vouched, tokens[len(tokens)-most])
	}
	return vouched
}
