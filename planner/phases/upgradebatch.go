package phases

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// batch is workers that take their turns in an upgrade, so many at once. The
// next batch begins when all of them are well, and after the pause.
type batch struct {
	pool   *config.Pool
	canary bool
	nodes  []*node
	lanes  int
}

// pools are those of the configuration, and behind them one without a name: the
// workers that none selects.
func (c *cluster) pools() []*config.Pool {
	var out []*config.Pool
	for i := range c.Upgrade.Pools {
		out = append(out, &c.Upgrade.Pools[i])
	}
	return append(out, &config.Pool{Pace: c.Upgrade.Pace})
}

// members sorts workers into pools: each into the first that selects it.
func (c *cluster) members(pools []*config.Pool) map[*config.Pool][]*node {
	out := map[*config.Pool][]*node{}
	for _, n := range c.nodes {
		if n.isControlPlane() {
			continue
		}
		p := poolOf(pools, n)
		out[p] = append(out[p], n)
	}
	return out
}

// poolOf is the first that selects a worker; the last one selects all.
func poolOf(pools []*config.Pool, n *node) *config.Pool {
	return pools[slices.IndexFunc(pools, func(p *config.Pool) bool { return selects(p.Selector, n.labels()) })]
}

func selects(selector string, of labels.Set) bool {
	s, err := labels.Parse(selector)
	return err == nil && s.Matches(of) // validation has refused others
}

// labels are those that the Node has, and what the configuration says of them.
func (n *node) labels() labels.Set {
	out := labels.Set{}
	if n.cluster.report != nil {
		maps.Copy(out, n.cluster.report.Nodes[n.name].Labels)
	}
	maps.Copy(out, n.Labels)
	return out
}

// paced are the workers whose kubelets get another version, in batches: of each
// pool the canaries first. What an earlier apply has begun is ended before
// anything else, and canaries that have the version already are not asked for again.
func (c *cluster) paced() []batch {
	if c.up == nil {
		return nil
	}
	if c.up.batches == nil {
		pools := c.pools()
		members, turning := c.members(pools), c.turning(config.Worker)
		for _, p := range pools {
			c.up.batches = append(c.up.batches, c.paceOf(p, members[p], turning)...)
		}
	}
	return c.up.batches
}

func (c *cluster) paceOf(p *config.Pool, members, turning []*node) []batch {
	var out []batch
	lanes := max(atOnce(p.MaxUnavailable, len(members))-len(c.down(members)), 1)
	cut := func(nodes []*node, canary bool, size int) {
		for chunk := range slices.Chunk(nodes, max(size, 1)) {
			out = append(out, batch{pool: p, canary: canary, nodes: chunk, lanes: lanes})
		}
	}
	rest := slices.DeleteFunc(slices.Clone(turning), func(n *node) bool { return !slices.Contains(members, n) })
	slices.SortStableFunc(rest, func(a, b *node) int { return cmp.Compare(a.urgency(), b.urgency()) })
	canaries := p.Canary
	for _, n := range members {
		if running, ok := planner.ParseRelease(n.runningKubelet()); ok && running == c.up.want && !n.turns() {
			canaries--
		}
	}
	if p.Canary > 0 || p.Pause > 0 {
		held := slices.IndexFunc(append(slices.Clone(rest), nil), func(n *node) bool { return n == nil || !n.cordoned() })
		cut(rest[:held], canaries > 0, held)
		canaries, rest = canaries-held, rest[held:]
	}
	first := min(max(canaries, 0), len(rest))
	cut(rest[:first], true, first)
	if p.Pause > 0 {
		cut(rest[first:], false, lanes)
	} else {
		cut(rest[first:], false, len(rest))
	}
	return out
}

// urgency puts workers in order: first those that an earlier apply has cordoned, then
// those that are down, by which no other one goes down.
func (n *node) urgency() int {
	switch {
	case n.cordoned():
		return 0
	case n.isDown():
		return 1
	}
	return 2
}

// isDown tells that the node's Node is there and was seen to be not Ready.
func (n *node) isDown() bool {
	if n.cluster.report == nil {
		return false
	}
	seen, ok := n.cluster.report.Nodes[n.name]
	return ok && !seen.Ready
}

