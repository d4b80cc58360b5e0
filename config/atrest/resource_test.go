package atrest_test

import (
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config/atrest"
)

func TestCheckResource(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"secrets": "", "widgets.example.com": "", "*.": "wildcard", "pods/log": "subresource", "Secrets": "capital letters", "a_b": "no resource",
		"apiserveripinfo": "not stored as objects", "events.events.k8s.io": "stored as \"events\"", "ingresses.extensions": "no longer has",
	} {
		if got := atrest.CheckResource(name); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
