package kube_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// TestServiceAddressStillAllocatedIsRetryable checks the case that the address of a Service that does not exist yet
// is allocated nevertheless, for a minute after an interrupted request.
func TestServiceAddressStillAllocatedIsRetryable(t *testing.T) {
	t.Parallel()
	const refused = `Service "kube-dns" is invalid: spec.clusterIPs: Invalid value: ["10.96.0.10"]: failed to allocate IP 10.96.0.10: provided IP is already allocated`
	for name, c := range map[string]struct {
		message, others, want string
		passes                bool
	}{
		"leaked":         {refused, "10.96.0.1", "its address 10.96.0.10 is allocated, and no Service has it", true},
		"another has it": {refused, "10.96.0.10", "its address 10.96.0.10 is that of Service default/other", false},
		"another cause":  {`Service "kube-dns" is invalid: spec.ports: Required value`, "10.96.0.1", "spec.ports: Required value", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, h := start(t, func(_, method, path string, _ []byte) answer {
				if method == "GET" {
					return answer{200, object{"kind": "ServiceList", "apiVersion": "v1", "items": []object{
						{"metadata": object{"namespace": "default", "name": "other"}, "spec": object{"clusterIP": c.others, "clusterIPs": []string{c.others}}},
					}}}
				}
				return answer{422, object{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Invalid", "code": 422, "message": c.message}}
			})
			service := state.FromGo(object{
				"apiVersion": "v1", "kind": "Service", "metadata": object{"name": "kube-dns", "namespace": "kube-system"},
				"spec": object{"clusterIP": "10.96.0.10", "clusterIPs": []any{"10.96.0.10"}},
			})
			for _, createOnly := range []bool{false, true} {
				err := open(t, h).Apply(t.Context(), service, createOnly)
				if err == nil || !strings.Contains(err.Error(), c.want) || errors.Is(err, providers.ErrUnavailable) != c.passes {
					t.Errorf("created only: %t: %v, want a temporary error: %t, with %q", createOnly, err, c.passes, c.want)
				}
			}
		})
	}
}
