package rotation_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/planner/rotation"
	"github.com/kubewright/kubewright/planner/topology"
	tt "github.com/kubewright/kubewright/planner/topology/topologytest"
	"github.com/kubewright/kubewright/state"
)

const sa = pki + "/sa"

// accepts makes the API server of a control plane accept tokens of public keys.
func accepts(t state.Target, keys ...string) tt.Change {
	return tt.File(t, sa+".pub", func(f *state.FileReport) { f.Exists, f.PublicKeys = true, keys })
}

// signs makes a control plane sign tokens with a key that was written at a time.
func signs(t state.Target, key string, since time.Time) tt.Change {
	return tt.File(t, sa+".key", func(f *state.FileReport) { f.Exists, f.SHA256, f.Modified = true, key, since })
}

// nextKey makes a control plane have the new pair.
func nextKey(t state.Target, key string) tt.Change {
	return func(v *topology.Fleet) {
		tt.File(t, sa+"-next.pub", func(f *state.FileReport) { f.Exists, f.PublicKeys = true, []string{key} })(v)
		tt.File(t, sa+"-next.key", func(f *state.FileReport) { f.Exists, f.SHA256 = true, key })(v)
	}
}

// changed joins changes.
func changed(changes ...tt.Change) tt.Change {
	return func(v *topology.Fleet) {
		for _, c := range changes {
			c(v)
		}
	}
}

func keyProgress(r *topology.KeyRotation) string {
	if r == nil {
		return "none"
	}
	text := fmt.Sprintf("%s to %q on %s", r.Old, r.New, topology.ShortName(r.Source))
	for _, flag := range []struct {
		set  bool
		name string
	}{{r.Begun, "begun"}, {r.Signing, "signing"}, {r.Signed, "signed"}, {r.Dropping, "dropping"}, {r.Due, "due"}} {
		if flag.set {
			text += ", " + flag.name
		}
	}
	if r.Held != "" {
		text += ", until " + r.Held
	}
	return text
}

