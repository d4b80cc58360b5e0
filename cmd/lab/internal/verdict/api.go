package verdict

import (
	"crypto/tls"
	"encoding/json"
	"net"
	"net/http"
	"path/filepath"
	"strings"
)

// serve answers as an API without objects but for the node, in the second network of a cell:
// kube-proxy asks for its node before it validates the rest.
func serve(c *cell, pki string) error {
	pair, err := tls.LoadX509KeyPair(filepath.Join(pki, "apiserver.crt"), filepath.Join(pki, "apiserver.key"))
	if err != nil {
		return err
	}
	var listener net.Listener
	err = c.inNetwork(1, func() (err error) {
		listener, err = net.Listen("tcp", "10.0.0.2:6443")
		return err
	})
	if err != nil {
		return err
	}
	server := http.Server{Handler: http.HandlerFunc(answer), TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}}
	go func() { _ = server.ServeTLS(listener, "", "") }() // it ends with the process
	return nil
}

var node = map[string]any{
	"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"name": "verdict", "resourceVersion": "1"},
	"spec":   map[string]any{"podCIDR": "10.244.0.0/24", "podCIDRs": []any{"10.244.0.0/24"}},
	"status": map[string]any{"addresses": []any{map[string]any{"type": "InternalIP", "address": "10.0.0.2"}}},
}

var lists = map[string]string{"services": "v1/ServiceList", "endpointslices": "discovery.k8s.io/v1/EndpointSliceList", "servicecidrs": "networking.k8s.io/v1/ServiceCIDRList", "nodes": "v1/NodeList"}

// answer answers one request.
func answer(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	name := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	var body any
	q := r.URL.Query()
	switch kind := lists[name]; {
	case q.Get("sendInitialEvents") != "": // clients then list
		w.WriteHeader(http.StatusUnprocessableEntity)
		body = map[string]any{"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "Invalid", "code": 422}
	case q.Get("watch") != "":
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		return
	case r.URL.Path == "/api/v1/nodes/verdict":
		body = node
	case kind != "":
		i := strings.LastIndex(kind, "/")
		items := []any{}
		if name == "nodes" {
			items = append(items, node)
		}
		body = map[string]any{"apiVersion": kind[:i], "kind": kind[i+1:], "metadata": map[string]any{"resourceVersion": "1"}, "items": items}
	case name == "healthz" || name == "livez" || name == "readyz":
		body = "ok"
	default:
		w.WriteHeader(http.StatusNotFound)
		body = map[string]any{"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404}
	}
	_ = json.NewEncoder(w).Encode(body) // a client that is gone needs no answer
}
