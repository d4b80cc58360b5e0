package pipeline_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/artifacts/artifactstest"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/providers/sim"
	"github.com/kubewright/kubewright/state"
)

// kubelets installs the kubelet of a version on every host, as a package does.
func (o *operator) kubelets(version string) {
	o.t.Helper()
	for _, n := range o.config.Nodes {
		o.must(sim.Edit(o.world, n.Address, "install kubelet="+version))
	}
}

// wantHeld checks that no invariant was violated in between.
func (o *operator) wantHeld() {
	o.t.Helper()
	if v := o.world.Violations(); len(v) > 0 {
		o.t.Errorf("%d violations:\n%s", len(v), strings.Join(v[:min(len(v), 10)], "\n"))
	}
}

func TestUpgradeConverges(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		planes, workers int
		from, to        string
	}{
		{1, 0, "1.35.8", "1.36.3"},
		{1, 2, "1.36.1", "1.36.3"},
		{3, 2, "1.35.8", "1.36.3"},
		{3, 1, "1.34.9", "1.37.1"},
	} {
		t.Run(fmt.Sprintf("%d+%d %s to %s", c.planes, c.workers, c.from, c.to), func(t *testing.T) {
			t.Parallel()
			o := running(t, c.planes, c.workers, c.from)
			o.config.Clusters[0].KubernetesVersion = c.to
			o.kubelets(c.to)
			o.world.Watch = true
			o.must(o.apply())
			o.wantNothing()
			for name, n := range o.fleet.ClusterReports["prod"].Nodes {
				if n.KubeletVersion != "v"+c.to || n.Unschedulable || !n.Ready {
					t.Errorf("node %s: %+v", name, n)
				}
			}
			o.wantHeld()
		})
	}
}

// TestUpgradePassesWaypoints checks the steps over several minor versions: each control plane in each
// version, the kubelets once.
func TestUpgradePassesWaypoints(t *testing.T) {
	t.Parallel()
	o := running(t, 3, 1, "1.34.9")
	o.config.Clusters[0].KubernetesVersion = "1.36.3"
	o.kubelets("1.36.3")
	p, err := o.plan()
	o.must(err)
	var steps []string
	for _, s := range p.Steps {
		if s.Phase != "images" {
			steps = append(steps, strings.TrimPrefix(s.ID.String(), "node."))
		}
	}
	want := []string{
		"cluster.prod/etcd-snapshot",
		`cp["cp1"]/etcd@1.35.8`, `cp["cp1"]/control-plane@1.35.8`, `cp["cp2"]/etcd@1.35.8`, `cp["cp2"]/control-plane@1.35.8`, `cp["cp3"]/etcd@1.35.8`, `cp["cp3"]/control-plane@1.35.8`,
		`cp["cp1"]/etcd`, `cp["cp1"]/control-plane`, "cluster.prod/upload-config", `cp["cp2"]/etcd`, `cp["cp2"]/control-plane`, `cp["cp3"]/etcd`, `cp["cp3"]/control-plane`,
		`cp["cp1"]/drain`, `cp["cp1"]/kubelet-start`, `cp["cp2"]/drain`, `cp["cp2"]/kubelet-start`, `cp["cp3"]/drain`, `cp["cp3"]/kubelet-start`,
		`worker["w1"]/drain`, `worker["w1"]/kubelet-start`, "cluster.prod/addon",
	}
	if !slices.Equal(steps, want) {
		t.Errorf("the steps are\n%s\nwant\n%s", strings.Join(steps, "\n"), strings.Join(want, "\n"))
	}
	if want := "kubernetes_version: 1.34.9 → 1.35.8 → 1.36.3; control planes one at a time."; len(p.Upgrades) != 1 || p.Upgrades[0] != want {
		t.Errorf("the plan says %q, want %q", p.Upgrades, want)
	}
}