// down are workers that are down and whose turn does not come: they count as
// unavailable throughout. One that joins anew is none: its Node is of before.
func (c *cluster) down(members []*node) []*node {
	turning := c.turning(config.Worker)
	return slices.DeleteFunc(slices.Clone(members), func(n *node) bool { return !n.isDown() || n.joins() || slices.Contains(turning, n) })
}

// tooManyDown refuses to take workers down where as many as may be down are so already.
func (c *cluster) tooManyDown() diag.Diagnostics {
	var diags diag.Diagnostics
	pools, turning := c.pools(), c.turning(config.Worker)
	members := c.members(pools)
	for _, p := range pools {
		down := c.down(members[p])
		if len(down) < atOnce(p.MaxUnavailable, len(members[p])) || !slices.ContainsFunc(members[p], func(n *node) bool { return slices.Contains(turning, n) }) {
			continue
		}
		of, at := "", c.place("kubernetes_version")
		if p.Name != "" {
			of, at = fmt.Sprintf(" of pool %q", p.Name), p.Source
		}
		diags = append(diags, diag.Errorf("Workers are down already", "max_unavailable = %q%s: the Node of %s is not Ready, and no other worker may be down with it. "+
			"kubectl describe node shows what is wrong. Bring it back, take it out of the configuration, or raise max_unavailable.", p.MaxUnavailable, of, names(down)).At(at))
	}
	return diags
}

// atOnce is a number or percentage of nodes: of a percentage the whole ones, and
// one at least.
func atOnce(unavailable string, nodes int) int {
	percent, isPercent := strings.CutSuffix(unavailable, "%")
	n, err := strconv.Atoi(percent)
	if err != nil {
		return 1
	}
	if isPercent {
		n = n * nodes / 100
	}
	return max(n, 1)
}

// drainsAtOnce bounds drains: one, or in an upgrade as many as may be down.
func (c *cluster) drainsAtOnce() int {
	most := 1
	for _, b := range c.paced() {
		most = max(most, b.lanes)
	}
	return most
}

// batchOf is the place of a worker's batch; -1 when it has none.
func (c *cluster) batchOf(n *node) int {
	return slices.IndexFunc(c.paced(), func(b batch) bool { return slices.Contains(b.nodes, n) })
}

// pause is the step between the batch before a place and the one there.
func (c *cluster) pause(i int) state.Address {
	id := step(c.target, pausePhase)
	id.Waypoint = "batch-" + strconv.Itoa(i)
	return id
}

// pauseBehind is how long is waited when the worker's batch is done.
func (n *node) pauseBehind() time.Duration {
	if i := n.cluster.batchOf(n); i >= 0 && i+1 < len(n.cluster.paced()) {
		return n.cluster.paced()[i].pool.Pause
	}
	return 0
}

// pauses adds the steps between batches to the draft.
func (b *builder) pauses(c *cluster) {
	batches := c.paced()
	for i := range batches {
		var s planner.Step
		var needs []state.Address
		if i == 0 {
			s = c.pauseStep(c.resting())
			s.Impact = "waits for what is left of the pause in which an earlier apply was cut short"
		} else {
			before := batches[i-1]
			waits := map[*node]time.Duration{}
			for _, n := range before.nodes {
				waits[n] = before.pool.Pause
				needs = append(needs, step(n.target, kubeletStartPhase))
			}
			s = c.pauseStep(before.nodes, waits)
			s.Impact = fmt.Sprintf("waits until %s is Ready", names(before.nodes))
			if p := before.pool.Pause; p > 0 {
				s.Impact = fmt.Sprintf("waits %s, and until %s is Ready", brief(p), names(before.nodes))
			}
		}
		s.Action = planner.NoOp
		b.add(c.pause(i), s, needs)
	}
}

// pauseStep waits until the pause behind each node is over, and then for all of
// them to be Ready still.
func (c *cluster) pauseStep(nodes []*node, pauses map[*node]time.Duration) planner.Step {
	s := planner.Step{Via: c.seat}
	for _, n := range nodes {
		if p := pauses[n]; p > 0 {
			s.Operations = append(s.Operations, planner.Wait{For: planner.WaitPause, Name: n.name, Version: n.comingKubelet(), Pause: p, Timeout: p + c.Timeouts.KubernetesAPICall})
		}
	}
	for _, n := range nodes {
		s.Operations = append(s.Operations, n.waitTurned())
	}
	return s
}

