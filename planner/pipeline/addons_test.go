package pipeline_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/pipeline"
	"github.com/kubewright/kubewright/state"
)

// object returns an object for an addon's manifest.
func object(apiVersion, kind, namespace, name string) state.Value {
	meta := map[string]any{"name": name}
	if namespace != "" {
		meta["namespace"] = namespace
	}
	return state.FromGo(map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": meta})
}

// acts returns the operations of an addon's step, in order.
func acts(p *planner.Plan, addon string) []string {
	var out []string
	for _, s := range p.Steps {
		if s.Target != state.AddonTarget("prod", addon) {
			continue
		}
		for _, op := range s.Operations {
			out = append(out, op.Summary())
		}
	}
	return out
}

// TestAddonObjectsApplyInDependencyOrder checks that objects that others depend on are applied first and pruned last; the
// others are applied in the order of the manifest.
func TestAddonObjectsApplyInDependencyOrder(t *testing.T) {
	t.Parallel()
	cfg := cluster(1, 1)
	addon := &config.Addon{Name: "tools", Objects: documents(
		object("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "", "asks"),
		object("v1", "ServiceAccount", "tools", "second"),
		object("example.org/v1", "Agent", "default", "first"),
		object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "agents.example.org"),
		object("v1", "Namespace", "", "tools"),
	)}
	cfg.Clusters[0].Addons = []*config.Addon{addon}
	o := newOperator(t, cfg)
	p, err := o.plan()
	o.must(err)
	inOrder(t, acts(p, "tools"), "apply Namespace tools", "apply CustomResourceDefinition", "apply ServiceAccount second", "apply Agent first", "apply ValidatingWebhookConfiguration")
	o.must(o.apply())
	o.wantNothing()

	addon.Objects = addon.Objects[1:4]
	addon.Objects[0].Value = object("v1", "ServiceAccount", "default", "third")
	p, err = o.plan()
	o.must(err)
	inOrder(t, acts(p, "tools"), "apply ServiceAccount third", "delete admissionregistration.k8s.io/v1/ValidatingWebhookConfiguration", "delete v1/ServiceAccount/tools/second", "delete v1/Namespace/tools")
	if i := slices.IndexFunc(p.Steps, func(s planner.Step) bool { return s.Target.Type == state.TypeAddon }); p.Steps[i].Impact != "deletes the namespace tools with everything in it" {
		t.Errorf("the impact is %q", p.Steps[i].Impact)
	}
}

func inOrder(t *testing.T, got []string, want ...string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got %q, want %q", got, want)
	}
	for i := range want {
		if !strings.Contains(got[i], want[i]) {
			t.Errorf("%d is %q, want %q", i, got[i], want[i])
		}
	}
}

// TestAddonObjectMovesWithoutDeletion checks that objects that move to another addon, or to another version of
// their API, are not deleted and belong to the new address from then on.
func TestAddonObjectMovesWithoutDeletion(t *testing.T) {
	t.Parallel()
	cfg := cluster(1, 1)
	addon := &config.Addon{Name: "old", Objects: documents(object("example.org/v1beta1", "Agent", "default", "one"))}
	cfg.Clusters[0].Addons = []*config.Addon{addon}
	o := newOperator(t, cfg)
	o.must(o.apply())

	addon.Name = "new"
	p, err := o.plan()
	o.must(err)
	if got := append(acts(p, "old"), acts(p, "new")...); len(got) != 0 {
		t.Errorf("the plan does %q", got)
	}
	o.must(o.apply())
	o.wantNothing()
	addon.Objects[0].Value = object("example.org/v1", "Agent", "default", "one")
	p, err = o.plan()
	o.must(err)
	if got := strings.Join(acts(p, "new"), "\n"); strings.Contains(got, "delete") {
		t.Errorf("the plan does %q", got)
	}
	o.must(o.apply())
	cfg.Clusters[0].Addons = nil
	p, err = o.plan()
	o.must(err)
	inOrder(t, acts(p, "new"), "delete example.org/v1/Agent/default/one")
	o.must(o.apply())
	o.wantNothing()
}

