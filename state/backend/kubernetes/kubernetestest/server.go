// Package kubernetestest serves Secrets and Leases to tests the way an API server does.
package kubernetestest

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes/scheme"
)

// Server keeps Secrets and Leases of one namespace with the API server's rules: a create fails if
// the object exists, an update if it carries an old resource version.
type Server struct {
	*httptest.Server
	// Namespace is the only namespace, and Token the token that is allowed everything.
	Namespace, Token string
	// Refuse is the answer to every request, if it is set.
	Refuse *apierrors.StatusError

	mu      sync.Mutex
	version int
	objects map[string][]byte // by path
	created map[string]int    // how often each was created
	before  func(method string)
}

// New starts a server that stops with the test.
func New(t *testing.T) *Server {
	t.Helper()
	s := &Server{Namespace: "states", Token: "a-token-of-the-test", objects: map[string][]byte{}, created: map[string]int{}}
	s.Server = httptest.NewTLSServer(s) // clients send no token over plain HTTP
	t.Cleanup(s.Close)
	return s
}

// Kubeconfig returns the path of a kubeconfig for this server, with a token.
func (s *Server) Kubeconfig(t *testing.T, token string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	text := fmt.Sprintf(`{"apiVersion": "v1", "kind": "Config", "current-context": "c",
		"clusters": [{"name": "c", "cluster": {"server": %q, "certificate-authority-data": %q}}], "users": [{"name": "u", "user": {"token": %q}}],
		"contexts": [{"name": "c", "context": {"cluster": "c", "user": "u", "namespace": %q}}]}`, s.URL, base64.StdEncoding.EncodeToString(ca), token, s.Namespace)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Before runs a function before the next request, with the method of the request.
func (s *Server) Before(do func(method string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = do
}

// Object returns the object at a path; nil when there is none.
func (s *Server) Object(path string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects[path]
}

// Put stores an object at a path without validation; nil removes it.
func (s *Server) Put(path string, object []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if object == nil {
		delete(s.objects, path)
		return
	}
	s.objects[path] = object
}

// Created returns how often an object was created at a path.
func (s *Server) Created(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.created[path]
}

// object is a Secret or a Lease.
type object interface {
	metav1.Object
	runtime.Object
}

// resources maps the path prefix of each served kind to its group and resource.
var resources = map[string]schema.GroupResource{
	"/api/v1/":                      {Resource: "secrets"},
	"/apis/coordination.k8s.io/v1/": {Group: "coordination.k8s.io", Resource: "leases"},
}

func empty(r schema.GroupResource) object {
	if r.Resource == "secrets" {
		return &corev1.Secret{}
	}
	return &coordinationv1.Lease{}
}

// maxRequest is the most that an API server reads of a request (3 MiB, its default).
const maxRequest = 3 << 20

// ServeHTTP answers the way an API server does.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	before := s.before
	s.before = nil
	s.mu.Unlock()
	if before != nil {
		before(r.Method)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	answer, code, err := s.answer(r)
	if err != nil {
		status := err.ErrStatus
		code = int(status.Code)
		status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
		answer, _ = json.Marshal(status)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(answer)
}

func (s *Server) answer(r *http.Request) ([]byte, int, *apierrors.StatusError) {
	if r.Header.Get("Authorization") != "Bearer "+s.Token {
		return nil, 0, apierrors.NewUnauthorized("Unauthorized")
	}
	if s.Refuse != nil {
		return nil, 0, s.Refuse
	}
	for prefix, resource := range resources {
		rest, ok := strings.CutPrefix(r.URL.Path, prefix+"namespaces/")
		namespace, rest, _ := strings.Cut(rest, "/")
		kind, name, _ := strings.Cut(rest, "/")
		if !ok || kind != resource.Resource {
			continue
		}
		found := s.objects[r.URL.Path]
		switch {
		case r.Method == http.MethodGet && found == nil, r.Method == http.MethodPut && found == nil:
			return nil, 0, apierrors.NewNotFound(resource, name)
		case r.Method == http.MethodGet:
			return found, http.StatusOK, nil
		case r.Method == http.MethodPost && name == "", r.Method == http.MethodPut:
			return s.store(r, resource, namespace, name)
		}
	}
	return nil, 0, apierrors.NewGenericServerResponse(http.StatusMethodNotAllowed, r.Method, schema.GroupResource{}, r.URL.Path, "the server does not know this", 0, true)
}

func (s *Server) store(r *http.Request, resource schema.GroupResource, namespace, name string) ([]byte, int, *apierrors.StatusError) {
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxRequest))
	if err != nil {
		return nil, 0, apierrors.NewRequestEntityTooLargeError(err.Error())
	}
	o := empty(resource)
	if _, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, o); err != nil { // JSON or protobuf
		return nil, 0, apierrors.NewBadRequest(err.Error())
	}
	path, code := r.URL.Path, http.StatusOK
	if r.Method == http.MethodPost {
		path, code = path+"/"+o.GetName(), http.StatusCreated
		switch {
		case namespace != s.Namespace:
			return nil, 0, apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, namespace)
		case o.GetResourceVersion() != "":
			return nil, 0, apierrors.NewBadRequest("resourceVersion should not be set on objects to be created")
		}
	} else if o.GetName() != name {
		return nil, 0, apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", o.GetName(), name))
	}
	if problems := invalid(o); len(problems) > 0 {
		return nil, 0, apierrors.NewInvalid(schema.GroupKind{Group: resource.Group, Kind: resource.Resource}, o.GetName(), problems)
	}
	if err := s.compare(path, o, resource, code == http.StatusCreated); err != nil {
		return nil, 0, err
	}
	s.version++
	o.SetResourceVersion(strconv.Itoa(s.version))
	o.SetNamespace(namespace)
	data, err := json.Marshal(o)
	if err != nil {
		return nil, 0, apierrors.NewInternalError(err)
	}
	s.objects[path] = data
	return data, code, nil
}

// compare refuses a create of an existing object and an update that another one has overtaken.
func (s *Server) compare(path string, o object, resource schema.GroupResource, create bool) *apierrors.StatusError {
	there, found := s.objects[path]
	if create {
		if found {
			return apierrors.NewAlreadyExists(resource, o.GetName())
		}
		s.created[path]++
		return nil
	}
	old := empty(resource)
	if err := json.Unmarshal(there, old); err != nil {
		return apierrors.NewInternalError(err)
	}
	// An update without a version overwrites, as in a real server.
	if v := o.GetResourceVersion(); v != "" && v != old.GetResourceVersion() {
		return apierrors.NewConflict(resource, o.GetName(), fmt.Errorf("the object has been modified; please apply your changes to the latest version and try again"))
	}
	return nil
}

// invalid returns what the API server's validation reports: names, annotations, size of a Secret.
func invalid(o object) field.ErrorList {
	out := field.ErrorList{}
	meta := field.NewPath("metadata")
	for _, text := range validation.NameIsDNSSubdomain(o.GetName(), false) {
		out = append(out, field.Invalid(meta.Child("name"), o.GetName(), text))
	}
	out = append(out, validation.ValidateAnnotations(o.GetAnnotations(), meta.Child("annotations"))...)
	if secret, ok := o.(*corev1.Secret); ok {
		size := 0
		for _, value := range secret.Data {
			size += len(value)
		}
		if size > corev1.MaxSecretSize {
			out = append(out, field.TooLong(field.NewPath("data"), "", corev1.MaxSecretSize))
		}
	}
	return out
}
