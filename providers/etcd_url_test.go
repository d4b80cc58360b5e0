package providers

import "testing"

// TestEtcdURLHasAddressFamilyOfAPI checks that the URL uses the loopback address of the
// family in which the API server is advertised; kubeadm binds a stacked member to it.
func TestEtcdURLHasAddressFamilyOfAPI(t *testing.T) {
	t.Parallel()
	for api, want := range map[string]string{
		"10.77.0.11:6443":   "https://127.0.0.1:2379",
		"[fd00:77::b]:6443": "https://[::1]:2379",
		"cp1:6443":          "https://127.0.0.1:2379",
	} {
		if got := (Seat{API: api}).EtcdURL(); got != want {
			t.Errorf("etcd next to the API at %s is reached at %s, want %s", api, got, want)
		}
	}
}
