package manifest_test

import (
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config/manifest"
)

func TestParseManifest(t *testing.T) {
	t.Parallel()
	const namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n"
	tests := []struct {
		name, text string
		objects    int
		err        string
	}{
		{"one", namespace, 1, ""},
		{"several", "---\n" + namespace + "---\n# nothing\n---\n" + strings.Replace(namespace, "a}", "b}", 1), 2, ""},
		{"list", "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Pod, metadata: {name: a}}\n- {apiVersion: v1, kind: Pod, metadata: {name: b}}\n", 2, ""},
		{"json", `{"apiVersion":"example.org/v1","kind":"Pod","metadata":{"name":"a"},"n":9007199254740993}`, 1, ""},
		{"nothing", "# nothing\n", 0, "it holds no object"},
		{"no kind", "apiVersion: v1\nmetadata: {name: a}\n", 0, "kind is missing"},
		{"no name", "apiVersion: v1\nkind: Pod\nmetadata: {}\n", 0, "metadata.name is missing"},
		{"generated name", "apiVersion: v1\nkind: Pod\nmetadata: {generateName: a-}\n", 0, "document 1: it has generateName instead of metadata.name; an object that is kept equal needs a fixed name"},
		{"key twice", namespace + "kind: Pod\n", 0, "already"},
		{"no object", "- a\n", 0, "document 1: it is no object: a Kubernetes object begins with apiVersion and kind"},
		{"second is wrong", namespace + "---\na: [\n", 0, "document 2"},
		{"unknown field", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {replica: 2}\n", 0, `document 1: Deployment "a": unknown field "spec.replica"`},
		{"wrong type", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {replicas: two}\n", 0, `document 1: Deployment "a": cannot unmarshal string into`},
		{"item is wrong", "apiVersion: v1\nkind: List\nitems: [{kind: Pod}]\n", 0, "item 0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			objects, err := manifest.Parse(tt.text)
			if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
				t.Fatalf("got %v, want %q", err, tt.err)
			}
			if err == nil && len(objects) != tt.objects {
				t.Errorf("got %d objects, want %d", len(objects), tt.objects)
			}
		})
	}
	objects, err := manifest.Parse(tests[3].text)
	if err != nil || objects[0].Value.Get("n").AsString() != "9007199254740993" {
		t.Errorf("a large number became %v, %v", objects, err)
	}
}

// TestCanonicalFormMatchesAPI checks that the canonical form of an applied object equals the one that the API
// returns.
func TestCanonicalFormMatchesAPI(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, given, want, omits string }{
		{
			"quantities, and what is left out",
			`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","creationTimestamp":null},"spec":{"hostPID":false,"hostNetwork":true,
			"containers":[{"name":"c","image":"i","env":[{"name":"E","value":""}],"resources":{"limits":{"cpu":"1000m","memory":"1024Mi"},"requests":{"cpu":0.5}}}]}}`,
			`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"containers":[{"env":[{"name":"E","value":""}],"image":"i","name":"c","resources":{"limits":{"cpu":"1","memory":"1Gi"},"requests":{"cpu":"500m"}}}],"hostNetwork":true,"hostPID":false}}`,
			"spec.containers.0.env.0.value spec.hostPID",
		},
		{
			"meaningful empty values stay",
			`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","labels":{"l":""}},"spec":{"automountServiceAccountToken":false,"volumes":[{"name":"v","emptyDir":{}}],"containers":[]}}`,
			`{"apiVersion":"v1","kind":"Pod","metadata":{"labels":{"l":""},"name":"a"},"spec":{"automountServiceAccountToken":false,"containers":[],"volumes":[{"emptyDir":{},"name":"v"}]}}`,
			"",
		},
		{
			"no replicas are some number",
			`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a"},"spec":{"replicas":0,"paused":false}}`,
			`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a"},"spec":{"paused":false,"replicas":0}}`,
			"spec.paused",
		},
		{
			"a kind of kinds",
			`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"as.example.org"},"spec":{"group":"example.org","preserveUnknownFields":false,"versions":[{"name":"v1","served":true,"storage":false}]}}`,
			`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"as.example.org"},"spec":{"group":"example.org","preserveUnknownFields":false,"versions":[{"name":"v1","served":true,"storage":false}]}}`,
			"spec.preserveUnknownFields",
		},
		{
			"a foreign kind is kept as given",
			`{"apiVersion":"example.org/v1","kind":"A","metadata":{"name":"a"},"spec":{"cpu":"1000m","off":false,"none":null}}`,
			`{"apiVersion":"example.org/v1","kind":"A","metadata":{"name":"a"},"spec":{"cpu":"1000m","none":null,"off":false}}`,
			"",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			objects, err := manifest.Parse(tt.given)
			if err != nil {
				t.Fatal(err)
			}
			got, err := objects[0].Value.MarshalJSON()
			if err != nil || string(got) != tt.want {
				t.Errorf("got  %s, %v\nwant %s", got, err, tt.want)
			}
			if got := strings.Join(objects[0].Omits, " "); got != tt.omits {
				t.Errorf("omitted: %q, want %q", got, tt.omits)
			}
		})
	}
}
