package providers_test

import (
	"strings"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// TestPerformerRewritesObjects checks that objects are stored again until etcd holds none of another
// key, and not at all if there are none.
func TestPerformerRewritesObjects(t *testing.T) {
	t.Parallel()
	op := planner.RewriteObjects{Resources: []string{"secrets"}, Key: "secretbox:a", Root: "/registry"}
	for name, c := range map[string]struct {
		stored    [][2]int
		rewritten int
		times     int
		want      string
	}{
		"done already":   {[][2]int{{5, 0}}, 5, 0, ""},
		"others":         {[][2]int{{0, 5}, {5, 0}}, 5, 1, ""},
		"one came late":  {[][2]int{{0, 5}, {4, 1}, {5, 0}}, 5, 2, ""},
		"no object":      {[][2]int{{0, 0}}, 0, 1, ""},
		"another writer": {[][2]int{{0, 5}, {3, 2}}, 5, 3, "cannot store secrets again: after 3 tries etcd still holds 2 objects without secretbox:a; an API server that is not in the configuration may write them"},
		"another prefix": {[][2]int{{0, 0}}, 5, 1, "cannot store secrets again: the API has 5, and etcd holds none below /registry/secrets/"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene()
			s.stored, s.rewritten = c.stored, c.rewritten
			_, err := s.perform(t, providers.Run{}, op)
			if got := strings.Count(strings.Join(s.log, "\n"), "API stores secrets again"); got != c.times {
				t.Errorf("stored again %d times, want %d", got, c.times)
			}
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestPerformerWaitsForEncryption checks what is said while an API server has not loaded the file of
// keys.
func TestPerformerWaitsForEncryption(t *testing.T) {
	t.Parallel()
	plain := &state.EncryptionInfo{Chains: map[string][]string{"secrets": {"secretbox:a"}}}
	for name, c := range map[string]struct {
		file, loaded string
		keys         *state.EncryptionInfo
		want         string
	}{
		"loaded":     {"1", "1", plain, ""},
		"no file":    {"", "1", plain, "/k is not there"},
		"no flag":    {"1", "", plain, "the API server reads no file of keys"},
		"old":        {"2", "1", plain, "the API server has not loaded it yet; it looks once a minute"},
		"unusable":   {"2", "1", nil, "the API server has not loaded it yet; it looks once a minute, and cannot use this file: no keys"},
		"KMS plugin": {"2", "1", &state.EncryptionInfo{Plugins: map[string]state.KMSPlugin{"kms:vault": {Endpoint: "unix:///k/s"}}}, "it looks once a minute, and does not while a KMS plugin does not answer: vault at unix:///k/s. See whether the plugin runs, and what kubectl get --raw /healthz/kms-providers says"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene()
			if c.file != "" {
				s.files["/k"] = c.file
			}
			s.loaded, s.keys, s.unusable = c.loaded, c.keys, "no keys"
			_, err := s.perform(t, providers.Run{}, planner.Wait{For: planner.WaitEncryption, Name: "/k"})
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
