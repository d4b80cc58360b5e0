package kube_test

import (
	"errors"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kubewright/kubewright/providers"
)

// leaseServer keeps one lease as an API server does, versions included.
func leaseServer(t *testing.T) (*api, providers.API) {
	t.Helper()
	var there *coordinationv1.Lease
	versions := []string{"", "1", "2", "3", "4"}
	n := 0
	put := func(body []byte) answer {
		o, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
		if err != nil {
			return status(400, "BadRequest")
		}
		n++
		there = o.(*coordinationv1.Lease)
		there.APIVersion, there.Kind, there.ResourceVersion = "coordination.k8s.io/v1", "Lease", versions[n]
		return answer{200, there}
	}
	a, h := start(t, func(_, method, _ string, body []byte) answer {
		switch {
		case method == "POST" && there != nil:
			return status(409, "AlreadyExists")
		case method == "POST":
			return put(body)
		case there == nil:
			return status(404, "NotFound")
		case method == "GET":
			return answer{200, there}
		case method == "DELETE":
			there = nil
			return answer{200, object{"kind": "Status", "apiVersion": "v1", "status": "Success"}}
		}
		o, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
		if err != nil || o.(*coordinationv1.Lease).ResourceVersion != there.ResourceVersion {
			return status(409, "Conflict")
		}
		return put(body)
	})
	return a, open(t, h)
}

func TestLease(t *testing.T) {
	t.Parallel()
	a, client := leaseServer(t)
	if l, err := client.Lease(t.Context(), "kubewright-l1"); l != nil || err != nil {
		t.Fatalf("got %+v, %v of a lease that is not there", l, err)
	}
	at := time.Date(2026, time.March, 2, 9, 0, 0, 5000, time.UTC)
	mine := providers.Lease{
		Name: "kubewright-l1", Lineage: "l1", Run: "b71e", Who: "ada at@laptop", Token: 7, Since: at, Renewed: at.Add(time.Second), Duration: time.Minute,
	}
	var err error
	if mine.Version, err = client.PutLease(t.Context(), mine); err != nil || mine.Version != "1" {
		t.Fatalf("got version %q, %v", mine.Version, err)
	}
	got, err := client.Lease(t.Context(), mine.Name)
	if err != nil || !got.Since.Equal(mine.Since) || !got.Renewed.Equal(mine.Renewed) {
		t.Fatalf("got %+v, %v, want %+v", got, err, mine)
	}
	got.Since, got.Renewed = mine.Since, mine.Renewed
	if *got != mine {
		t.Errorf("got %+v, want %+v", got, mine)
	}
	second := mine
	second.Version = ""
	if _, err := client.PutLease(t.Context(), second); !errors.Is(err, providers.ErrMoved) {
		t.Errorf("a second one was made: %v", err)
	}
	if mine.Version, err = client.PutLease(t.Context(), mine); err != nil || mine.Version != "2" {
		t.Errorf("got version %q, %v", mine.Version, err)
	}
	second.Version = "1"
	if _, err := client.PutLease(t.Context(), second); !errors.Is(err, providers.ErrMoved) {
		t.Errorf("an older version was replaced: %v", err)
	}
	if err := client.DeleteLease(t.Context(), mine); err != nil {
		t.Error(err)
	}
	if err := client.DeleteLease(t.Context(), mine); err != nil {
		t.Errorf("one that is gone: %v", err)
	}
	if _, err := client.PutLease(t.Context(), mine); !errors.Is(err, providers.ErrMoved) {
		t.Errorf("one that is gone was replaced: %v", err)
	}
	if n := a.saw("kubernetes-admin DELETE /apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kubewright-l1"); n != 2 {
		t.Errorf("got requests %v", a.requests)
	}
}
