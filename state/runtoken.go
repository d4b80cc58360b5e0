package state

import "slices"

// A run token numbers the runs that change something. Hosts refuse a run whose token is
// below the highest one they have seen, so that of two runs with copies of one state only
// the later one acts. The next token follows from what the state has recorded and from
// what hosts report; a host can report any number. How far hosts are believed is decided
// here and nowhere else.

// MaxRunToken is the highest run token that counts. It has 15 digits: every shell, jq and
// JavaScript calculates with it exactly. A number above it was not counted up to by runs.
const MaxRunToken int64 = 999_999_999_999_999

// RunWindow is how many runs a worker may be ahead of everything else that is known. A run
// that was cut short on another machine leaves a host one ahead, so a real worker stays
// far below it. A compromised one can use up RunWindow numbers a run, which takes a
// trillion runs to get to MaxRunToken.
const RunWindow int64 = 1000

// CountableRun reports whether a run token is a number that runs count up to.
func CountableRun(token int64) bool { return token >= 0 && token <= MaxRunToken }

// LaterRun returns the higher of two run tokens. One that is not countable gives way to
// the other, so that a state which has taken over such a number recovers with the next run.
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

// Runs is what the run tokens of a state and its hosts amount to.
type Runs struct {
	// Next is the token of the next run.
	Next int64
	// Older are the hosts that prove the state to be older than the last run: they have
	// seen run Seen, which the state does not know. Without any, Seen is zero.
	Older []SeenRun
	Seen  int64
	// CutShort reports that the only run which the state lacks is one that did not come
	// to its end: the cluster still has its lease.
	CutShort bool
	// Ahead are workers that are ahead of everything else, within RunWindow. Their
	// tokens count.
	Ahead []SeenRun
	// Void are hosts whose token does not count. The next run replaces it when it
	// changes the host.
	Void []SeenRun
}

// WeighRuns chooses the token of the next run. recorded is the state's, leased that of the
// lease which a cluster has for a run of the same state, or zero; seen are the hosts that
// belong to the state.
//
// A higher token than the state's has two explanations: the state is older than the last
// run, or the host reports what is not true. A control plane is believed, because whoever
// has one has the cluster; so are workers when more than half of all hosts agree. A worker
// by itself is counted up to RunWindow and proves nothing.
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
	r.CutShort = len(r.Older) > 0 && r.Seen == recorded+1 && leased == r.Seen
	r.Next++
	return r
}

// VouchedRun returns the highest countable token that a control plane, or more than half
// of the hosts, have reached.
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
