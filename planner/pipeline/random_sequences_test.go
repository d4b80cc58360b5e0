package pipeline_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/sim"
	"github.com/kubewright/kubewright/state"
)

// TestSequences takes clusters through random sequences of configurations: up to seven control planes
// and three workers that join, leave, change roles, are replaced and reinstalled in any mix, with
// rising versions, kubelets of older versions, moving endpoints, and hosts that die where the cluster
// can do without. An upgrade that is refused together with joins and departures is applied alone.
// During an apply a host fails in some way, and later recovers. Before and after every step, etcd must
// have a majority of healthy voters. At no effect may versions be too far apart, or three members lack
// quorum or an API server; in every other sequence several steps run at once. The same command ends
// with an empty plan. With KUBEWRIGHT_LONG set there are many more sequences.
func TestSequences(t *testing.T) {
	t.Parallel()
	sequences, length := 10, 3
	if long() {
		sequences, length = 200, 8
	}
	var all tally
	t.Cleanup(func() {
		t.Logf("%d applies came to seven control planes, %d were interrupted by faults, %d raised the version, %d of them by a minor one, %d ended with kubelets that stay behind",
			all.sevens.Load(), all.cut.Load(), all.raised.Load(), all.minors.Load(), all.behind.Load())
		if all.sevens.Load() == 0 || all.cut.Load() == 0 || all.raised.Load() == 0 || all.minors.Load() == 0 || all.behind.Load() == 0 {
			t.Error("one of these counts is zero")
		}
	})
	for seed := range sequences {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			w := &wanderer{operator: newOperator(t, cluster(1, 0)), rand: rand.New(rand.NewPCG(uint64(seed), 7)), luck: rand.New(rand.NewPCG(uint64(seed), 8)), tally: &all, kubelets: map[int]string{}, booted: map[string]bool{}}
			w.config.Nodes = nil
			cl := w.config.Clusters[0]
			cl.KubernetesVersion, cl.Upgrade.AllowDowntime = sequenceVersions[w.rand.IntN(4)], true
			w.follow(cl.KubernetesVersion)
			w.choose(1 + 2*w.rand.IntN(2))
			w.must(w.apply())
			w.world.Watch, w.around = true, w.wantQuorum
			if seed%2 == 1 {
				// With parallel steps a single member or one of two may restart while another step
				// begins.
				w.parallelism, w.around = 4, nil
			}
			applied := 0
			for range length {
				if w.step() {
					applied++
				}
			}
			w.wantSkew() // even if the last apply was interrupted
			t.Logf("%d of %d configurations applied:\n%s", applied, length, strings.Join(w.story, "\n"))
			if applied == 0 {
				t.Error("every configuration was refused")
			}
		})
	}
}

// wanderer is an operator who changes everything from time to time.
type wanderer struct {
	*operator
	rand *rand.Rand
	// luck decides which faults occur during an apply.
	luck *rand.Rand
	*tally
	// booted are the addresses of hosts that have booted, with whichever kubelet was installed.
	booted map[string]bool
	// kubelets are the installed versions, by host.
	kubelets map[int]string
	// keeper is the address of a control plane that stays.
	keeper string
	// story is what was done, for the output of a failure.
	story []string
}

// tally counts applies of all wanderers: those that reached seven control planes, that were
// interrupted, that raised the version, those of them by a minor version, and that ended with kubelets
// older than the cluster.
type tally struct{ sevens, cut, raised, minors, behind atomic.Int64 }

// count counts a completed apply.
func (w *wanderer) count(was string) {
	now := w.config.Clusters[0].KubernetesVersion
	if len(w.config.NodesOf("prod", config.ControlPlane)) == 7 {
		w.sevens.Add(1)
	}
	if now != was {
		w.raised.Add(1)
	}
	if config.MinorOf(now) != config.MinorOf(was) {
		w.minors.Add(1)
	}
	if slices.ContainsFunc(w.config.Nodes, func(n *config.Node) bool {
		return w.fleet.ClusterReports["prod"].Nodes["host-"+strings.ReplaceAll(n.Address, ".", "-")].KubeletVersion != "v"+now
	}) {
		w.behind.Add(1)
	}
}

// wantSkew is wantHeld, except for kubelets that were installed ahead and that a boot has started
// before the last API server had their version.
func (w *wanderer) wantSkew() {
	for _, v := range w.world.Violations() {
		_, says, _ := strings.Cut(v, ": host-")
		name, ahead, _ := strings.Cut(says, ": kubelet ")
		if ahead == "" || !w.booted[strings.ReplaceAll(name, "-", ".")] {
			w.t.Errorf("%s\n%s", v, strings.Join(w.story, "\n"))
			return
		}
	}
}