// TestAddonWaitsForNamespaceAndKind checks that an addon waits for the addon with its namespace or its kind. Two
// addons that depend on each other do not form a cycle.
func TestAddonWaitsForNamespaceAndKind(t *testing.T) {
	t.Parallel()
	kind := state.FromGo(map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "agents.example.org"},
		"spec": map[string]any{"group": "example.org", "names": map[string]any{"kind": "Agent"}},
	})
	cfg := cluster(1, 1)
	cfg.Clusters[0].Addons = []*config.Addon{
		{Name: "agents", Objects: documents(object("example.org/v1", "Agent", "default", "one"))},
		{Name: "apps", Objects: documents(object("v1", "ServiceAccount", "tools", "robot"), object("v1", "Namespace", "", "apps"))},
		{Name: "kinds", Objects: documents(kind, object("v1", "Namespace", "", "tools"), object("v1", "ServiceAccount", "apps", "robot"))},
	}
	p, err := newOperator(t, cfg).plan()
	if err != nil {
		t.Fatal(err)
	}
	kinds := state.Address{Target: state.AddonTarget("prod", "kinds"), Phase: "addon"}
	for _, s := range p.Steps {
		if s.Target.Type != state.TypeAddon {
			continue
		}
		if waits := slices.Contains(s.Needs, kinds); waits == (s.Target.Key == "kinds") {
			t.Errorf("%s waits for %v", s.ID, s.Needs)
		}
	}
}

// documents returns manifest objects from values.
func documents(values ...state.Value) []config.AddonObject {
	var out []config.AddonObject
	for _, v := range values {
		out = append(out, config.AddonObject{Value: v})
	}
	return out
}

// TestAddonRefusesManagedObject checks that an addon cannot have an object that a phase of kubewright
// manages, unless the configuration leaves that object to the user.
func TestAddonRefusesManagedObject(t *testing.T) {
	t.Parallel()
	cfg := cluster(1, 1)
	cfg.Clusters[0].UploadCerts = true
	cfg.Clusters[0].BootstrapTokens = []config.BootstrapToken{{TTL: time.Hour}}
	o := newOperator(t, cfg)
	p, err := o.plan()
	o.must(err)
	addon := &config.Addon{Name: "mine"}
	cfg.Clusters[0].Addons = []*config.Addon{addon}
	read := []string{"Deployment coredns", "DaemonSet kube-proxy", "ConfigMap kubelet-config", "ConfigMap kubeadm-config", "ConfigMap cluster-info", "Role kubeadm:kubeadm-certs"}
	kept := 0
	for _, s := range p.Steps {
		for _, op := range s.Operations {
			apply, ok := op.(planner.ApplyObject)
			if !ok || s.Target != state.ClusterTarget("prod") {
				continue
			}
			kept++
			addon.Objects = documents(apply.Object)
			name := apply.Object.Get("kind").AsString() + " " + apply.Object.Get("metadata.name").AsString()
			diags := pipeline.Check(cfg)
			if refused := diags.HasErrors(); refused == (name == "ConfigMap coredns") {
				t.Errorf("%s: refused: %v", name, refused)
			}
			if slices.Contains(read, name) {
				show(t, diags...)
			}
		}
	}
	if kept < 20 {
		t.Errorf("%d objects are kept", kept)
	}

	addon.Objects = documents(object("v1", "Secret", "kube-system", "kubeadm-certs"))
	show(t, pipeline.Check(cfg)...)
	if !pipeline.Check(cfg).HasErrors() {
		t.Error("kubeadm-certs is not refused")
	}
	addon.Objects = documents(object("apps/v1beta1", "Deployment", "kube-system", "coredns"), object("v1", "Service", "kube-system", "kube-dns"))
	if got := pipeline.Check(cfg); len(got) != 2 {
		t.Errorf("another version of the API: %v", got)
	}
	cfg.Clusters[0].SkipPhases = []string{"addon/coredns"}
	if got := pipeline.Check(cfg); len(got) != 0 {
		t.Errorf("CoreDNS is skipped: %v", got)
	}
	cfg.Clusters[0].SkipPhases, cfg.Clusters[0].DNS.Disabled = nil, true
	if got := pipeline.Check(cfg); len(got) != 0 {
		t.Errorf("CoreDNS is disabled: %v", got)
	}
	addon.Objects = documents(object("v1", "Service", "default", "kube-dns"), object("v1", "ConfigMap", "kube-system", "mine"))
	cfg.Clusters[0].DNS.Disabled = false
	if got := pipeline.Check(cfg); len(got) != 0 {
		t.Errorf("unrelated objects of these names: %v", got)
	}
}
