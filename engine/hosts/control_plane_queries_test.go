package hosts

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// seenHost is a host with a fixed report.
type seenHost struct {
	providers.Host
	report *state.Report
}

func (h seenHost) Observe(context.Context, state.Query) (*state.Report, error) { return h.report, nil }

func (h seenHost) Close() error { return nil }

// mutePlanes are clusters in which no API server answers, so that every permitted one is asked.
type mutePlanes struct {
	World
	asked []string
}

func (w *mutePlanes) Access() providers.Access { return muteAccess{planes: w} }

// muteAccess opens no API and no etcd.
type muteAccess struct {
	providers.Access
	planes *mutePlanes
}

func (w *mutePlanes) Remember(h providers.Host, _ []string, _ *state.Report) providers.Host { return h }

func (a muteAccess) API(_ context.Context, _ providers.Host, endpoint string) (providers.API, error) {
	a.planes.asked = append(a.planes.asked, endpoint)
	return nil, errors.New("kube-apiserver is starting")
}

func (muteAccess) Etcd(context.Context, providers.Host, []string, string) (providers.Etcd, error) {
	return nil, errors.New("etcd is starting")
}

// askedPlane is what a control plane shows about its cluster.
type askedPlane struct {
	// held are the CAs in its ca.crt; kept are the CAs beside it, in a file of a rotation.
	held, kept []string
	file       string
	marks      *state.Marks
}

func (p askedPlane) report() *state.Report {
	file := func(cas []string) state.FileReport {
		f := state.FileReport{Exists: true}
		for _, ca := range cas {
			f.Certificates = append(f.Certificates, state.CertificateInfo{KeyDigest: ca})
		}
		return f
	}
	r := &state.Report{Marks: p.marks, Files: map[string]state.FileReport{}, Secrets: map[string]state.Secret{"/etc/kubernetes/admin.conf": state.NewSecret([]byte("key"))}}
	r.Files["/etc/kubernetes/pki/ca.crt"] = file(p.held)
	if p.file != "" {
		r.Files["/etc/kubernetes/pki/"+p.file] = file(p.kept)
	}
	return r
}

// asked returns the control planes whose API servers are asked, in this order, if the one at
// first answers before the others.
func asked(recorded string, first int, planes []askedPlane) []string {
	cfg := &config.Config{Clusters: []*config.Cluster{config.NewCluster("prod", "1.36.3")}}
	w := &mutePlanes{}
	f := &Hosts{World: w}
	for i, p := range planes {
		name := "cp" + string(rune('1'+i))
		t := state.NodeKeyTarget("cp", name)
		cfg.Nodes = append(cfg.Nodes, &config.Node{Target: t, Cluster: "prod", Role: config.ControlPlane, Address: name})
		host := seenHost{report: p.report()}
		f.Members = append(f.Members, &Member{
			Target: t, Cluster: "prod", Plane: true, address: name, host: host,
			open: func(context.Context) (providers.Host, error) { return host, nil },
		})
	}
	var st *state.State
	if recorded != "" {
		st = &state.State{Clusters: map[string]*state.RecordedCluster{"prod": {CA: recorded}}}
	}
	o := newObserver(f, cfg, st)
	o.cluster(context.Background(), f.Members[first], planes[first].report())
	for i := range w.asked {
		w.asked[i] = w.asked[i][:len("cp1")]
	}
	return w.asked
}

// TestControlPlanesOfTheClusterAreAsked checks that, if the first API server does not answer, every
// other one of the same cluster is asked, even during a rotation of the CA, and none on a host
// of another cluster.
func TestControlPlanesOfTheClusterAreAsked(t *testing.T) {
	t.Parallel()
	of := func(cas ...string) askedPlane { return askedPlane{held: cas} }
	marked := func(ca string, former ...string) askedPlane {
		return askedPlane{held: []string{"new"}, marks: &state.Marks{ClusterCA: ca, FormerCAs: former}}
	}
	dropped := askedPlane{held: []string{"new"}, file: "ca-old.crt", kept: []string{"old"}}
	ended := askedPlane{held: []string{"new"}, file: "ca-ended.crt", kept: []string{"old"}}
	rotated := marked("new", "old")
	for name, c := range map[string]struct {
		recorded string
		planes   []askedPlane
		// asked are the control planes that are asked, whichever answers first.
		asked []string
	}{
		"one CA":                      {"old", []askedPlane{of("old"), of("old"), of("old")}, []string{"cp1", "cp2", "cp3"}},
		"nothing recorded":            {"", []askedPlane{of("old"), of("old"), of("old")}, []string{"cp1", "cp2", "cp3"}},
		"both trusted":                {"old", []askedPlane{of("old", "new"), of("old"), of("old")}, []string{"cp1", "cp2", "cp3"}},
		"the old one dropped on 1":    {"old", []askedPlane{dropped, of("old", "new"), of("old", "new")}, []string{"cp1", "cp2", "cp3"}},
		"dropped everywhere":          {"old", []askedPlane{dropped, dropped, dropped}, []string{"cp1", "cp2", "cp3"}},
		"rotated on some":             {"old", []askedPlane{rotated, rotated, dropped}, []string{"cp1", "cp2", "cp3"}},
		"rotated":                     {"old", []askedPlane{rotated, rotated, rotated}, []string{"cp1", "cp2", "cp3"}},
		"replaced at once":            {"old", []askedPlane{ended, of("new"), of("new")}, []string{"cp1", "cp2", "cp3"}},
		"rotated, and another":        {"old", []askedPlane{rotated, rotated, of("other")}, []string{"cp1", "cp2"}},
		"dropped, and another":        {"old", []askedPlane{dropped, of("other"), of("other", "third")}, []string{"cp1"}},
		"another that was rotated":    {"old", []askedPlane{rotated, {held: []string{"other"}, marks: &state.Marks{ClusterCA: "other", FormerCAs: []string{"before"}}}, dropped}, []string{"cp1", "cp3"}},
		"another with our mark":       {"old", []askedPlane{rotated, {held: []string{"other"}, marks: &state.Marks{ClusterCA: "new", FormerCAs: []string{"old"}}}, dropped}, []string{"cp1", "cp3"}},
		"another, and one that joins": {"old", []askedPlane{of("old"), of("other"), {}}, []string{"cp1"}},
	} {
		for first := range c.planes {
			got := asked(c.recorded, first, c.planes)
			slices.Sort(got)
			if !slices.Equal(got, c.asked) {
				t.Errorf("%s, cp%d first: %q are asked, want %q", name, first+1, got, c.asked)
			}
		}
	}
}
