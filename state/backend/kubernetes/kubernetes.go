// Package kubernetes keeps a state in a Secret of a cluster, compressed, and its lock in a Lease.
// Both are written with the resource version that was read, so the API server refuses a write
// that another one has overtaken.
//
// The Lease names the holder of the lock and when that run last showed a sign of life. It is
// never taken over because it has expired: see package backend.
package kubernetes

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/backend"
	"github.com/kubewright/kubewright/state/safefile"
)

// Backend is a state in a Secret.
type Backend struct {
	client                         *clients
	host, namespace, secret, lease string
	secrets                        *state.Redactor

	own backend.Own
}

var _ backend.Backend = (*Backend)(nil)

// maxSecret is the API server's limit for the data of a Secret.
const maxSecret = corev1.MaxSecretSize

const (
	dataKey           = "state"
	lineageAnnotation = "kubewright.io/lineage"
	serialAnnotation  = "kubewright.io/serial"
	lockAnnotation    = "kubewright.io/lock"
)

// New returns the backend with these settings. It contacts nothing and runs no program; the
// operator's own kubeconfig may run one with the first request.
func New(s backend.Settings, o Operator) (*Backend, error) {
	if err := s.Need("kubernetes", "secret_suffix"); err != nil {
		return nil, err
	}
	secret := "kubewright-state-" + s["secret_suffix"]
	if wrong := validation.IsDNS1123Subdomain(secret); len(wrong) > 0 {
		return nil, fmt.Errorf("secret_suffix of the backend \"kubernetes\" makes the name %s of a Secret, which cannot be: %s", secret, strings.Join(wrong, "; "))
	}
	way, err := o.find(s)
	if errors.As(err, new(*untrustedError)) || errors.As(err, new(*ambientError)) {
		return nil, fmt.Errorf("the backend \"kubernetes\" does not use its kubeconfig: %w", err)
	}
	if err != nil {
		return nil, fmt.Errorf("the backend \"kubernetes\" finds no way to its cluster: %w; give config_path and config_context, or set KUBECONFIG", hide(err, way.secrets))
	}
	config := way.config
	token, _ := safefile.ReadLinked(config.BearerTokenFile, 1<<20) // a pod's; without one there is nothing to hide
	secrets := way.secrets.And(state.NewRedactor(append(backend.BasicSecrets(config.Username, config.Password), config.BearerToken, strings.TrimSpace(string(token)))))
	host, ok := plain(config.Host)
	if !ok {
		return nil, fmt.Errorf("the backend \"kubernetes\" finds no way to its cluster: %w", errNoURL)
	}
	// No client-side limit of client-go (five requests a second), which is made for programs that
	// watch a cluster: here each command makes a few requests, two more renew the sign of life
	// every Heartbeat, and a run that waits for a lock pauses between tries. An overloaded server
	// asks to retry later, which client-go respects. A client-side limit could only delay a sign
	// of life or the end of a lock.
	config.QPS = -1
	client, err := connect(config)
	if err != nil {
		return nil, hide(err, secrets)
	}
	return &Backend{
		client: client, host: host, namespace: way.namespace, secrets: secrets,
		secret: secret, lease: "kubewright-lock-" + s["secret_suffix"],
	}, nil
}

var errNoURL = errors.New("its server in the kubeconfig has no URL as in https://api.example.com:6443")

// plain returns the address of a server without user and password; ok is false when it cannot be
// parsed, so that any part of it may be a password.
func plain(host string) (address string, ok bool) {
	full := host
	if !strings.Contains(host, "://") { // HOST:PORT
		full = "https://" + host
	}
	u, err := url.Parse(full)
	switch {
	case err != nil, u.User != nil && (u.RawQuery != "" || u.Fragment != ""):
		return "", false
	case u.User == nil:
		return host, true
	}
	u.User = nil
	return u.String(), true
}

// badProxy is the beginning of client-go's error about a proxy-url, which it quotes.
const badProxy = "invalid 'proxy-url'"