// TestKeyRotationFindsProgress checks how far the rotation of the service account keys has got, and
// what it waits for before the old key is dropped.
func TestKeyRotationFindsProgress(t *testing.T) {
	t.Parallel()
	now := tt.Now
	usual := changed(accepts(tt.CP(1), "k1"), accepts(tt.CP(2), "k1"), signs(tt.CP(1), "k1", now.AddDate(-1, 0, 0)), signs(tt.CP(2), "k1", now.AddDate(-1, 0, 0)))
	trusted := changed(usual, nextKey(tt.CP(1), "k2"), accepts(tt.CP(1), "k1", "k2"), accepts(tt.CP(2), "k1", "k2"))
	// signed makes both sign with the new key since a time.
	signed := func(since time.Time) tt.Change {
		return changed(trusted, signs(tt.CP(1), "k2", since.Add(-time.Hour)), signs(tt.CP(2), "k2", since), func(v *topology.Fleet) {
			v.ClusterReports[tt.Label].TokensSeen = true
		})
	}
	secret := func(key string) tt.Change {
		return func(v *topology.Fleet) {
			v.ClusterReports[tt.Label].TokenSecrets = []state.TokenSecret{{Namespace: "default", Name: "robot", Key: key}}
		}
	}
	const begins, all = `k1 to "k2" on cp1, begun`, `k1 to "k2" on cp1, begun, signing, signed`
	yesterday := now.Add(-25 * time.Hour)
	for _, c := range []struct {
		name    string
		changes []tt.Change
		want    string
	}{
		{"nothing is requested", []tt.Change{usual}, "none"},
		{"it is requested", []tt.Change{usual, requests("service-account")}, `k1 to "" on cp1`},
		{"another rotation is requested", []tt.Change{usual, requests("ca")}, "none"},
		{"both keys are accepted", []tt.Change{trusted}, begins},
		{"a key that no API server accepts", []tt.Change{usual, nextKey(tt.CP(1), "k9")}, "none"},
		{"one signs with the new key", []tt.Change{trusted, signs(tt.CP(2), "k2", now)}, begins + ", signing"},
		{"a component has not read the new key", []tt.Change{signed(now.Add(-time.Hour)), tt.Host(tt.CP(1), func(r *state.Report) {
			r.Started = map[string]time.Time{"kube-controller-manager": now.AddDate(0, -1, 0)}
		})}, begins + ", signing"},
		{"all sign with it since an hour", []tt.Change{signed(now.Add(-time.Hour))}, all + ", until 2030-01-02 00:00 UTC, when kubelets have renewed the tokens of all pods"},
		{"all sign with it since a day and an hour", []tt.Change{signed(yesterday)}, all + ", due"},
		{"an API server was restarted since", []tt.Change{signed(yesterday), tt.Host(tt.CP(1), func(r *state.Report) {
			r.Started = map[string]time.Time{"kube-apiserver": now.Add(-2 * time.Hour)}
		})}, all + ", until 2030-01-01 23:00 UTC, when kubelets have renewed the tokens of all pods"},
		{"the Secrets are unknown", []tt.Change{signed(yesterday), func(v *topology.Fleet) { v.ClusterReports[tt.Label].TokensSeen = false }}, all + ", until the Secrets with tokens were observed"},
		{"a Secret has a token of the old key", []tt.Change{signed(yesterday), secret("k1")}, all + ", until no Secret holds a token of the old key"},
		{"a Secret has a token of an unknown key", []tt.Change{signed(yesterday), secret("")}, all + ", until no Secret holds a token of the old key"},
		{"a Secret has a token of the new key", []tt.Change{signed(yesterday), secret("k2")}, all + ", due"},
		{"a node joins", []tt.Change{signed(yesterday), tt.Wiped(tt.W(1))}, all + `, until nothing else of the cluster changes (node.worker["w1"] would join)`},
		{"the API is silent", []tt.Change{signed(yesterday), tt.SilentAPI()}, all + ", until the API answers"},
		{"the operator skips the wait", []tt.Change{signed(now.Add(-time.Hour)), func(v *topology.Fleet) { v.Skipped = []string{topology.TokenPausePhase} }}, all + ", due"},
		{"the old key is dropped on one", []tt.Change{signed(now.Add(-time.Hour)), accepts(tt.CP(1), "k2")}, all + ", dropping, due"},
		{"the cluster is destroyed", []tt.Change{trusted, func(v *topology.Fleet) { v.Destroy = true }}, "none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := keyProgress(rotation.KeyRotation(tt.Running(2, 1, c.changes...).Clusters[0])); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestRotationQueriesTokenSecrets checks when the Secrets with tokens are queried.
func TestRotationQueriesTokenSecrets(t *testing.T) {
	t.Parallel()
	observed := func(files map[string]state.FileReport) *state.Report { return &state.Report{Files: files} }
	requested := []topology.Rotation{{Cluster: state.ClusterTarget(tt.Label), CA: "service-account"}}
	for _, c := range []struct {
		name     string
		label    string
		rotate   []topology.Rotation
		observed *state.Report
		want     bool
	}{
		{"no rotation", tt.Label, nil, observed(map[string]state.FileReport{sa + ".pub": {Exists: true, PublicKeys: []string{"k1"}}}), false},
		{"it is requested", tt.Label, requested, observed(nil), true},
		{"that of another cluster is requested", "other", requested, observed(nil), false},
		{"a CA is requested", tt.Label, []topology.Rotation{{Cluster: state.ClusterTarget(tt.Label), CA: "ca"}}, observed(nil), false},
		{"the new pair is there", tt.Label, nil, observed(map[string]state.FileReport{sa + "-next.pub": {Exists: true}}), true},
		{"two keys are accepted", tt.Label, nil, observed(map[string]state.FileReport{sa + ".pub": {Exists: true, PublicKeys: []string{"k1", "k2"}}}), true},
	} {
		if got := rotation.AsksForTokens(tt.Config(1, 0), c.label, c.rotate, c.observed); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

// TestKeyRotationPaths checks which files of a rotation are removed, the public key last, by which
// the rotation is recognized.
func TestKeyRotationPaths(t *testing.T) {
	t.Parallel()
	got, want := rotation.KeyRotationPaths(sa), []string{sa + "-old.pub", sa + "-next.key", sa + "-next.pub"}
	if !slices.Equal(got, want) {
		t.Errorf("got %s, want %s", strings.Join(got, ", "), strings.Join(want, ", "))
	}
}
