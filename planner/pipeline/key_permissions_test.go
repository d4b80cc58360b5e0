package pipeline_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// loosened lists files with a private key of a control plane, and the edit that loosens each.
var loosened = map[string]string{
	"/etc/kubernetes/pki/ca.key":             "mode 0644",
	"/etc/kubernetes/pki/front-proxy-ca.key": "owner nobody:root",
	"/etc/kubernetes/pki/etcd/ca.key":        "owner nobody:nogroup",
	"/etc/kubernetes/pki/apiserver.key":      "mode 0666",
	"/etc/kubernetes/pki/etcd/peer.key":      "mode 0640",
	"/etc/kubernetes/pki/sa.key":             "mode 0644",
	"/etc/kubernetes/admin.conf":             "mode 0644",
	"/etc/kubernetes/super-admin.conf":       "mode 0604",
	"/etc/kubernetes/scheduler.conf":         "owner nobody:root",
	"/etc/kubernetes/kubelet.conf":           "mode 0666",
}

// TestKeyModeAndOwnerDriftIsCorrected checks that a private key with a wrong mode or owner is drift, and that only these
// are corrected: nothing is issued, written or restarted.
func TestKeyModeAndOwnerDriftIsCorrected(t *testing.T) {
	t.Parallel()
	o := founded(t, 3, 1)
	before := o.keyFiles("10.0.0.11")
	for path, edit := range loosened {
		o.edit("10.0.0.11", "file "+path+" "+edit)
	}
	o.edit("10.0.0.21", "file /etc/kubernetes/kubelet.conf mode 0604")
	p, err := o.plan()
	o.must(err)
	if len(p.Drift) != len(loosened)+1 || len(p.Changes) != len(loosened)+1 {
		t.Errorf("%d items drifted and %d change, want %d:\n%s", len(p.Drift), len(p.Changes), len(loosened)+1, describe(p))
	}
	for _, want := range []string{`key_mode: "0644" -> "0600"`, `key_owner: "nobody:nogroup" -> "root:root"`, `key_mode: "0666" -> "0600"`, `mode: "0666" -> "0600"`, `mode: "0604" -> "0600"`} {
		if !strings.Contains(describe(p), want) {
			t.Errorf("the plan does not show %s:\n%s", want, describe(p))
		}
	}
	o.wantOnlyAccess(p, len(loosened)+1)
	for _, c := range p.Certificates {
		if c.Changed {
			t.Errorf("the plan replaces %s", c.Path)
		}
	}
	o.must(o.carryOut())
	o.wantNothing()
	if after := o.keyFiles("10.0.0.11"); after != before {
		t.Errorf("the files were\n%s\nand are\n%s", before, after)
	}
}

// wantOnlyAccess checks that a plan changes mode and owner of that many files, and nothing else.
func (o *operator) wantOnlyAccess(p *planner.Plan, count int) {
	o.t.Helper()
	var done []string
	for _, s := range p.Steps {
		for _, op := range s.Operations {
			if _, ok := op.(planner.SetAccess); !ok {
				o.t.Errorf("%s has another operation: %s", s.ID, op.Summary())
			}
			done = append(done, s.Target.Key+" "+op.Summary())
		}
	}
	if len(done) != count {
		o.t.Errorf("got %q", done)
	}
}

// TestSuppliedKeyModeDriftIsCorrected checks the same for supplied keys, even if they are no longer in the folder.
func TestSuppliedKeyModeDriftIsCorrected(t *testing.T) {
	t.Parallel()
	h := withoutKeys(t, 1, 1)
	o := newOperator(t, h.config)
	o.must(o.apply())
	clear(h.files())
	o.edit("10.0.0.11", "file /etc/kubernetes/admin.conf mode 0644", "file /etc/kubernetes/pki/etcd/peer.key owner nobody:nogroup")
	o.edit("10.0.0.21", "file /etc/kubernetes/kubelet.conf mode 0604")
	p, err := o.plan()
	o.must(err)
	o.wantOnlyAccess(p, 3)
	if len(p.Drift) != 3 {
		t.Errorf("drift: %v", p.Drift)
	}
	o.must(o.carryOut())
	o.wantNothing()
}