// TestUpgradeRequiresImagesOfIntermediateVersions checks that with image_pull_policy Never the images of an intermediate
// version have to be present as well. The plan reports missing ones, and which other patch release is
// available.
func TestUpgradeRequiresImagesOfIntermediateVersions(t *testing.T) {
	t.Parallel()
	o := running(t, 3, 1, "1.34.9")
	places(o.config)
	cl := o.config.Clusters[0]
	o.kubelets("1.36.3")
	images := func(version string) []string {
		cl.KubernetesVersion = version
		return kubernetesImages(o.config)
	}
	for _, n := range o.config.Nodes {
		o.edit(n.Address, "condition no-registry on")
	}
	archives := artifactstest.Folder{}
	archive := func(version string) {
		for _, i := range images(version) {
			archives["amd64/images/"+strings.NewReplacer("/", "_", ":", "_").Replace(i)+".tar"] = artifactstest.Image("amd64", i)
		}
		cl.KubernetesVersion, cl.ImagePullPolicy = "1.36.3", "Never"
		o.bring(archives)
	}
	archive("1.36.3")
	missing := finding{diag.Error, "Host is not ready for Kubernetes", "main.hcl:11", "", []string{
		`node.cp["cp1"] (10.0.0.11), node.cp["cp2"] (10.0.0.12), node.cp["cp3"] (10.0.0.13): the upgrade of control planes passes through 1.35.8, of which`,
		"and image_pull_policy is Never: registry.k8s.io/kube-apiserver:v1.35.8, registry.k8s.io/kube-controller-manager:v1.35.8, registry.k8s.io/kube-scheduler:v1.35.8, registry.k8s.io/etcd:3.6.6-0",
		"put an archive of them into images/", "let them be pulled", `ignore_preflight_errors = ["ImagePull"]`,
	}}
	wantFindings(t, o.diagnose(), missing.saying("or upgrade first to a patch release of 1.35 whose images are there."))
	for _, n := range o.config.Nodes {
		for _, i := range images("1.35.7") {
			o.edit(n.Address, "image add "+i)
		}
	}
	cl.KubernetesVersion = "1.36.3"
	missing.says[1] = "and image_pull_policy is Never: registry.k8s.io/kube-apiserver:v1.35.8, registry.k8s.io/kube-controller-manager:v1.35.8, registry.k8s.io/kube-scheduler:v1.35.8"
	wantFindings(t, o.diagnose(), missing.saying("or upgrade first to 1.35.7, whose images are there."))
	archive("1.35.8")
	o.world.Watch = true
	o.must(o.apply())
	o.wantNothing()
	o.wantHeld()
}

func TestUpgradeRefusesDowngradeAndDowntime(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		planes  int
		version string
		want    string
	}{
		{1, "1.34.9", "cannot be downgraded"},
		{2, "1.36.3", "allow_downtime = true"},
	} {
		o := running(t, c.planes, 0, "1.35.8")
		o.config.Clusters[0].KubernetesVersion = c.version
		if _, err := o.planShown(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("1.35.8 → %s with %d control planes: %v; want %q", c.version, c.planes, err, c.want)
		}
	}
}

// TestUpgradeContinuesAfterCrash interrupts an upgrade over two minor versions at single effects: the same
// command again ends in the same place, and no invariant is violated in between.
func TestUpgradeContinuesAfterCrash(t *testing.T) {
	t.Parallel()
	o := running(t, 3, 1, "1.34.9")
	o.world.Watch = true
	o.config.Clusters[0].KubernetesVersion = "1.36.3"
	o.kubelets("1.36.3")
	crashAnywhere(t, o, 41)
}

// paced returns a cluster of one control plane and six workers in two pools before an upgrade.
func paced(t *testing.T) *operator {
	t.Helper()
	o := running(t, 1, 6, "1.35.8")
	cl := o.config.Clusters[0]
	cl.KubernetesVersion = "1.36.3"
	cl.Upgrade.Pools = []config.Pool{{
		Name: "batch", Selector: "pool=batch", Pace: config.Pace{MaxUnavailable: "50%", Canary: 1, Pause: 10 * time.Minute},
	}}
	cl.Upgrade.Pace = config.Pace{MaxUnavailable: "1", Canary: 1}
	o.kubelets("1.36.3")
	for _, n := range o.config.NodesOf("prod", config.Worker)[2:] {
		o.must(sim.Edit(o.world, "10.0.0.11", "label "+o.recorded.Nodes[n.Target].Name+" pool=batch"))
	}
	return o
}