// choose selects the nodes of the configuration: this many control planes of seven hosts, and some of
// three others as workers. Hosts change their roles.
func (w *wanderer) choose(planes int) {
	hosts := w.rand.Perm(8)
	before := map[string]bool{}
	w.keeper = ""
	for _, n := range w.config.Nodes {
		before[n.Address] = n.Role == config.ControlPlane
		if n.Role == config.ControlPlane && (w.keeper == "" || w.rand.IntN(2) == 0) {
			w.keeper = n.Address
		}
	}
	// Present nodes stay more often than not.
	slices.SortStableFunc(hosts, func(a, b int) int {
		stays := func(i int) int {
			if address(i) == w.keeper {
				return -1 // one control plane has to stay
			}
			if before[address(i)] && w.rand.IntN(3) > 0 {
				return 0
			}
			return 1
		}
		return stays(a) - stays(b)
	})
	w.config.Nodes = nil
	for i, host := range hosts {
		role := config.ControlPlane
		switch {
		case i >= planes+2:
			continue
		case i >= planes:
			role = config.Worker
		}
		w.config.Nodes = append(w.config.Nodes, &config.Node{
			Target: target(host), Cluster: "prod", Role: role, Address: address(host), Connection: config.Connection{Type: "ssh"},
		})
	}
	slices.SortFunc(w.config.Nodes, func(a, b *config.Node) int { return strings.Compare(a.Address, b.Address) })
}

func address(host int) string        { return fmt.Sprintf("10.0.0.1%d", host) }
func target(host int) state.Target   { return state.NodeKeyTarget("n", fmt.Sprint(host)) }
func (w *wanderer) say(words string) { w.story = append(w.story, words) }

// step changes something and applies it. It returns false when the plan was refused, which may happen,
// and the configuration is as before.
func (w *wanderer) step() bool {
	w.t.Helper()
	w.world.Advance(time.Minute) // until joined nodes are Ready
	before := slices.Clone(w.config.Nodes)
	w.choose(1 + w.rand.IntN(7))
	w.faults(before)
	cl := w.config.Clusters[0]
	was, kubelets := *cl, maps.Clone(w.kubelets)
	w.upgrades(cl)
	w.say(fmt.Sprintf("%s at %s; %s; replace %v, accept %v, forget %v", cl.KubernetesVersion, cl.ControlPlaneEndpoint, roles(w.config.Nodes), w.replace, w.accept, w.forget))
	if _, err := w.plan(); err != nil {
		const exchanges = "control planes are added and removed in the same plan"
		refusals := []string{"No control plane would remain", "Plan would lose quorum", "Endpoint migration cannot be combined with an upgrade", exchanges}
		if !slices.ContainsFunc(refusals, func(r string) bool { return strings.Contains(err.Error(), r) }) {
			w.t.Fatalf("%v\n%s", err, strings.Join(w.story, "\n"))
		}
		w.say("refused: " + err.Error())
		raised, ahead := *cl, w.kubelets
		*cl, w.kubelets = was, kubelets
		w.install()
		w.heal(before)
		if !strings.Contains(err.Error(), exchanges) {
			return false
		}
		w.say("the upgrade alone, to " + raised.KubernetesVersion)
		w.world.Advance(time.Minute)
		*cl, w.kubelets = raised, ahead
		w.install()
		if _, err := w.plan(); err != nil {
			w.t.Fatalf("%v\n%s", err, strings.Join(w.story, "\n"))
		}
	}
	w.through()
	for range 3 {
		// Apply the first plan, and further ones where something was left to do.
		if p, err := w.plan(); err != nil {
			w.t.Fatalf("%v\n%s", err, strings.Join(w.story, "\n"))
		} else if p.Empty() {
			w.wantSkew()
			w.count(was.KubernetesVersion)
			w.revive()
			return true
		}
		if err := w.carryOut(); err != nil {
			w.t.Fatalf("%v\n%s", err, strings.Join(w.story, "\n"))
		}
	}
	p, _ := w.plan()
	w.t.Fatalf("the applies do not converge:\n%s\n%s", describe(p), strings.Join(w.story, "\n"))
	return false
}

// through carries out the plan while, more often than not, a host fails, and repairs the host
// afterwards. An apply that the failure interrupts leaves the rest to the next one.
func (w *wanderer) through() {
	w.t.Helper()
	around, was := w.around, maps.Clone(w.recorded.Nodes)
	end := w.trouble()
	err := w.carryOut()
	w.around = around
	if end == nil && err != nil {
		w.t.Fatalf("%v\n%s", err, strings.Join(w.story, "\n"))
	}
	if end != nil {
		end()
		w.world.Advance(time.Minute) // until booted hosts have recovered
	}
	if err != nil {
		w.say("interrupted: " + err.Error())
		w.cut.Add(1)
		// Nodes that were forgotten or have rejoined by then are not named again.
		w.forget = slices.DeleteFunc(w.forget, func(t state.Target) bool { return w.recorded.Nodes[t] == nil })
		recreated := func(t state.Target) bool {
			return was[t] != nil && w.recorded.Nodes[t] != nil && was[t].Role != w.recorded.Nodes[t].Role
		}
		w.replace, w.accept = slices.DeleteFunc(w.replace, recreated), slices.DeleteFunc(w.accept, recreated)
	}
}

