package kube_test

import (
	"reflect"
	"testing"

	"github.com/kubewright/kubewright/state"
)

const metrics = `# HELP apiserver_requested_deprecated_apis [STABLE] Gauge of deprecated APIs that have been requested
# TYPE apiserver_requested_deprecated_apis gauge
apiserver_requested_deprecated_apis{group="",removed_release="",resource="endpoints",subresource="",version="v1"} 1
apiserver_requested_deprecated_apis{group="networking.k8s.io",removed_release="1.37",resource="ipaddresses",subresource="",version="v1beta1"} 1
apiserver_requested_deprecated_apis{group="networking.k8s.io",removed_release="1.37",resource="ipaddresses",subresource="status",version="v1beta1"} 1
apiserver_requested_deprecated_apis{group="storage.k8s.io",removed_release="1.37",resource="volumeattributesclasses",subresource="",version="v1beta1"} 0
apiserver_request_total{code="200",group="networking.k8s.io"} 7
`

// TestDeprecatedAPIsAreReportedOnce checks that a requested API that is to be removed is reported once,
// with its writers. Endpoints are deprecated and stay.
func TestDeprecatedAPIsAreReportedOnce(t *testing.T) {
	t.Parallel()
	_, h := start(t, func(_, method, path string, _ []byte) answer {
		switch {
		case method != "GET":
			t.Errorf("%s %s: it is only looked", method, path)
		case path == "/metrics":
			return answer{200, raw(metrics)}
		}
		entry := func(manager, version string) object { return object{"manager": manager, "apiVersion": version} }
		return answer{200, object{"kind": "IPAddressList", "apiVersion": "networking.k8s.io/v1beta1", "items": []object{
			{"kind": "IPAddress", "apiVersion": "networking.k8s.io/v1beta1", "metadata": object{"name": "a", "managedFields": []object{
				entry("kube-apiserver", "networking.k8s.io/v1"), entry("flux", "networking.k8s.io/v1beta1"),
			}}},
		}}}
	})
	got, err := open(t, h).DeprecatedAPIs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []state.DeprecatedAPI{{Group: "networking.k8s.io", Version: "v1beta1", Resource: "ipaddresses", Removed: "1.37", Users: []string{"flux (a)"}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
