package elsewhere_test

import (
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config/elsewhere"
)

func TestInsteadNormalizesSpelling(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"clusterConfiguration", "ClusterConfiguration", "cluster_configuration", "cluster-configuration"} {
		if text := elsewhere.Instead(elsewhere.Language, name); !strings.Contains(text, "kubewright import") {
			t.Errorf("%s: %q", name, text)
		}
	}
	if text := elsewhere.Instead(elsewhere.Language, "join"); text != "" {
		t.Errorf("a command counts as a part of the language: %s", text)
	}
}

// TestNamesHaveOneEntry checks that each name stands once in its table, and that each entry says
// something in whole sentences.
func TestNamesHaveOneEntry(t *testing.T) {
	t.Parallel()
	for _, kind := range []elsewhere.Kind{elsewhere.Language, elsewhere.Command, elsewhere.Flag} {
		seen := map[string]bool{}
		for _, name := range elsewhere.Names(kind) {
			if normal := elsewhere.Normal(name); seen[normal] {
				t.Errorf("%s is there twice", name)
			} else {
				seen[normal] = true
			}
			text, code, hasCode := strings.Cut(elsewhere.Instead(kind, name), "\n\n  ")
			if end := text[len(text)-1:]; hasCode && (end != ":" || code == "") || !hasCode && end != "." {
				t.Errorf("%s: %q ends with %q", name, text, end)
			}
		}
	}
}
