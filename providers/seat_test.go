package providers

import "testing"

// kubeadm binds a stacked member to the loopback address of the family that
// the API server is advertised in.
func TestEtcdURLHasTheFamilyOfTheAPI(t *testing.T) {
	t.Parallel()
	for api, want := range map[string]string{
		"10.77.0.11:6443":   "https://127.0.0.1:2379",
		"[fd00:77::b]:6443": "https://[::1]:2379",
		"cp1:6443":          "https://127.0.0.1:2379",
	} {
		if got := (Seat{API: api}).EtcdURL(); got != want {
			t.Errorf("etcd beside the API at %s is reached at %s, want %s", api, got, want)
		}
	}
}
