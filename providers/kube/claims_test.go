package kube_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/state"
)

// requirement returns a requirement of a volume on a node label, and term a term of
// several.
func requirement(key, operator string, values ...string) object {
	return object{"key": key, "operator": operator, "values": values}
}

func term(requirements ...any) object { return object{"matchExpressions": requirements} }

// csi returns a bound volume of a driver, for a claim of the same name, with the terms as
// alternatives.
func csi(name string, terms ...any) object {
	return object{
		"metadata": object{"name": "pv-" + name}, "status": object{"phase": "Bound"},
		"spec": object{
			"csi": object{"driver": "example.com", "volumeHandle": name}, "claimRef": object{"namespace": "shop", "name": name},
			"nodeAffinity": object{"required": object{"nodeSelectorTerms": terms}},
		},
	}
}

// TestObserveLocalVolumes checks that volumes bound to one node are observed, whatever
// their type, even if no pod uses them.
func TestObserveLocalVolumes(t *testing.T) {
	t.Parallel()
	only := func(key, value string) object { return term(requirement(key, "In", value)) }
	everywhere := csi("everywhere")
	everywhere["spec"].(object)["nodeAffinity"] = nil
	folder := csi("folder")
	folder["spec"] = object{"hostPath": object{"path": "/data"}, "claimRef": object{"namespace": "shop", "name": "folder"}}
	s := &shop{
		pods: []any{
			pod("db", "StatefulSet", nil, object{"name": "v", "persistentVolumeClaim": object{"claimName": "used"}}),
			pod("agent", "DaemonSet", nil, object{"name": "v", "persistentVolumeClaim": object{"claimName": "of-daemon"}}),
		},
		volumes: []any{
			csi("used", only("topology.topolvm.io/node", "w1")), csi("of-daemon", only("openebs.io/nodename", "w1")),
			csi("hostname", only("kubernetes.io/hostname", "w1.example.com")),
			csi("field", object{"matchFields": []any{requirement("metadata.name", "In", "w1")}}),
			csi("besides", term(requirement("kubernetes.io/arch", "In", "amd64"), requirement("kubernetes.io/hostname", "In", "w1"))),
			csi("twice", only("kubernetes.io/hostname", "w1"), only("topology.topolvm.io/node", "w1")),
			with(csi("disk", only("kubernetes.io/hostname", "w1")), "spec", object{"csi": nil, "local": object{"path": "/data"}}),
			csi("either", only("kubernetes.io/hostname", "w1"), only("kubernetes.io/hostname", "w2")),
			csi("both", term(requirement("kubernetes.io/hostname", "In", "w1", "w2"))),
			csi("elsewhere", only("kubernetes.io/hostname", "w2")),
			csi("zone", only("topology.kubernetes.io/zone", "a")),
			csi("not", term(requirement("kubernetes.io/hostname", "NotIn", "w1"))),
			with(csi("deleted", only("kubernetes.io/hostname", "w1")), "status", object{"phase": "Released"}),
			everywhere, folder,
		},
	}
	_, h := start(t, s.answer)
	report, err := open(t, h).Observe(t.Context(), state.ClusterQuery{PodsOn: []string{"w1"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Pods) != 1 || !slices.Equal(report.Pods[0].LocalClaims, []string{"used"}) {
		t.Errorf("got pods %+v", report.Pods)
	}
	var got []string
	for _, c := range report.Claims {
		if c.Node != "w1" || c.Volume != "pv-"+c.Name || c.String() != "shop/"+c.Name {
			t.Errorf("got %+v", c)
		}
		got = append(got, c.Name)
	}
	if want := strings.Fields("besides disk field hostname of-daemon twice"); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestObserveLosses checks that what ends with a cluster is counted: no static pod, no finished pod and
// no volume that several nodes have.
func TestObserveLosses(t *testing.T) {
	t.Parallel()
	cache := object{"name": "v", "emptyDir": object{}}
	s := &shop{
		pods: []any{
			pod("web", "ReplicaSet", nil, cache), pod("agent", "DaemonSet", nil, cache), pod("lone", "", nil),
			with(pod("done", "Job", nil, cache), "status", object{"phase": "Succeeded"}),
			with(pod("static", "", nil), "metadata", object{"annotations": object{"kubernetes.io/config.mirror": "x"}}),
		},
		volumes: []any{
			csi("disk", term(requirement("kubernetes.io/hostname", "In", "w1"))),
			with(csi("folder"), "spec", object{"csi": nil, "hostPath": object{"path": "/data"}}),
			csi("zone", term(requirement("topology.kubernetes.io/zone", "In", "a"))),
			with(csi("deleted", term(requirement("kubernetes.io/hostname", "In", "w1"))), "status", object{"phase": "Released"}),
		},
	}
	_, h := start(t, s.answer)
	report, err := open(t, h).Observe(t.Context(), state.ClusterQuery{Losses: true})
	if err != nil {
		t.Fatal(err)
	}
	l := report.Losses
	if l == nil || len(l.Pods) != 1 || l.Pods["shop"] != 2 || l.EmptyDirs != 2 || !slices.Equal(l.Alone.First, []string{"shop/lone"}) {
		t.Errorf("got %+v", l)
	}
	if want := []string{"pv-disk (shop/disk, w1)", "pv-folder (shop/folder)"}; l != nil && !slices.Equal(l.Volumes.First, want) {
		t.Errorf("got  %q\nwant %q", l.Volumes.First, want)
	}
	if report, err = open(t, h).Observe(t.Context(), state.ClusterQuery{}); err != nil || report.Losses != nil {
		t.Errorf("without being asked for it is %+v: %v", report.Losses, err)
	}
}
