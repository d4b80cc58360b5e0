//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// comparedKinds are all kinds of objects that kubeadm creates, except Secrets. All objects of
// these kinds are compared, regardless of their creator.
const comparedKinds = "configmaps,daemonsets,deployments,services,serviceaccounts,roles,rolebindings,clusterroles,clusterrolebindings,nodes"

// notComparedLive is what differs between any two clusters.
var notComparedLive = []struct{ what, why string }{
	{"metadata: uid, resourceVersion, creationTimestamp, generation, managedFields", "given by the API server as it stores an object"},
	{"status", "what controllers and kubelets report"},
	{"certificates inside ConfigMaps", "each cluster has its own CA; where one stands is compared"},
	{"jws-kubeconfig-* in cluster-info", "signatures of tokens, which are random and short-lived"},
	{"Secrets", "tokens and keys: random"},
	{"of Nodes: spec.podCIDR, spec.podCIDRs", "given out in the order in which nodes register"},
	{"data of kube-apiserver-legacy-service-account-token-tracking", "the day on which the cluster was made"},
}

// tree is a parsed object.
type tree = map[string]any

// liveObjects returns the objects of a running cluster by kind and name, reduced to the compared
// content.
func (s *site) liveObjects() map[string]tree {
	s.t.Helper()
	s.eventually("controllers have removed their taints from the nodes", func() (string, bool) {
		taints := s.kubectl("get", "nodes", "-o", "jsonpath={.items[*].spec.taints[*].key}")
		return taints, !strings.Contains(taints, "node.kubernetes.io/")
	})
	var list struct{ Items []tree }
	text := s.kubectl("get", comparedKinds, "--all-namespaces", "-o", "json")
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		s.t.Fatal(err)
	}
	out := map[string]tree{}
	for _, o := range list.Items {
		metadata := o["metadata"].(tree)
		key := fmt.Sprint(o["kind"], " ", metadata["name"])
		if namespace, ok := metadata["namespace"]; ok {
			key = fmt.Sprint(o["kind"], " ", namespace, "/", metadata["name"])
		}
		out[key] = reduce(o)
	}
	return out
}

var (
	pemBlock = regexp.MustCompile(`(?s)-----BEGIN CERTIFICATE-----.*-----END CERTIFICATE-----\n?`)
	inlineCA = regexp.MustCompile(`certificate-authority-data: \S+`)
)

// reduce removes from an object what notComparedLive names, and parses the values of a ConfigMap.
func reduce(o tree) tree {
	metadata := o["metadata"].(tree)
	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"} {
		delete(metadata, field)
	}
	delete(o, "status")
	if spec, ok := o["spec"].(tree); ok && o["kind"] == "Node" {
		delete(spec, "podCIDR")
		delete(spec, "podCIDRs")
	}
	data, _ := o["data"].(tree)
	if metadata["name"] == "kube-apiserver-legacy-service-account-token-tracking" {
		delete(o, "data")
	}
	for key, value := range data {
		if strings.HasPrefix(key, "jws-kubeconfig-") {
			delete(data, key)
			continue
		}
		text := pemBlock.ReplaceAllString(value.(string), "CERTIFICATE")
		text = inlineCA.ReplaceAllString(text, "certificate-authority-data: CERTIFICATE")
		data[key] = text
		var parsed tree
		if yaml.Unmarshal([]byte(text), &parsed) == nil && len(parsed) > 0 {
			data[key] = parsed
		}
	}
	return o
}

// leaves returns the leaves of a tree, as PATH = VALUE.
func leaves(prefix string, x any) []string {
	var out []string
	switch x := x.(type) {
	case tree:
		for key, e := range x {
			out = append(out, leaves(prefix+"."+key, e)...)
		}
	case []any:
		for i, e := range x {
			out = append(out, leaves(fmt.Sprintf("%s[%d]", prefix, i), e)...)
		}
	default:
		return []string{fmt.Sprintf("%s = %v", prefix, x)}
	}
	return out
}

// wantSameObjects compares two clusters object by object, and logs how many objects are equal.
func wantSameObjects(t *testing.T, ours, theirs map[string]tree) {
	t.Helper()
	all := maps.Clone(theirs)
	maps.Copy(all, ours)
	equal, fields := 0, 0
	for _, key := range slices.Sorted(maps.Keys(all)) {
		o, ok := ours[key]
		k, known := theirs[key]
		switch {
		case !ok:
			t.Errorf("%s: kubeadm creates it and kubewright does not", key)
			continue
		case !known:
			t.Errorf("%s: kubewright creates it and kubeadm does not", key)
			continue
		}
		mine, other := leaves("", o), leaves("", k)
		fields += len(mine)
		if d := onlyIn(mine, other, "only kubewright: ") + onlyIn(other, mine, "only kubeadm:    "); d != "" {
			t.Errorf("%s differs:\n%s", key, d)
			continue
		}
		equal++
	}
	t.Logf("objects of two running clusters, kubeadm's and ours: %d of %d equal, %d fields", equal, len(all), fields)
	for _, row := range notComparedLive {
		t.Logf("not compared: %s: %s", row.what, row.why)
	}
}

// onlyIn prints the lines of a that b does not have.
func onlyIn(a, b []string, prefix string) string {
	var out strings.Builder
	for _, l := range a {
		if !slices.Contains(b, l) {
			fmt.Fprintf(&out, "  %s%s\n", prefix, l)
		}
	}
	return out.String()
}