// keyFiles returns mode, owner, content and time of the loosened files.
func (o *operator) keyFiles(address string) string {
	o.t.Helper()
	var q state.Query
	for path := range loosened {
		q.Files = append(q.Files, state.FileQuery{Path: path, Read: state.ReadDigest})
	}
	slices.SortFunc(q.Files, func(a, b state.FileQuery) int { return strings.Compare(a.Path, b.Path) })
	r, err := o.world.Host(address).Observe(o.t.Context(), q)
	o.must(err)
	var b strings.Builder
	for _, f := range q.Files {
		got := r.Files[f.Path]
		fmt.Fprintf(&b, "%s %s %s %s %s\n", f.Path, got.Mode, got.Owner, got.SHA256, got.Modified)
	}
	return b.String()
}

// TestStricterKeyModeIsNoDrift checks that a stricter mode than kubeadm's is no drift.
func TestStricterKeyModeIsNoDrift(t *testing.T) {
	t.Parallel()
	o := founded(t, 1, 1)
	for path := range loosened {
		o.edit("10.0.0.11", "file "+path+" mode 0400")
	}
	o.edit("10.0.0.21", "file /etc/kubernetes/kubelet.conf mode 0400")
	o.wantNothing()
	if p := o.result.Plan; len(p.Drift) > 0 {
		t.Errorf("drift: %v", p.Drift)
	}
	// Another difference of the same file is corrected alone.
	o.edit("10.0.0.11", "file /etc/kubernetes/pki/ca.key owner nobody:root")
	o.must(o.apply())
	o.wantNothing()
	if !strings.Contains(o.keyFiles("10.0.0.11"), "/etc/kubernetes/pki/ca.key 0400 root:root") {
		t.Errorf("got %s", o.keyFiles("10.0.0.11"))
	}
}

// TestStricterManifestModeIsNoDrift checks that stricter modes of manifests and of the kubelet's files, as on
// hardened hosts, are no drift. The kubelet's files keep theirs when they are written.
func TestStricterManifestModeIsNoDrift(t *testing.T) {
	t.Parallel()
	kubelets := []string{"/var/lib/kubelet/config.yaml", "/var/lib/kubelet/instance-config.yaml", "/var/lib/kubelet/kubeadm-flags.env"}
	o := founded(t, 1, 1)
	for _, path := range kubelets {
		o.edit("10.0.0.11", "file "+path+" mode 0600")
		o.edit("10.0.0.21", "file "+path+" mode 0400")
	}
	for _, component := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
		o.edit("10.0.0.11", "file /etc/kubernetes/manifests/"+component+".yaml mode 0400")
	}
	o.wantNothing()
	if p := o.result.Plan; len(p.Drift) > 0 {
		t.Errorf("drift: %v", p.Drift)
	}
	cl := o.config.Clusters[0]
	cl.Kubelet.Config, cl.Kubelet.Args = state.FromGo(map[string]any{"maxPods": 50}), []config.Arg{{Name: "v", Value: "3"}}
	cl.APIServer.Args = []config.Arg{{Name: "audit-log-maxage", Value: "30"}}
	o.must(o.apply())
	o.wantNothing()
	for address, want := range map[string]string{"10.0.0.11": "0600", "10.0.0.21": "0400"} {
		for _, path := range kubelets {
			r, err := o.world.Host(address).Observe(t.Context(), state.Query{Files: []state.FileQuery{{Path: path}}})
			o.must(err)
			if got := r.Files[path].Mode; got != want {
				t.Errorf("%s of %s has the mode %s, want %s", path, address, got, want)
			}
		}
	}
	// A looser or a different mode is drift.
	o.edit("10.0.0.11", "file "+kubelets[0]+" mode 0620")
	o.edit("10.0.0.21", "file "+kubelets[0]+" mode 0666")
	p, err := o.plan()
	o.must(err)
	if len(p.Drift) != 2 || len(p.Changes) != 2 {
		t.Errorf("%d items drifted and %d change, want 2:\n%s", len(p.Drift), len(p.Changes), describe(p))
	}
}

