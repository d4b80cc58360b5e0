package main

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"

	"k8s.io/client-go/kubernetes/scheme"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"
	"k8s.io/cluster-bootstrap/token/jws"
)

// api is an API server that only stores objects.
type api struct {
	mu sync.Mutex
	// objects are by path; order lists the paths by their creation.
	objects map[string]map[string]any
	order   []string
	// patches are the received patches, by path.
	patches map[string]any
	pki     string
	cert    *tls.Certificate
}

func newAPI(node string) *api {
	a := &api{objects: map[string]map[string]any{}, patches: map[string]any{}}
	a.objects["/api/v1/nodes/"+node] = map[string]any{
		"apiVersion": "v1", "kind": "Node",
		"metadata": map[string]any{"name": node, "labels": map[string]any{"kubernetes.io/hostname": node}},
	}
	return a
}

// trust sets the folder with the certificate of the API.
func (a *api) trust(pki string) { a.pki = pki }

// certificate loads the API server's key pair at its first use: kubeadm creates it only then, and
// moves it away later.
func (a *api) certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.cert == nil {
		pair, err := tls.LoadX509KeyPair(filepath.Join(a.pki, "apiserver.crt"), filepath.Join(a.pki, "apiserver.key"))
		if err != nil {
			return nil, err
		}
		a.cert = &pair
	}
	return a.cert, nil
}

func (a *api) listen(addresses []string) error {
	for _, address := range addresses {
		l, err := net.Listen("tcp", address)
		if err != nil {
			return err
		}
		server := &http.Server{Handler: a, TLSConfig: &tls.Config{GetCertificate: a.certificate}}
		go server.ServeTLS(l, "", "")
	}
	return nil
}

// ServeHTTP implements http.Handler.
func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	sent := decode(body)
	switch r.Method {
	case http.MethodGet:
		if o, ok := a.objects[r.URL.Path]; ok {
			answer(w, http.StatusOK, o)
			return
		}
		if list, ok := listOf(r.URL.Path); ok {
			answer(w, http.StatusOK, list)
			return
		}
		answer(w, http.StatusNotFound, map[string]any{
			"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404, "message": "not found",
		})
	case http.MethodPost:
		metadata, _ := sent["metadata"].(map[string]any)
		path := r.URL.Path + "/" + fmt.Sprint(metadata["name"])
		a.order = append(a.order, path)
		a.objects[path] = sent
		answer(w, http.StatusCreated, sent)
	case http.MethodPut:
		a.objects[r.URL.Path] = sent
		answer(w, http.StatusOK, sent)
	case http.MethodPatch:
		a.patches[r.URL.Path] = sent
		answer(w, http.StatusOK, a.objects[r.URL.Path])
	default:
		answer(w, http.StatusOK, map[string]any{"apiVersion": "v1", "kind": "Status", "status": "Success"})
	}
}

// decode decodes an object that was sent as JSON or in Kubernetes' protobuf form.
func decode(body []byte) map[string]any {
	if o, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil); err == nil && !json.Valid(body) {
		kinds, _, err := scheme.Scheme.ObjectKinds(o)
		if err != nil {
			return nil
		}
		o.GetObjectKind().SetGroupVersionKind(kinds[0])
		body, _ = json.Marshal(o)
	}
	var sent map[string]any
	_ = json.Unmarshal(body, &sent)
	return sent
}

func answer(w http.ResponseWriter, code int, o map[string]any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(o)
}

// listOf returns an empty list of a resource that kubeadm lists.
func listOf(path string) (map[string]any, bool) {
	for resource, kind := range map[string]string{
		"/deployments": "apps/v1 DeploymentList", "/daemonsets": "apps/v1 DaemonSetList",
		"/nodes": "v1 NodeList", "/pods": "v1 PodList", "/secrets": "v1 SecretList", "/configmaps": "v1 ConfigMapList",
	} {
		if strings.HasSuffix(path, resource) {
			version, name, _ := strings.Cut(kind, " ")
			return map[string]any{"apiVersion": version, "kind": name, "metadata": map[string]any{}, "items": []any{}}, true
		}
	}
	return nil, false
}

// saved is what kubeadm created in the API, in order.
type saved struct {
	Objects []map[string]any `json:"objects"`
	Patches map[string]any   `json:"patches"`
}

func (a *api) save(path string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := saved{Patches: a.patches}
	for _, p := range a.order {
		if !strings.Contains(p, "/secrets/") {
			s.Objects = append(s.Objects, a.objects[p])
		}
	}
	return writeJSON(path, s)
}

// signClusterInfo signs cluster-info for a token, as the controller manager's signer does.
func (a *api) signClusterInfo(token string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	info, ok := a.objects["/api/v1/namespaces/kube-public/configmaps/"+bootstrapapi.ConfigMapClusterInfo]
	if !ok {
		return fmt.Errorf("kubeadm init made no cluster-info")
	}
	data := info["data"].(map[string]any)
	id, secret, _ := strings.Cut(token, ".")
	signature, err := jws.ComputeDetachedSignature(data["kubeconfig"].(string), id, secret)
	if err != nil {
		return err
	}
	data[bootstrapapi.JWSSignatureKeyPrefix+id] = signature
	return nil
}