// trouble makes one host fail during the next apply: a call fails there or its answer is lost, the host
// stops answering at some moment, or it stops where the cluster can do without it, and boots some steps
// later. It returns the repair; nil when nothing fails.
func (w *wanderer) trouble() func() {
	hosts := w.spare()
	if len(hosts) == 0 {
		return nil
	}
	host, kinds := hosts[w.luck.IntN(len(hosts))], []sim.FaultKind{sim.FaultDropBefore, sim.FaultDropAfter, sim.FaultFail, sim.FaultHang, sim.FaultPartial}
	switch n := w.luck.IntN(4); {
	case n == 0:
		return nil
	case n == 1:
		fault := sim.Fault{Host: host, Skip: w.luck.IntN(100), Kind: kinds[w.luck.IntN(len(kinds))]}
		w.say(fmt.Sprintf("  call %d on %s: %s", fault.Skip, host, fault.Kind))
		w.world.Fault(fault)
	case n == 2 || w.around == nil:
		fault := sim.Fault{Host: host, Skip: w.luck.IntN(100), Times: -1, Kind: sim.FaultUnreachable}
		w.say(fmt.Sprintf("  from call %d on %s does not answer", fault.Skip, host))
		w.world.Fault(fault)
	default:
		return w.stops(host)
	}
	return func() { w.world.ClearFaults() }
}

// stops makes a host stop before some step, and boot before a later one or at the end.
func (w *wanderer) stops(host string) func() {
	around, count, off := w.around, 0, false
	at := w.luck.IntN(max(1, len(w.result.Plan.Steps)))
	back := at + 1 + w.luck.IntN(8)
	w.say(fmt.Sprintf("  %s stops before step %d, and boots before step %d", host, at, back))
	boot := func() {
		if off {
			w.must(sim.Edit(w.world, host, "power on"))
			w.booted[host] = true
		}
		off = false
	}
	w.around = func(s *planner.Step) error {
		switch count++; {
		case count > back:
			boot()
		case count > at && !off && w.canDoWithout(host):
			w.must(sim.Edit(w.world, host, "power off"))
			off = true
		}
		return around(s)
	}
	return boot
}

// spare returns the addresses of running hosts of present or future nodes that the cluster can do
// without, one at a time: workers and, where there are three control planes before and after the apply,
// also these.
func (w *wanderer) spare() []string {
	was, gone := 0, map[string]bool{}
	for _, n := range w.recorded.Nodes {
		if n.Role == string(config.ControlPlane) {
			was++
		}
	}
	for _, t := range w.forget {
		gone[w.recorded.Nodes[t].Address] = true
		was--
	}
	planes := w.planeAddresses()
	var out []string
	for host := range 8 {
		configured := slices.ContainsFunc(w.config.Nodes, func(n *config.Node) bool { return n.Target == target(host) })
		switch {
		case gone[address(host)] || !configured && w.recorded.Nodes[target(host)] == nil:
		case slices.Contains(planes, address(host)) && min(was, len(w.config.NodesOf("prod", config.ControlPlane))) < 3:
		default:
			out = append(out, address(host))
		}
	}
	return out
}

// canDoWithout reports whether etcd has at least three voters and all of them are healthy, or the host
// has none.
func (w *wanderer) canDoWithout(host string) bool {
	if !slices.Contains(w.planeAddresses(), host) {
		return true
	}
	voters, healthy, err := w.voters()
	return err == nil && voters >= 3 && healthy == voters
}

// upgrades moves the endpoint now and then, changes arguments of API servers and etcd, or raises the
// version, with kubelets following.
func (w *wanderer) upgrades(cl *config.Cluster) {
	switch w.rand.IntN(4) {
	case 3:
		value := fmt.Sprint(20000 + w.rand.IntN(10000))
		cl.Etcd.Args = []config.Arg{{Name: "snapshot-count", Value: value}}
		cl.APIServer.Component.Args = []config.Arg{{Name: "max-requests-inflight", Value: value}}
	case 0:
		cl.ControlPlaneEndpoint = fmt.Sprintf("api%d.example.com:6443", w.rand.IntN(100))
	case 1:
		i := slices.Index(sequenceVersions, cl.KubernetesVersion)
		cl.KubernetesVersion = sequenceVersions[i+w.rand.IntN(len(sequenceVersions)-i)]
	}
	w.follow(cl.KubernetesVersion)
}

