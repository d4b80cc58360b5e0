package hosts

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/providers"
)

// A probed is a host that answers 200, and notes what it was asked.
type probed struct {
	providers.Host
	asked []string
}

func (p *probed) HTTPStatus(_ context.Context, url, ca string) (int, error) {
	p.asked = append(p.asked, url+" "+ca)
	return http.StatusOK, nil
}

// TestServesAsksLoopback checks where static pods are asked whether they serve. The API names the
// probes, and could name any address that the host reaches.
func TestServesAsksLoopback(t *testing.T) {
	t.Parallel()
	seat := providers.Seat{API: "10.0.0.11:6443", Folder: "/pki"}
	for _, c := range []struct{ name, probe, asked string }{
		{"kube-apiserver-cp1", "https://192.0.2.1/readyz", "https://10.0.0.11:6443/readyz /pki/ca.crt"},
		{"kube-scheduler-cp1", "https://127.0.0.1:10259/livez", "https://127.0.0.1:10259/livez "},
		{"etcd-cp1", "http://[::1]:2381/readyz", "http://[::1]:2381/readyz "},
		{"kube-scheduler-cp1", "https://192.0.2.1:10259/livez", ""},
		{"kube-scheduler-cp1", "https://localhost.example.com/readyz", ""},
		{"kube-scheduler-cp1", "file:///etc/passwd", ""},
		{"kube-scheduler-cp1", "", ""},
	} {
		h := &probed{}
		err := serves(t.Context(), h, c.name, c.probe, seat)
		if err != nil && !strings.Contains(err.Error(), "is not on loopback") {
			t.Errorf("%s at %q: %v", c.name, c.probe, err)
		}
		if asked := c.asked != ""; asked != (err == nil) || asked != slices.Equal(h.asked, []string{c.asked}) {
			t.Errorf("%s at %q: asked %q, %v", c.name, c.probe, h.asked, err)
		}
	}
}
