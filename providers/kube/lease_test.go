package kube_test

import (
	"errors"
	"testing"
	"time"

	"github.com/kubewright/kubewright/providers"
)

func TestLeaseLifecycle(t *testing.T) {
	t.Parallel()
	_, a, client := stored(t)
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

// TestLeaseReleaseKeepsLaterHolder checks that a release leaves a lease that was taken or renewed since.
func TestLeaseReleaseKeepsLaterHolder(t *testing.T) {
	t.Parallel()
	s, _, client := stored(t)
	mine := providers.Lease{Name: "kubewright-l1", Run: "mine", Who: "ada at@laptop"}
	theirs := providers.Lease{Name: "kubewright-l1", Run: "theirs", Who: "bob at@laptop"}
	var err error
	if mine.Version, err = client.PutLease(t.Context(), mine); err != nil {
		t.Fatal(err)
	}
	theirs.Version = mine.Version
	if _, err := client.PutLease(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	if err := client.DeleteLease(t.Context(), mine); err != nil {
		t.Error(err)
	}
	if got, err := client.Lease(t.Context(), mine.Name); err != nil || got == nil || got.Run != "theirs" {
		t.Errorf("got %+v, %v of %d objects", got, err, len(s.objects))
	}
}
