package kubernetes_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubewright/kubewright/state/backend"
	"github.com/kubewright/kubewright/state/backend/backendtest"
	"github.com/kubewright/kubewright/state/backend/kubernetes/kubernetestest"
)

// TestExpiredLeaseIsStillALock checks that a Lease that expired years ago is still a lock.
func TestExpiredLeaseIsStillALock(t *testing.T) {
	t.Parallel()
	s := kubernetestest.New(t)
	b := open(t, settings(t, s, s.Token))
	if _, err := b.Lock(t.Context(), backendtest.Info("r1")); err != nil {
		t.Fatal(err)
	}
	lease := coordinationv1.Lease{}
	if err := json.Unmarshal(s.Object(leasePath), &lease); err != nil {
		t.Fatal(err)
	}
	long := metav1.NewMicroTime(time.Date(2020, time.January, 1, 0, 0, 0, 0, time.UTC))
	lease.Spec.RenewTime, lease.Spec.AcquireTime = &long, &long
	text, err := json.Marshal(lease)
	if err != nil {
		t.Fatal(err)
	}
	s.Put(leasePath, text)
	if _, err := open(t, settings(t, s, s.Token)).Lock(t.Context(), backendtest.Info("r2")); !errors.Is(err, backend.ErrLocked) {
		t.Errorf("error = %v", err)
	}
}
