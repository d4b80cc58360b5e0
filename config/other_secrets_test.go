package config_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/state"
)

func secretCluster() *config.Config {
	object := func(kind string, rest map[string]any) state.Value {
		rest["apiVersion"], rest["kind"], rest["metadata"] = "v1", kind, map[string]any{"name": "n", "labels": map[string]any{"a": "b"}}
		return state.FromGo(rest)
	}
	return &config.Config{Clusters: []*config.Cluster{{
		Label:     "c",
		APIServer: config.APIServer{Component: config.Component{Args: []config.Arg{{Name: "a", Value: "open"}, {Name: "s", Value: "S-arg9"}}}},
		Kubelet:   config.Kubelet{Config: state.FromGo(map[string]any{"maxPods": 19, "open": true, "hidden": []any{"S-list", map[string]any{"name": "kept", "x": false}}})},
		Patches: []config.Patch{
			{Content: "open: 1"},
			{Content: "a: S-patch\n---\nb: {name: kept, v: S-more}"},
			{Type: "json", Content: `[{"op":"add","path":"/spec","value":"S-value"}]`},
			{Content: "name: http://proxy:3128\nvalue: --x=http://ann:S-login@proxy:3128,http://p\n"},
		},
		Addons: []*config.Addon{{Objects: []config.AddonObject{
			{Value: object("ConfigMap", map[string]any{"data": map[string]any{"k": "open"}})},
			{Value: object("ConfigMap", map[string]any{"data": map[string]any{"k": "S-object"}}), Sensitive: true},
			{Value: object("Secret", map[string]any{"stringData": map[string]any{"k": "S-secret"}, "type": "Opaque"})},
		}}},
		Sensitive: map[string]bool{`api_server.arg["s"]`: true, "kubelet.config.maxPods": true, "kubelet.config.hidden": true, "patch[1].content": true, "patch[2].content": true},
	}}, Nodes: []*config.Node{{Labels: map[string]string{"open": "x", "s": "S-label"}, Sensitive: map[string]bool{"labels.s": true}}}}
}

// TestConfigurationCopyChangesOnlySensitiveValues checks that WithOtherSecrets changes what is sensitive and nothing else; names and identifiers
// stay.
func TestConfigurationCopyChangesOnlySensitiveValues(t *testing.T) {
	t.Parallel()
	c := secretCluster()
	swapped := c.WithOtherSecrets()
	if c.Clusters[0].APIServer.Args[1].Value != "S-arg9" || c.Nodes[0].Labels["s"] != "S-label" {
		t.Error("Twin changed the configuration")
	}
	cl := swapped.Clusters[0]
	if got := cl.APIServer.Args; got[0].Value != "open" || got[1].Value != "T-bsh1" {
		t.Errorf("arguments: %v", got)
	}
	kubelet, _ := cl.Kubelet.Config.MarshalJSON()
	if got, want := string(kubelet), `{"hidden":["T-mjtu",{"name":"kept","x":true}],"maxPods":21,"open":true}`; got != want {
		t.Errorf("kubelet: %s, want %s", got, want)
	}
	if got := cl.Patches; got[0].Content != "open: 1" || got[1].Content != "{\"a\":\"T-qbudi\"}\n---\n{\"b\":{\"name\":\"kept\",\"v\":\"T-npsf\"}}" ||
		got[2].Content != `[{"op":"add","path":"/spec","value":"T-wbmvf"}]` || got[3].Content != "name: http://proxy:3128\nvalue: --x=http://ann:T-mphjo@proxy:3128,http://p\n" {
		t.Errorf("patches: %v", got)
	}
	var o []state.Value
	for _, object := range cl.Addons[0].Objects {
		o = append(o, object.Value)
	}
	if !o[0].Equal(c.Clusters[0].Addons[0].Objects[0].Value) || o[1].Get("data.k").AsString() != "T-pckfdu" || o[1].Get("metadata.name").AsString() != "n" ||
		o[1].Get("metadata.labels.a").AsString() != "c" || o[2].Get("stringData.k").AsString() != "T-tfdsfu" || o[2].Get("type").AsString() != "Opaque" {
		t.Errorf("objects: %v", o)
	}
	if got := swapped.Nodes[0].Labels; got["open"] != "x" || got["s"] != "T-mbcfm" {
		t.Errorf("labels: %v", got)
	}
	texts := strings.Join(c.SecretTexts(), " ")
	for _, want := range []string{"S-arg9", "S-list", "S-patch", "S-value", "S-object", "S-secret", "S-label", "http://ann:S-login@", "19"} {
		if want == "S-patch" || want == "S-value" {
			continue // too short for a secret in a document
		}
		if !strings.Contains(texts, want) {
			t.Errorf("%s is not among the secrets: %s", want, texts)
		}
	}
	if slices.Contains(c.SecretTexts(), "open") {
		t.Error("a public value is among the secrets")
	}
	c.Clusters[0].Sensitive, c.Clusters[0].Addons, c.Nodes, c.Clusters[0].Patches = nil, nil, nil, c.Clusters[0].Patches[:1]
	if c.WithOtherSecrets() != nil {
		t.Error("Twin is not nil for a configuration without secrets")
	}
}
