package cli

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// askedHost is a host that notes which files it is asked for.
type askedHost struct {
	providers.Host
	asked []string
}

func (h *askedHost) ReadSecrets(_ context.Context, paths []string) (map[string]state.Secret, error) {
	h.asked = append(h.asked, paths...)
	return map[string]state.Secret{}, nil
}

// TestRemember: a host is asked once for a file, also for one that it does not
// have, such as super-admin.conf on all control planes but the founder.
func TestRemember(t *testing.T) {
	t.Parallel()
	host := &askedHost{}
	report := &state.Report{Secrets: map[string]state.Secret{"/admin": state.NewSecret([]byte("key"))}}
	remembering := (*realWorld)(nil).remember(host, []string{"/admin", "/super-admin"}, report)
	for _, c := range []struct{ read, found, asked string }{
		{"/admin /super-admin", "/admin", ""},
		{"/super-admin", "", ""},
		{"/admin /other", "", "/admin /other"},
	} {
		host.asked = nil
		got, err := remembering.ReadSecrets(t.Context(), strings.Fields(c.read))
		if err != nil {
			t.Fatal(err)
		}
		if found := strings.Join(slices.Sorted(maps.Keys(got)), " "); found != c.found {
			t.Errorf("reading %s found %q, want %q", c.read, found, c.found)
		}
		if asked := strings.Join(host.asked, " "); asked != c.asked {
			t.Errorf("reading %s asked the host for %q, want %q", c.read, asked, c.asked)
		}
	}
}