// TestUpgradeBatchesTakeTurns checks that pools take turns in their order in the configuration, canaries first,
// with their pauses.
func TestUpgradeBatchesTakeTurns(t *testing.T) {
	t.Parallel()
	o := paced(t)
	p, err := o.plan()
	o.must(err)
	want := `kubernetes_version: 1.35.8 → 1.36.3; control planes one at a time; workers in batches:
  1. w3 (canary, pool batch), then a pause of 10m
  2. w4, w5 (pool batch), then a pause of 10m
  3. w6 (pool batch), then a pause of 10m
  4. w1, w2 (1 at a time)`
	if got := strings.Join(p.Upgrades, "\n"); got != want {
		t.Errorf("the plan says\n%s\nwant\n%s", got, want)
	}
	var last time.Time
	pauses := map[string]time.Duration{}
	o.around = func(s *planner.Step) error {
		switch s.Phase {
		case "kubelet-start":
			last = time.Time{}
		case "upgrade-pause":
			last = o.world.Now()
		case "drain":
			if !last.IsZero() {
				pauses[o.fleet.Recorded.Nodes[s.Target].Name] = o.world.Now().Sub(last).Round(time.Minute)
			}
		}
		return nil
	}
	o.world.Watch = true
	o.must(o.carryOut())
	o.wantNothing()
	o.wantHeld()
	m := 10 * time.Minute
	if want := (map[string]time.Duration{"host-10-0-0-24": m, "host-10-0-0-25": m, "host-10-0-0-26": m, "host-10-0-0-21": m}); !maps.Equal(pauses, want) {
		t.Errorf("before the drains of nodes there were the pauses %v, want %v", pauses, want)
	}
}