// hide returns an error of client-go about a kubeconfig without the secrets in it.
func hide(err error, secrets *state.Redactor) error {
	if strings.Contains(err.Error(), badProxy) {
		return errors.New("the proxy-url of a cluster in the kubeconfig is no URL as in http://proxy.example.com:3128")
	}
	return backend.Hide(err, secrets)
}

// String returns the Secret with its server and namespace.
func (b *Backend) String() string {
	return fmt.Sprintf("secret %s/%s at %s", b.namespace, b.secret, b.host)
}

// fail turns an error of the API into one with a remedy.
func (b *Backend) fail(ctx context.Context, op string, err error) error {
	e := &backend.Error{Op: op, Place: b.String(), Err: backend.Hide(backend.Cause(ctx, err), b.secrets), Remedy: "see that the API server can be reached from here, and run the same command again"}
	switch {
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		e.Kind = backend.ErrRefused
		e.Remedy = "let the user of the kubeconfig get, create and update secrets and leases of coordination.k8s.io in this namespace"
	case apierrors.IsNotFound(err):
		e.Remedy = "make the namespace: kubectl create namespace " + state.ShellWord(b.namespace)
	case apierrors.IsRequestEntityTooLargeError(err), apierrors.HasStatusCause(err, metav1.CauseType(field.ErrorTypeTooLong)):
		e.Kind, e.Remedy = backend.ErrTooLarge, "keep this state in another backend"
	}
	return e
}

// Read implements backend.Backend.
func (b *Backend) Read(ctx context.Context) (*backend.Object, error) {
	const op = "read state"
	secret, err := b.client.core.Secrets(b.namespace).Get(ctx, b.secret, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, b.fail(ctx, op, err)
	}
	data, err := unpack(secret.Data[dataKey])
	if backend.IsLarge(err) {
		return nil, backend.TooLarge(op, b.String())
	}
	if err != nil {
		return nil, &backend.Error{Op: op, Place: b.String(), Err: err, Problem: "the Secret's data is not what kubewright writes", Remedy: "put a copy of it back, or delete the Secret and make a state from the hosts with kubewright state recover"}
	}
	return &backend.Object{Data: data, Version: secret.ResourceVersion}, nil
}

func pack(data []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	_, err = w.Write(data)
	err = errors.Join(err, w.Close()) // writes the gzip trailer
	return b.Bytes(), err
}

func unpack(packed []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return backend.ReadAll(r, -1)
}

// Write implements backend.Backend.
func (b *Backend) Write(ctx context.Context, old *backend.Object, next backend.Object) error {
	const op = "write state"
	packed, err := pack(next.Data)
	if err != nil {
		return err
	}
	if len(packed) > maxSecret {
		return &backend.Error{
			Op: op, Place: b.String(), Kind: backend.ErrTooLarge,
			Problem: fmt.Sprintf("the state has %d KiB, compressed %d KiB, and a Secret holds %d KiB", len(next.Data)>>10, len(packed)>>10, maxSecret>>10),
			Remedy:  "keep it in a backend without that limit (s3, pg, http): change the backend block and run kubewright init -migrate-state",
		}
	}
	if err := b.own.Confirm(ctx, b); err != nil {
		return err
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name: b.secret, Namespace: b.namespace, Labels: map[string]string{"app.kubernetes.io/managed-by": "kubewright"},
			Annotations: map[string]string{lineageAnnotation: next.Lineage, serialAnnotation: strconv.FormatInt(next.Serial, 10)},
		},
		Type: corev1.SecretTypeOpaque, Data: map[string][]byte{dataKey: packed},
	}
	secrets := b.client.core.Secrets(b.namespace)
	if old == nil {
		_, err = secrets.Create(ctx, secret, metav1.CreateOptions{})
	} else {
		secret.ResourceVersion = old.Version
		_, err = secrets.Update(ctx, secret, metav1.UpdateOptions{})
	}
	switch {
	case err == nil:
		return nil
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err), old != nil && apierrors.IsNotFound(err):
		return backend.Moved(b.String())
	}
	return b.fail(ctx, op, err)
}
