package kube

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubewright/kubewright/state"
)

// requestedDeprecated is the metric of an API server with a series for each deprecated API
// that clients have requested since it started: labels group, version, resource,
// subresource and removed_release.
const requestedDeprecated = "apiserver_requested_deprecated_apis{"

// looked bounds the objects of a deprecated API that are read.
const looked = 500

// DeprecatedAPIs implements providers.API.
func (a *API) DeprecatedAPIs(ctx context.Context) ([]state.DeprecatedAPI, error) {
	var out []state.DeprecatedAPI
	err := a.as("read the metrics of the API server", func(s *session) error {
		text, err := s.typed.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
		if err != nil {
			return err
		}
		out = deprecatedAPIs(text)
		for i := range out {
			out[i].Users = writers(ctx, s, out[i])
		}
		return nil
	})
	return out, err
}

// deprecatedAPIs returns the requested APIs that a later release removes, from an API
// server's metrics. Deprecated APIs that stay, such as Endpoints, do not affect an upgrade.
func deprecatedAPIs(metrics []byte) []state.DeprecatedAPI {
	var all []state.DeprecatedAPI
	lines := bufio.NewScanner(bytes.NewReader(metrics))
	lines.Buffer(nil, len(metrics)+1)
	for lines.Scan() {
		series, value, ok := strings.Cut(lines.Text(), "} ")
		text, ours := strings.CutPrefix(series, requestedDeprecated)
		if !ok || !ours || value == "0" {
			continue
		}
		labels := map[string]string{}
		for pair := range strings.SplitSeq(text, ",") {
			name, quoted, _ := strings.Cut(pair, "=")
			labels[name] = strings.Trim(quoted, `"`)
		}
		if labels["removed_release"] != "" {
			all = append(all, state.DeprecatedAPI{Group: labels["group"], Version: labels["version"], Resource: labels["resource"], Removed: labels["removed_release"]})
		}
	}
	return state.MergeDeprecated(all) // merges the subresources of an API
}

// writers returns the field managers that wrote objects in that version, each with the name
// of one object. It is a hint: none if the objects cannot be listed.
func writers(ctx context.Context, s *session, d state.DeprecatedAPI) []string {
	gvr := schema.GroupVersionResource{Group: d.Group, Version: d.Version, Resource: d.Resource}
	list, err := s.dynamic.Resource(gvr).List(ctx, metav1.ListOptions{Limit: looked})
	if err != nil {
		return nil
	}
	example := map[string]string{}
	for _, o := range list.Items {
		for _, f := range o.GetManagedFields() {
			if f.APIVersion == gvr.GroupVersion().String() && example[f.Manager] == "" {
				example[f.Manager] = f.Manager + " (" + nameOf(&o) + ")"
			}
		}
	}
	var out []string
	for _, e := range example {
		out = append(out, e)
	}
	slices.Sort(out)
	return out
}

func nameOf(o *unstructured.Unstructured) string {
	if o.GetNamespace() == "" {
		return o.GetName()
	}
	return fmt.Sprintf("%s/%s", o.GetNamespace(), o.GetName())
}
