package stateview_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/stateview"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/viewtest"
	"github.com/kubewright/kubewright/state"
)

// recordedState returns the state of the cluster after an apply.
func recordedState() *state.State {
	st := &state.State{
		FormatVersion: 1, Lineage: "b71e0d3c", Serial: 4, ToolVersion: "0.1.0",
		Clusters: map[string]*state.RecordedCluster{"prod": {CA: "3f9a1c", EtcdClusterID: "8e9e05c52164694d", Version: "1.36.3"}},
		Nodes:    map[state.Target]*state.RecordedNode{},
		Outputs: map[string]state.Value{
			"endpoint": state.String("api.example.com:6443"), "nodes": state.FromGo(map[string]any{"cp1": "10.77.0.11", "a b": []any{"x", 1}}),
			"password": state.SensitiveValue("config:output.password", "f00"), "text": state.String("a\nb\n"),
		},
	}
	for t, m := range viewtest.Machines {
		st.Nodes[t] = &state.RecordedNode{Cluster: "prod", Role: m.Role, Name: m.Name, Address: m.Address}
	}
	st.Nodes[viewtest.Cp1].HostKey, st.Nodes[viewtest.Cp1].HopKeys = "ssh-ed25519 AAAA", map[string]string{"gate.example.com:22": "ssh-ed25519 BBBB"}
	st.Items = []state.Item{
		{Address: viewtest.Address(state.AddonTarget("prod", "cni"), "addon", "object:v1/Namespace/kube-flannel"), Kind: state.KindObject, Attributes: state.Map(nil)},
		{Address: viewtest.Address(viewtest.Prod, "upload-config", "object:v1/ConfigMap/kube-system/kubeadm-config"), Kind: state.KindObject, Attributes: state.FromGo(map[string]any{"data": map[string]any{"x": "y\nz\n"}})},
		{Address: viewtest.Address(viewtest.Cp1, "certs", "certificate:/etc/kubernetes/pki/ca"), Kind: state.KindCertificate, Attributes: state.FromGo(map[string]any{"common_name": "kubernetes"})},
		{
			Address: viewtest.Address(viewtest.Cp1, "control-plane", viewtest.Manifests+"kube-apiserver.yaml"), Kind: state.KindStaticPod,
			Attributes: state.Map(map[string]state.Value{"image": state.String("x"), "args": state.Args([]state.Arg{{Name: "v", Value: "2"}, {Name: "v", Value: "3"}})}),
		},
	}
	return st
}

func TestStateViews(t *testing.T) {
	st := recordedState()
	o := ui.Options{Width: 80}
	viewtest.Golden(t, "state.txt", viewtest.Printed(t, func(w io.Writer) error { return stateview.Print(w, st, o) }))
	viewtest.Golden(t, "state.list.txt", viewtest.Printed(t, func(w io.Writer) error { return stateview.List(w, stateview.Targets(st)) }))
	viewtest.Golden(t, "state.json", viewtest.Printed(t, func(w io.Writer) error { return stateview.JSON(w, st) }))
	shown := func(a state.Address) string {
		return viewtest.Printed(t, func(w io.Writer) error {
			there, err := stateview.Show(w, st, a, o)
			if !there {
				t.Errorf("%s is not found", a)
			}
			return err
		})
	}
	viewtest.Golden(t, "state.show.txt", shown(viewtest.Address(viewtest.Cp1, "control-plane", ""))+
		shown(viewtest.Address(viewtest.Cp1, "control-plane", viewtest.Manifests+"kube-apiserver.yaml").WithField("image"))+shown(state.Address{Target: viewtest.Cp1}))
	if there, err := stateview.Show(io.Discard, st, viewtest.Address(viewtest.Cp2, "certs", ""), o); there || err != nil {
		t.Error("an address without a record is found")
	}
	viewtest.Golden(t, "outputs.list.txt", viewtest.Printed(t, func(w io.Writer) error { return stateview.OutputList(w, st.Outputs, o) })+
		viewtest.Printed(t, func(w io.Writer) error { return stateview.Outputs(w, st.Outputs, o) })+
		viewtest.Printed(t, func(w io.Writer) error { return stateview.OutputsJSON(w, st.Outputs) })+
		viewtest.Printed(t, func(w io.Writer) error { return stateview.OutputList(w, nil, o) }))
}

func TestOutputViews(t *testing.T) {
	tests := []struct {
		v         state.Value
		raw, json bool
		want      string
	}{
		{state.String("a\x1b"), true, false, "a\x1b"},
		{state.String("a\x1b"), false, false, "\"a\\x1b\"\n"},
		{state.String("a<b"), false, true, "\"a<b\"\n"},
		{state.Bool(true), true, false, "true"},
		{state.Int(3), true, false, "3"},
		{state.Strings("a"), true, false, ""},
		{state.SensitiveValue("r", "f"), true, false, ""},
		{state.SensitiveValue("r", "f"), false, false, ""},
		{state.SensitiveValue("r", "f"), false, true, ""},
		{state.PendingValue("r", "f"), true, false, ""},
		{state.PendingValue("r", "f"), false, true, ""},
		{state.PendingValue("r", "f"), false, false, "(known after apply)\n"},
	}
	for _, tt := range tests {
		var b bytes.Buffer
		err := stateview.Output(&b, tt.v, tt.raw, tt.json, ui.Options{})
		if tt.v.Kind() == state.KindSensitive && (err == nil || !strings.HasSuffix(err.Error(), "Take it from where the configuration has it")) {
			t.Errorf("a sensitive output: %v", err)
		}
		if b.String() != tt.want || (err != nil) != (tt.want == "") {
			t.Errorf("%v: got %q and error %v, want %q", tt.v, b.String(), err, tt.want)
		}
	}
}

// TestRareSentencesStateview checks sentences that are rarely printed.
func TestRareSentencesStateview(t *testing.T) {
	t.Parallel()
	o := ui.Options{Width: 400}
	viewtest.CheckSentences(t, map[string]viewtest.Sentences{
		"an empty state": viewtest.Shows(func(w io.Writer) error { return stateview.Print(w, &state.State{}, o) }, "The state is empty: nothing is there, or nothing was applied yet.\n"),
		"names that the state gives up": viewtest.Shows(func(w io.Writer) error {
			return stateview.Forgetting(w, []stateview.Forgotten{{Target: viewtest.W21, Protected: true}}, false, o)
		}, "The prevent_destroy = true that the state has recorded of a target is forgotten with it.", "The state would forget, without touching any host:\n", "They stay as they are.", "what is not is unmanaged: kubewright neither observes it nor ever removes it."),
	})
}
