package kubernetes_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubewright/kubewright/state/backend"
	"github.com/kubewright/kubewright/state/backend/backendtest"
	"github.com/kubewright/kubewright/state/backend/kubernetes"
	"github.com/kubewright/kubewright/state/backend/kubernetes/kubernetestest"
)

// settings returns the settings of a backend with a kubeconfig for this server.
func settings(t *testing.T, s *kubernetestest.Server, token string) backend.Settings {
	t.Helper()
	return backend.Settings{"secret_suffix": "prod", "config_path": s.Kubeconfig(t, token)}
}

func open(t *testing.T, s backend.Settings) *kubernetes.Backend {
	t.Helper()
	b, err := kubernetes.New(s, kubernetes.Operator{})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestConformance(t *testing.T) {
	t.Parallel()
	backendtest.Test(t, backendtest.Options{Most: corev1.MaxSecretSize + 1, New: func(t *testing.T) func() backend.Backend {
		s := kubernetestest.New(t)
		with := settings(t, s, s.Token)
		return func() backend.Backend { return open(t, with) }
	}})
}

const (
	secretPath = "/api/v1/namespaces/states/secrets/kubewright-state-prod"
	leasePath  = "/apis/coordination.k8s.io/v1/namespaces/states/leases/kubewright-lock-prod"
)

// TestStateObjectsInCluster checks the objects in the cluster as kubectl shows them, and that the lease
// outlives its holders.
func TestStateObjectsInCluster(t *testing.T) {
	t.Parallel()
	s := kubernetestest.New(t)
	b := open(t, settings(t, s, s.Token))
	if err := b.Write(t.Context(), nil, backend.Object{Data: []byte("one"), Lineage: "l1", Serial: 7}); err != nil {
		t.Fatal(err)
	}
	secret := corev1.Secret{}
	if err := json.Unmarshal(s.Object(secretPath), &secret); err != nil {
		t.Fatal(err)
	}
	if secret.Labels["app.kubernetes.io/managed-by"] != "kubewright" || secret.Annotations["kubewright.io/lineage"] != "l1" || secret.Annotations["kubewright.io/serial"] != "7" || secret.Type != corev1.SecretTypeOpaque {
		t.Errorf("the secret is %s", s.Object(secretPath))
	}
	for _, id := range []string{"r1", "r2"} {
		held, err := b.Lock(t.Context(), backendtest.Info(id))
		if err != nil {
			t.Fatal(err)
		}
		lease := coordinationv1.Lease{}
		if err := json.Unmarshal(s.Object(leasePath), &lease); err != nil {
			t.Fatal(err)
		}
		if lease.Labels["app.kubernetes.io/managed-by"] != "kubewright" || lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity != id ||
			lease.Spec.RenewTime == nil || lease.Spec.AcquireTime == nil || *lease.Spec.LeaseDurationSeconds != int32(backend.Silent/time.Second) {
			t.Errorf("the lease is %s", s.Object(leasePath))
		}
		holder, err := b.Holder(t.Context())
		if err != nil || holder.Renewed.IsZero() {
			t.Errorf("holder = %+v, %v", holder, err)
		}
		if err := held.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if s.Created(leasePath) != 1 {
		t.Errorf("the lease was created %d times", s.Created(leasePath))
	}
}

// TestConcurrentChangeIsDetected checks that the server detects changes between a read and a write.
func TestConcurrentChangeIsDetected(t *testing.T) {
	t.Parallel()
	s := kubernetestest.New(t)
	with := settings(t, s, s.Token)
	ann, bob, eve := open(t, with), open(t, with), open(t, with)
	// act runs do before the first request with this method is handled.
	act := func(method string, do func()) {
		var before func(string)
		before = func(m string) {
			if m == method {
				do()
				return
			}
			s.Before(before)
		}
		s.Before(before)
	}
	check := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	var held backend.Lock
	act("POST", func() {
		var err error
		held, err = bob.Lock(t.Context(), backendtest.Info("bob"))
		check("bob locks", err)
	})
	_, err := ann.Lock(t.Context(), backendtest.Info("ann"))
	locked := (*backend.LockedError)(nil)
	if !errors.As(err, &locked) || locked.Info.ID != "bob" {
		t.Fatalf("overtaken: error = %v", err)
	}
	act("PUT", func() { check("eve ends bob's lock", eve.ForceUnlock(t.Context(), "bob")) })
	if err := held.Confirm(t.Context()); !errors.Is(err, backend.ErrLost) {
		t.Errorf("a sign of life after the end: error = %v", err)
	}
	held, err = bob.Lock(t.Context(), backendtest.Info("bob2"))
	check("bob locks again", err)
	act("PUT", func() { check("bob lives", held.Confirm(t.Context())) })
	check("eve ends a lock that shows a sign of life", eve.ForceUnlock(t.Context(), "bob2"))
	if holder, err := ann.Holder(t.Context()); holder != nil || err != nil {
		t.Errorf("holder = %+v, %v", holder, err)
	}
}

// TestRemovedStateIsNotRecreated checks that a write does not recreate a state that was removed after it was
// read.
func TestRemovedStateIsNotRecreated(t *testing.T) {
	t.Parallel()
	s := kubernetestest.New(t)
	b := open(t, settings(t, s, s.Token))
	if err := b.Write(t.Context(), nil, backend.Object{Data: []byte("one"), Serial: 1}); err != nil {
		t.Fatal(err)
	}
	old, err := b.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.Put(secretPath, nil)
	if err := b.Write(t.Context(), old, backend.Object{Data: []byte("two"), Serial: 2}); !errors.Is(err, backend.ErrMoved) || s.Object(secretPath) != nil {
		t.Errorf("error = %v, there is %s", err, s.Object(secretPath))
	}
}

// TestUnlockKeepsLaterLock checks that ending the lock of one run leaves the lock of the next run
// alone, which took it between the read and the write.
func TestUnlockKeepsLaterLock(t *testing.T) {
	t.Parallel()
	s := kubernetestest.New(t)
	with := settings(t, s, s.Token)
	ann, bob, eve := open(t, with), open(t, with), open(t, with)
	gone, err := ann.Lock(t.Context(), backendtest.Info("ann"))
	if err != nil {
		t.Fatal(err)
	}
	var held backend.Lock
	s.Before(func(string) { // the read
		s.Before(func(string) { // the write
			if err := gone.Release(t.Context()); err != nil {
				t.Error(err)
			}
			if held, err = bob.Lock(t.Context(), backendtest.Info("bob")); err != nil {
				t.Error(err)
			}
		})
	})
	if err := eve.ForceUnlock(t.Context(), "ann"); !errors.Is(err, backend.ErrLocked) {
		t.Errorf("error = %v", err)
	}
	if err := held.Confirm(t.Context()); err != nil {
		t.Errorf("bob's lock: %v", err)
	}
}

// TestRefusalsNameRemedy checks that each refusal says what is wrong and what to do, and contains no token.
func TestRefusalsNameRemedy(t *testing.T) {
	t.Parallel()
	s := kubernetestest.New(t)
	forbidden := kubernetestest.New(t)
	forbidden.Refuse = apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "kubewright-state-prod", errors.New("no rule lets it"))
	full := kubernetestest.New(t)
	full.Refuse = apierrors.NewRequestEntityTooLargeError("limit is 3145728")
	elsewhere := settings(t, s, s.Token)
	elsewhere["namespace"] = "absent"
	closed := kubernetestest.New(t)
	closed.Close()
	for name, c := range map[string]struct {
		with backend.Settings
		kind error
		want string
	}{
		"wrong token":  {settings(t, s, "a-wrong-token"), backend.ErrRefused, "let the user of the kubeconfig get, create and update secrets and leases"},
		"no rights":    {settings(t, forbidden, s.Token), backend.ErrRefused, "let the user of the kubeconfig get, create and update secrets and leases"},
		"no namespace": {elsewhere, nil, "make the namespace: kubectl create namespace absent"},
		"too large":    {settings(t, full, s.Token), backend.ErrTooLarge, "keep this state in another backend"},
		"unreachable":  {settings(t, closed, s.Token), nil, "can be reached"},
	} {
		b := open(t, c.with)
		_, lockErr := b.Lock(t.Context(), backendtest.Info("r1"))
		for _, err := range []error{b.Write(t.Context(), nil, backend.Object{Data: []byte("x")}), lockErr} {
			if err == nil || !strings.Contains(err.Error(), c.want) || c.kind != nil && !errors.Is(err, c.kind) || strings.Contains(err.Error(), "token") {
				t.Errorf("%s: error = %v, want one with %q", name, err, c.want)
			}
		}
	}
	for _, suffix := range []string{"", "Prod", "a_b", "a/b", strings.Repeat("a", 250)} {
		with := settings(t, s, s.Token)
		with["secret_suffix"] = suffix
		want := `secret_suffix of the backend "kubernetes" makes the name kubewright-state-` + suffix + " of a Secret, which cannot be: "
		if suffix == "" {
			want = `the backend "kubernetes" needs secret_suffix: write it into the backend block`
		}
		if _, err := kubernetes.New(with, kubernetes.Operator{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("suffix %q: error = %v, want one with %q", suffix, err, want)
		}
	}
}

// TestUnusableKubeconfigErrors checks that the errors for unusable kubeconfigs say what is wrong, and reveal no
// secrets.
func TestUnusableKubeconfigErrors(t *testing.T) {
	t.Parallel()
	for want, cluster := range map[string]string{
		"its server in the kubeconfig has no URL as in https://api.example.com:6443":                 `{"server": "https://ann:to/ken@api.example.com"}`,
		"the proxy-url of a cluster in the kubeconfig is no URL as in http://proxy.example.com:3128": `{"server": "https://api.example.com", "proxy-url": "ann:to/ken@proxy"}`,
		"give config_path and config_context, or set KUBECONFIG":                                     `{"server": "https://api.example.com", "certificate-authority": "/does/not/exist"}`,
	} {
		path := filepath.Join(t.TempDir(), "kubeconfig")
		text := `{"apiVersion": "v1", "kind": "Config", "current-context": "c", "users": [{"name": "u", "user": {}}],
			"clusters": [{"name": "c", "cluster": ` + cluster + `}], "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]}`
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := kubernetes.New(backend.Settings{"secret_suffix": "prod", "config_path": path}, kubernetes.Operator{ConfigPath: kubernetes.CommandLine})
		if err == nil || !strings.Contains(err.Error(), `the backend "kubernetes" finds no way to its cluster: `) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "to/ken") {
			t.Errorf("error = %v, want one with %q", err, want)
		}
	}
}

// TestOversizedStateIsRefused checks that a state that is too large for a Secret is refused before it is sent.
func TestOversizedStateIsRefused(t *testing.T) {
	t.Parallel()
	s := kubernetestest.New(t)
	noise := make([]byte, corev1.MaxSecretSize+1<<10)
	if _, err := rand.Read(noise); err != nil {
		t.Fatal(err)
	}
	err := open(t, settings(t, s, s.Token)).Write(t.Context(), nil, backend.Object{Data: noise})
	for _, want := range []string{
		"the state has 1025 KiB, compressed ", " KiB, and a Secret holds 1024 KiB",
		"keep it in a backend without that limit (s3, pg, http): change the backend block and run kubewright init -migrate-state",
	} {
		if !errors.Is(err, backend.ErrTooLarge) || !strings.Contains(err.Error(), want) {
			t.Errorf("error = %v, want one with %q", err, want)
		}
	}
}

// TestForeignSecretContentIsRefused checks that a Secret with foreign content is not read as an empty state.
func TestForeignSecretContentIsRefused(t *testing.T) {
	t.Parallel()
	s := kubernetestest.New(t)
	b := open(t, settings(t, s, s.Token))
	s.Put(secretPath, []byte(`{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "kubewright-state-prod", "resourceVersion": "1"}, "data": {"state": "eA=="}}`))
	if o, err := b.Read(context.Background()); o != nil || err == nil || !strings.Contains(err.Error(), "the Secret's data is not what kubewright writes: ") || !strings.Contains(err.Error(), "put a copy of it back, or delete the Secret and make a state from the hosts with kubewright state recover") {
		t.Errorf("%+v, %v", o, err)
	}
}