// TestLinkedKeyModeIsCorrectedAtTarget checks that for a symbolic link the mode and owner of its target count and are
// corrected there. The link stays.
func TestLinkedKeyModeIsCorrectedAtTarget(t *testing.T) {
	t.Parallel()
	o := founded(t, 3, 1)
	elsewhere := func(path string) string { return "/srv/keys" + strings.TrimPrefix(path, "/etc/kubernetes") }
	for path := range loosened {
		o.edit("10.0.0.11", "file "+path+" move "+elsewhere(path))
	}
	o.must(o.apply()) // restarts the components that have read the files
	o.wantNothing()
	if p := o.result.Plan; len(p.Drift) > 0 {
		t.Errorf("drift: %v", p.Drift)
	}
	for path, edit := range loosened {
		o.edit("10.0.0.11", "file "+elsewhere(path)+" "+edit)
	}
	p, err := o.plan()
	o.must(err)
	if len(p.Drift) != len(loosened) {
		t.Errorf("%d items drifted, want %d:\n%s", len(p.Drift), len(loosened), describe(p))
	}
	o.wantOnlyAccess(p, len(loosened))
	for _, s := range p.Steps {
		for _, op := range s.Operations {
			if path := op.(planner.SetAccess).Path; !strings.HasPrefix(path, "/srv/keys/") {
				t.Errorf("%s is changed", path)
			}
		}
	}
	o.must(o.carryOut())
	o.wantNothing()
	r, err := o.world.Host("10.0.0.11").Observe(t.Context(), state.Query{Files: []state.FileQuery{{Path: "/etc/kubernetes/pki/ca.key"}, {Path: "/srv/keys/pki/ca.key"}}})
	o.must(err)
	if link, file := r.Files["/etc/kubernetes/pki/ca.key"], r.Files["/srv/keys/pki/ca.key"]; link.Type != "link" || file.Mode != "0600" {
		t.Errorf("got %+v and %+v", link, file)
	}
}

// TestDanglingKeyLinkIsReplaced checks that a link without a target counts as a missing key and is reported, and
// that the restored file replaces the link.
func TestDanglingKeyLinkIsReplaced(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/etc/kubernetes/pki/sa.key": "invalid", "/etc/kubernetes/pki/apiserver.key": "apiserver.key holds no private key", "/etc/kubernetes/admin.conf": "invalid",
	} {
		o := founded(t, 3, 0)
		o.edit("10.0.0.12", "file "+path+" move /srv/key", "file /srv/key delete")
		p, err := o.plan()
		o.must(err)
		if len(p.Drift) == 0 || !strings.Contains(describe(p), want) {
			t.Errorf("%s: the plan does not show %s:\n%s", path, want, describe(p))
		}
		o.must(o.carryOut())
		o.wantNothing()
	}
}

// TestReissuedFileGetsModeAndOwner checks that a file that is reissued for another reason gets the right mode and
// owner.
func TestReissuedFileGetsModeAndOwner(t *testing.T) {
	t.Parallel()
	o := founded(t, 1, 0)
	o.edit("10.0.0.11", "time 8300h")
	for path, edit := range loosened {
		o.edit("10.0.0.11", "file "+path+" "+edit)
	}
	o.must(o.apply())
	o.wantNothing()
}

// TestStateWithoutKeyModesShowsNoDrift checks that a state without mode and owner of keys, as earlier versions
// recorded it, shows no drift.
func TestStateWithoutKeyModesShowsNoDrift(t *testing.T) {
	t.Parallel()
	o := founded(t, 1, 1)
	recorded := *o.recorded
	recorded.Items = slices.Clone(recorded.Items)
	for i := range recorded.Items {
		it := &recorded.Items[i]
		if it.Kind != state.KindCertificate && it.Address.Phase != "kubelet-finalize" && it.Address.Phase != "kubelet-wait-bootstrap" {
			continue
		}
		m := maps.Clone(it.Attributes.AsMap())
		maps.DeleteFunc(m, func(key string, _ state.Value) bool {
			return strings.HasSuffix(key, "mode") || strings.HasSuffix(key, "owner")
		})
		it.Attributes = state.Map(m)
	}
	o.recorded = &recorded
	o.wantNothing()
	if p := o.result.Plan; len(p.Drift) > 0 {
		t.Errorf("drift: %v", p.Drift)
	}
	o.edit("10.0.0.11", "file /etc/kubernetes/pki/ca.key mode 0644")
	o.must(o.apply())
	o.wantNothing()
}