// resting are workers that an earlier apply has let in again, for the pause
// behind which it did not live: of each pool the last. Where it has left a node
// cordoned, that one comes first.
func (c *cluster) resting() ([]*node, map[*node]time.Duration) {
	pools := c.pools()
	members := c.members(pools)
	var out []*node
	pauses := map[*node]time.Duration{}
	for _, p := range pools {
		var last *node
		for _, n := range members[p] {
			if n.cordoned() {
				return nil, nil
			}
			if n.upgrades() && !n.turns() && n.letInAt() != "" && (last == nil || n.letInAt() > last.letInAt()) {
				last = n
			}
		}
		if last != nil && p.Pause > 0 {
			out, pauses[last] = append(out, last), p.Pause
		}
	}
	return out, pauses
}

// letInAt is when the node was let in with the version that it runs, and a pause
// began, in RFC 3339 and UTC; empty when it was not.
func (n *node) letInAt() string {
	at, version, _ := strings.Cut(n.cluster.report.Nodes[n.name].Annotations[planner.LetInAnnotation], " ")
	if version != n.comingKubelet() {
		return ""
	}
	return at
}

// emptyPools warns of pools that select no worker: most likely a slip.
func (c *cluster) emptyPools() diag.Diagnostics {
	var diags diag.Diagnostics
	pools := c.pools()
	members := c.members(pools)
	for _, p := range pools[:len(pools)-1] {
		if len(members[p]) == 0 {
			diags = append(diags, diag.Warningf("Pool without workers", "Pool %q of cluster %q selects no worker that a pool before it does not select: %s. "+
				"Workers that no pool selects come last, with max_unavailable = %q.", p.Name, c.Label, p.Selector, c.Upgrade.MaxUnavailable).At(p.Source))
		}
	}
	return diags
}

// mostListed bounds how many batches, and nodes of one, the plan names.
const mostListed = 8

// workersLine says how many workers go at once, or lists their batches.
func (c *cluster) workersLine() string {
	batches := c.paced()
	if len(c.Upgrade.Pools) == 0 && len(batches) == 1 {
		return fmt.Sprintf("workers %d at a time.", min(batches[0].lanes, len(batches[0].nodes)))
	}
	text := "workers in batches:"
	for i, b := range batches {
		if i == mostListed && len(batches) > mostListed+1 {
			return text + fmt.Sprintf("\n  %d more batches", len(batches)-mostListed)
		}
		text += fmt.Sprintf("\n  %d. %s", i+1, b.describe(i+1 < len(batches) && !slices.Contains(c.view.skipped, pausePhase)))
	}
	return text
}

// describe names the batch's workers, and the pause behind them where there is one.
func (b *batch) describe(paused bool) string {
	var notes []string
	if b.canary {
		notes = append(notes, "canary")
	}
	if b.pool.Name != "" {
		notes = append(notes, "pool "+b.pool.Name)
	}
	if b.lanes < len(b.nodes) {
		notes = append(notes, fmt.Sprintf("%d at a time", b.lanes))
	}
	text := names(b.nodes)
	if len(notes) > 0 {
		text += " (" + strings.Join(notes, ", ") + ")"
	}
	if paused && b.pool.Pause > 0 {
		text += ", then a pause of " + brief(b.pool.Pause)
	}
	return text
}

// names lists nodes by their short names, the first of many.
func names(nodes []*node) string {
	var out []string
	for i, n := range nodes {
		if i == mostListed && len(nodes) > mostListed+1 {
			return strings.Join(out, ", ") + fmt.Sprintf(" and %d more", len(nodes)-mostListed)
		}
		out = append(out, shortName(n.target))
	}
	return strings.Join(out, ", ")
}

// brief prints a duration without what is zero at its end: 10m, not 10m0s.
func brief(d time.Duration) string {
	text := d.String()
	for _, unit := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, unit) {
			text = strings.TrimSuffix(text, unit[1:])
		}
	}
	return text
}