// TestUpgradeWithoutPausesAnnouncesNone checks that a plan without the pauses does not announce any.
func TestUpgradeWithoutPausesAnnouncesNone(t *testing.T) {
	t.Parallel()
	o := paced(t)
	r, diags := o.planOf(o.observe(), planner.Options{SkipPhases: []string{"upgrade-pause"}})
	if diags.HasErrors() {
		t.Fatal(printedFindings(diags))
	}
	if got, want := strings.Join(r.Plan.Upgrades, "\n"), "  1. w3 (canary, pool batch)\n  2. w4, w5 (pool batch)\n"; !strings.Contains(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestUpgradePauseContinuesAfterInterruption checks that after an interruption in a pause the next apply waits for the rest
// of it, and does not repeat the canary.
func TestUpgradePauseContinuesAfterInterruption(t *testing.T) {
	t.Parallel()
	o := paced(t)
	power := errors.New("the operator's machine is off")
	o.around = func(s *planner.Step) error {
		if s.Phase == "upgrade-pause" {
			return power
		}
		return nil
	}
	if err := o.apply(); !errors.Is(err, power) {
		t.Fatalf("apply: %v", err)
	}
	o.world.Advance(4 * time.Minute)
	p, err := o.plan()
	o.must(err)
	if got, want := strings.Join(p.Upgrades, "\n"), "  1. w4, w5 (pool batch), then a pause of 10m\n"; !strings.Contains(got, want) {
		t.Errorf("the plan says\n%s\nwant\n%s", got, want)
	}
	began := o.world.Now()
	var waited time.Duration
	o.around = func(s *planner.Step) error {
		if s.Phase == "drain" && waited == 0 {
			waited = o.world.Now().Sub(began).Round(time.Minute)
		}
		return nil
	}
	o.must(o.carryOut())
	o.wantNothing()
	if waited != 6*time.Minute {
		t.Errorf("what was left of the pause took %s, want 6m", waited)
	}
}

// TestTwoControlPlanesRequireAllowDowntime checks that restarts of one of two members of etcd are refused in the plan, and
// happen one after the other if the configuration accepts that the API is down meanwhile.
func TestTwoControlPlanesRequireAllowDowntime(t *testing.T) {
	t.Parallel()
	o := running(t, 2, 1, "1.35.8")
	cl := o.config.Clusters[0]
	cl.Etcd.Args = []config.Arg{{Name: "quota-backend-bytes", Value: "4294967296"}}
	if _, err := o.planShown(); err == nil || !strings.Contains(err.Error(), "Etcd would lose quorum") {
		t.Errorf("another argument of etcd: %v", err)
	}
	cl.Etcd.Args = nil
	cl.APIServer.Args = []config.Arg{{Name: "audit-log-maxage", Value: "30"}}
	o.must(o.apply()) // no member restarts
	cl.KubernetesVersion, cl.Upgrade.AllowDowntime = "1.36.3", true
	o.kubelets("1.36.3")
	p, err := o.plan()
	o.must(err)
	for i := range p.Steps {
		if s := &p.Steps[i]; planner.RestartsMember(s) && !strings.Contains(s.Impact, "the API does not answer") && s.Phase == "etcd" {
			t.Errorf("%s says %q", s.ID, s.Impact)
		}
	}
	o.must(o.carryOut())
	o.wantNothing()
}

// TestUpgradeRefusesGateUnknownToIntermediateVersion checks that a gate that an intermediate version does not know is refused in the
// plan: its API server would not start.
func TestUpgradeRefusesGateUnknownToIntermediateVersion(t *testing.T) {
	t.Parallel()
	o := running(t, 1, 0, "1.34.9")
	cl := o.config.Clusters[0]
	gate := func(version, value string) error {
		cl.KubernetesVersion, cl.APIServer.Args = version, []config.Arg{{Name: "feature-gates", Value: value}}
		_, err := o.planShown()
		return err
	}
	if err := gate("1.36.3", "AtomicFIFO=true"); err == nil || !strings.Contains(err.Error(), "1.35") || !strings.Contains(err.Error(), "passes through 1.35.8") {
		t.Errorf("a gate of 1.36: %v, want that 1.35 does not know it", err)
	}
	places(o.config)
	wantFindings(t, o.diagnose(), finding{diag.Error, "Configuration does not fit an intermediate version", "main.hcl:1", "cluster.prod", []string{
		"AtomicFIFO", "1.34.9 → 1.35.8 → 1.36.3 passes through 1.35.8, which cannot run with this", "Remove it, upgrade, and add it back.",
	}}, finding{diag.Warning, "Kubelet is not upgraded", "main.hcl:1", "", []string{`node.cp["cp1"]: the installed kubelet is 1.34.9`}})
	if err := gate("1.35.8", "APIServerTracing=true"); err != nil {
		t.Error(err)
	}
	cl.KubernetesVersion, cl.APIServer.Args = "1.36.3", nil
	cl.Patches = []config.Patch{{Target: "etcd", Type: "json", Source: state.Source{File: "main.hcl", Line: 7}, Content: `[
		{"op": "test", "path": "/spec/containers/0/image", "value": "registry.k8s.io/etcd:3.6.8-0"}, {"op": "add", "path": "/metadata/labels/a", "value": "b"}]`}}
	wantFindings(t, o.diagnose(), finding{diag.Error, "Configuration does not fit an intermediate version", "main.hcl:7", "cluster.prod", []string{
		`For node.cp["cp1"]: cannot apply the json patch of etcd (main.hcl:7)`, "1.34.9 → 1.35.8 → 1.36.3 passes through 1.35.8, which cannot run with this",
	}}, finding{diag.Warning, "Kubelet is not upgraded", "main.hcl:1", "", []string{`node.cp["cp1"]: the installed kubelet is 1.34.9`}})
}

// TestUpgradeWaypointsIgnoreLaterKubeletSettings checks that settings that only kubelets of the desired version know, or
// that are in objects that are written later, do not matter for intermediate versions of control
// planes: each control plane goes through these.
func TestUpgradeWaypointsIgnoreLaterKubeletSettings(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(c *config.Config){
		"of the cluster": func(c *config.Config) {
			c.Clusters[0].Kubelet.Config = state.FromGo(map[string]any{"memoryReservationPolicy": "TieredReservation"})
		},
		"of a node": func(c *config.Config) {
			c.Nodes[0].Kubelet.Config = state.FromGo(map[string]any{"tlsCurvePreferences": []any{29}})
		},
		"a patch of an addon": func(c *config.Config) {
			c.Clusters[0].Patches = []config.Patch{{Target: "corednsdeployment", Type: "json", Content: `[
				{"op": "test", "path": "/spec/template/spec/containers/0/image", "value": "registry.k8s.io/coredns/coredns:v1.14.2"}, {"op": "add", "path": "/metadata/labels/a", "value": "b"}]`}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := running(t, 3, 0, "1.34.9")
			o.config.Clusters[0].KubernetesVersion = "1.36.3"
			change(o.config)
			o.kubelets("1.36.3")
			o.world.Watch = true
			p, err := o.plan()
			o.must(err)
			for _, n := range o.config.Nodes {
				for _, phase := range []string{"etcd", "control-plane"} {
					id := n.Target.String() + "/" + phase + "@1.35.8"
					if !slices.ContainsFunc(p.Steps, func(s planner.Step) bool { return s.ID.String() == id }) {
						t.Errorf("there is no step %s:\n%s", id, describe(p))
					}
				}
			}
			o.must(o.carryOut())
			o.wantNothing()
			o.wantHeld()
		})
	}
}

// TestUpgradeRemovesObsoleteGatesAndFlags checks that gates that were removed from the configuration, since the
// desired version does not know them, and flags that it does not have, are removed from the
// configuration that cluster and hosts store.
func TestUpgradeRemovesObsoleteGatesAndFlags(t *testing.T) {
	t.Parallel()
	cfg := cluster(1, 1)
	cl := cfg.Clusters[0]
	cl.KubernetesVersion = "1.34.9"
	cl.FeatureGates = map[string]bool{"PublicKeysECDSA": true}
	cl.Kubelet.Config = state.FromGo(map[string]any{"featureGates": map[string]any{"APIServerTracing": true}})
	cl.APIServer.Args = []config.Arg{{Name: "feature-gates", Value: "APIServerTracing=true"}}
	o := newOperator(t, cfg)
	o.kubelets("1.34.9")
	o.must(o.apply())
	o.world.Advance(time.Minute)
	stored := func() string {
		text := o.listings()
		for ref, object := range o.observe().ClusterReports["prod"].Objects {
			if ref.Name == "kubeadm-config" || ref.Name == "kubelet-config" {
				b, err := object.MarshalJSON()
				o.must(err)
				text += string(b)
			}
		}
		for _, n := range o.config.Nodes {
			for _, path := range []string{"/var/lib/kubelet/kubeadm-flags.env", "/var/lib/kubelet/config.yaml", "/etc/kubernetes/manifests/kube-apiserver.yaml"} {
				r, err := o.world.Host(n.Address).Observe(t.Context(), state.Query{Files: []state.FileQuery{{Path: path, Read: state.ReadContent}}})
				o.must(err)
				text += string(r.Files[path].Content)
			}
		}
		return text
	}
	removed := []string{"PublicKeysECDSA", "APIServerTracing", "pod-infra-container-image"}
	for before, i := stored(), 0; i < len(removed); i++ {
		if !strings.Contains(before, removed[i]) {
			t.Fatalf("%s is not stored anywhere before", removed[i])
		}
	}
	cl.KubernetesVersion = "1.37.1"
	if diags := cfg.Validate(); !diags.HasErrors() {
		t.Error("1.37 accepts gates that it does not know")
	}
	cl.FeatureGates, cl.Kubelet.Config, cl.APIServer.Args = nil, state.Value{}, nil
	cl.Certificates.Algorithm = "ECDSA-P256" // what the gate had meant
	o.kubelets("1.37.1")
	o.must(o.apply())
	o.wantNothing()
	after := stored()
	for _, gone := range removed {
		if strings.Contains(after, gone) {
			t.Errorf("%s is still stored somewhere", gone)
		}
	}
}

// TestUpgradeRenewsDueCertificates checks that an upgrade renews due certificates, each once, and restarts components
// only for the version: as often as without due certificates.
func TestUpgradeRenewsDueCertificates(t *testing.T) {
	t.Parallel()
	for _, versions := range [][2]string{{"1.36.1", "1.36.3"}, {"1.35.8", "1.36.3"}, {"1.34.9", "1.36.3"}} {
		t.Run(versions[0], func(t *testing.T) {
			t.Parallel()
			var started [2]map[string]int
			for i, later := range []time.Duration{0, 340 * 24 * time.Hour} {
				o := running(t, 3, 1, versions[0])
				o.config.Clusters[0].KubernetesVersion = versions[1]
				o.kubelets(versions[1])
				o.world.Advance(later)
				o.world.Watch = true
				p, err := o.plan()
				o.must(err)
				due := 0
				for _, c := range p.Changes {
					if c.Reason == planner.ReasonDue {
						due++
					}
				}
				// Each control plane has seven certificates and three kubeconfigs, and one has
				// super-admin.conf.
				if want := map[bool]int{true: 31}[later > 0]; len(p.Upgrades) != 1 || due != want {
					t.Errorf("after %s the plan upgrades %q and renews %d, want %d:\n%s", later, p.Upgrades, due, want, describe(p))
				}
				before := o.world.Changes()
				o.must(o.carryOut())
				o.wantNothing()
				o.wantHeld()
				started[i] = map[string]int{}
				for deed, times := range o.world.Changes() {
					if strings.HasPrefix(deed, "start ") {
						started[i][deed] = times - before[deed]
					}
					if times -= before[deed]; strings.HasPrefix(deed, "issue_") && times > 1 {
						t.Errorf("%s %d times", deed, times)
					}
				}
			}
			if !maps.Equal(started[0], started[1]) {
				t.Errorf("starts with due certificates:\n%v\nand without:\n%v", started[1], started[0])
			}
		})
	}
}

// TestUpgradeOfControlPlaneWithoutAPIServer checks the upgrade of a control plane whose API server or etcd does not run, so
// that its kubelet cannot report. The upgrade brings it back, and does not wait for it to be Ready
// before.
func TestUpgradeOfControlPlaneWithoutAPIServer(t *testing.T) {
	t.Parallel()
	for name, disturb := range map[string]func(o *operator){
		"interrupted when etcd was stopped": func(o *operator) {
			o.config.Clusters[0].Etcd.Args = []config.Arg{{Name: "snapshot-count", Value: "20000"}}
			o.cutIn("cp3/etcd", removesEtcd)
		},
		"interrupted when the API server was stopped": func(o *operator) { o.cutIn("cp3/control-plane", "remove_path") },
		"the API server is taken away":                func(o *operator) { o.edit(address(3), deletesAPI) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := raising(t, "1.36.0")
			disturb(o)
			o.edit(address(3), "power reboot")
			o.world.Advance(time.Minute)
			_, err := o.plan()
			o.must(err)
			if o.fleet.ClusterReports["prod"].Nodes["host-10-0-0-13"].Ready {
				t.Error("its Node is Ready")
			}
			o.must(o.carryOut())
			o.wantDone()
		})
	}
}

// TestUpgradeWaitsForReadyNode checks that the upgrade waits for a Node that is not Ready, unless the API
// server beside its kubelet, or etcd beside that, was last shown with another manifest: it does not
// come up with the present one.
func TestUpgradeWaitsForReadyNode(t *testing.T) {
	t.Parallel()
	o := raising(t, "1.36.0")
	for component, want := range map[string]bool{"kube-scheduler": true, "kube-apiserver": false, "etcd": false} {
		p := o.planSeeing(func(v *topology.Fleet) {
			c := v.ClusterReports["prod"]
			n, pod := c.Nodes["host-10-0-0-13"], c.StaticPods[component+"-host-10-0-0-13"]
			n.Ready, n.Silent = false, true
			pod.Ready, pod.Hash = false, "another"
			c.Nodes["host-10-0-0-13"], c.StaticPods[component+"-host-10-0-0-13"] = n, pod
		})
		s := stepOf(p, "cp3/control-plane")
		if s == nil {
			t.Fatalf("there is no such step:\n%s", describe(p))
		}
		if w, ok := s.Operations[0].(planner.Wait); (ok && w.For == planner.WaitNodeReady) != want {
			t.Errorf("with another %s it begins with %+v, want that the Node is waited for: %v", component, s.Operations[0], want)
		}
	}
}

// TestInterruptedUpgradeContinuesBesideJoin checks that an upgrade that was interrupted after it had stopped the
// API continues although nodes join: their token is created when the API is back.
func TestInterruptedUpgradeContinuesBesideJoin(t *testing.T) {
	t.Parallel()
	for planes, all := range map[int]size{1: {1, 1, "1.36.3"}, 2: {3, 1, "1.36.3"}} {
		t.Run(fmt.Sprint(planes), func(t *testing.T) {
			t.Parallel()
			o := running(t, planes, 0, "1.35.8")
			o.config = all.config()
			o.config.Clusters[0].Upgrade.AllowDowntime = true
			o.kubelets("1.36.3")
			o.cutIn(fmt.Sprintf("cp%d/etcd", planes), removesEtcd)
			p, err := o.plan()
			o.must(err)
			if o.fleet.ClusterReports["prod"] != nil {
				t.Error("the API answers")
			}
			if token, back := stepOf(p, "w1/kubelet-start"), stepOf(p, fmt.Sprintf("cp%d/control-plane", planes)); token == nil || back == nil || !waitsFor(p, token, back.ID) {
				t.Errorf("the token does not wait for the API:\n%s", describe(p))
			}
			o.must(o.carryOut())
			o.wantDone()
		})
	}
}