// follow installs the kubelet of a version on every host that may become a node; one in four keeps its
// version, as versions may be three minor ones apart.
func (w *wanderer) follow(version string) {
	w.kubelets = maps.Clone(w.kubelets)
	for host := range 8 {
		if w.kubelets[host] == "" || w.rand.IntN(4) > 0 {
			w.kubelets[host] = version
		}
	}
	w.install()
}

// install installs the kubelets, including those on reinstalled hosts.
func (w *wanderer) install() {
	for host := range 8 {
		w.must(sim.Edit(w.world, address(host), "install kubelet="+w.kubelets[host]))
	}
}

// sequenceVersions are the versions that a cluster goes through, never back: two of each minor version.
var sequenceVersions = []string{"1.34.4", "1.34.9", "1.35.3", "1.35.8", "1.36.0", "1.36.3", "1.37.0", "1.37.1"}

// faults replaces some nodes, and lets one host die or be reinstalled.
func (w *wanderer) faults(before []*config.Node) {
	w.replace, w.accept, w.forget = nil, nil, nil
	for _, n := range w.config.Nodes {
		if n.Address != w.keeper && w.recorded.Nodes[n.Target] != nil && w.rand.IntN(5) == 0 {
			w.replace = append(w.replace, n.Target)
		}
	}
	planes := 0
	for _, n := range before {
		if n.Role == config.ControlPlane {
			planes++
		}
	}
	if planes < 3 || w.rand.IntN(2) == 0 {
		return
	}
	victim := before[w.rand.IntN(len(before))]
	if victim.Address == w.keeper {
		return
	}
	stays := slices.ContainsFunc(w.config.Nodes, func(n *config.Node) bool { return n.Target == victim.Target })
	if stays {
		w.must(sim.Edit(w.world, victim.Address, "reinstall"))
		w.accept = append(w.accept, victim.Target)
		if !slices.Contains(w.replace, victim.Target) {
			w.replace = append(w.replace, victim.Target)
		}
		return
	}
	w.must(sim.Edit(w.world, victim.Address, "power off"))
	w.forget = append(w.forget, victim.Target)
}

// heal reverts a refused configuration, and repairs what the fault has left.
func (w *wanderer) heal(before []*config.Node) {
	w.t.Helper()
	w.config.Nodes = before
	for _, t := range w.forget {
		w.must(sim.Edit(w.world, w.recorded.Nodes[t].Address, "power on"))
	}
	w.replace, w.forget = w.accept, nil
	if err := w.apply(); err != nil {
		w.t.Fatalf("%v\n%s", err, strings.Join(w.story, "\n"))
	}
}

// revive brings dead hosts back as new machines.
func (w *wanderer) revive() {
	for host := range 8 {
		if w.recorded.Nodes[target(host)] == nil {
			w.must(sim.Edit(w.world, address(host), "power on"))
			w.must(sim.Edit(w.world, address(host), "reinstall"))
		}
	}
}

func roles(nodes []*config.Node) string {
	var out []string
	for _, n := range nodes {
		out = append(out, n.Target.Key+" "+string(n.Role))
	}
	return strings.Join(out, ", ")
}

// planeAddresses returns the addresses of control planes that exist or may exist by now.
func (w *wanderer) planeAddresses() []string {
	var out []string
	for _, n := range w.recorded.Nodes {
		if n.Role == string(config.ControlPlane) {
			out = append(out, n.Address)
		}
	}
	for _, n := range w.config.NodesOf("prod", config.ControlPlane) {
		out = append(out, n.Address)
	}
	return out
}

// wantQuorum checks that a majority of voters is healthy.
func (w *wanderer) wantQuorum(before *planner.Step) error {
	voters, healthy, err := w.voters()
	switch {
	case err != nil:
		return fmt.Errorf("before %s etcd does not answer: %w", before.ID, err)
	case 2*healthy <= voters:
		return fmt.Errorf("before %s etcd has %d healthy voters of %d", before.ID, healthy, voters)
	}
	return nil
}

// voters counts etcd's voters through any control plane with etcd.
func (w *wanderer) voters() (voters, healthy int, err error) {
	ctx := context.Background()
	err = fmt.Errorf("no control plane is known")
	for _, address := range w.planeAddresses() {
		var etcd providers.Etcd
		if etcd, err = (sim.Access{}).Etcd(ctx, w.world.Host(address), []string{providers.Seat{}.EtcdURL()}, ""); err != nil {
			continue
		}
		var members []state.EtcdMember
		if members, _, err = etcd.Members(ctx); err != nil {
			continue
		}
		for _, m := range members {
			if !m.Learner {
				voters++
			}
			if !m.Learner && m.Healthy {
				healthy++
			}
		}
		return voters, healthy, nil
	}
	return 0, 0, err
}
