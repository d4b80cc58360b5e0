package main

import (
	"net/http/httptest"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/providers/bundle"
	"github.com/kubewright/kubewright/providers/bundle/bundletest"
	"github.com/kubewright/kubewright/state"
)

// publish serves the downloads of bundle for Kubernetes 1.36.3 until the script ends.
func publish(ts *testscript.TestScript, _ bool, _ []string) {
	r := bundle.DefaultReleases()
	place := bundletest.New("1.36.3", r.Containerd, r.Runc, r.CNIPlugins, r.Crictl)
	server := httptest.NewServer(place)
	ts.Defer(server.Close)
	host := strings.TrimPrefix(server.URL, "http://")
	ts.Setenv("PLACE", host)
	c := config.NewCluster("vault", "1.36.3")
	c.ImageRepository = host
	for _, image := range kubeadm.Images(kubeadm.Input{Cluster: c, Node: &config.Node{Role: config.ControlPlane}, Facts: &state.Facts{}}) {
		ts.Check(place.Image(host, strings.TrimPrefix(image, host+"/")))
	}
}
