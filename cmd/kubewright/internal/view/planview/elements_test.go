package planview_test

import (
	"strings"
	"testing"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/viewtest"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// arg returns an argument in the form of kubeadm's configuration.
func arg(name, value string) any { return map[string]any{"name": name, "value": value} }

// TestNamedListElementsAreCompared checks that lists whose elements have names show only what differs, by name and
// down to the leaf; and that the whole list is shown if its order has a meaning or a name is
// ambiguous.
func TestNamedListElementsAreCompared(t *testing.T) {
	t.Parallel()
	cluster := func(name, server string) any {
		return map[string]any{"name": name, "cluster": map[string]any{"server": server, "certificate-authority": "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt"}}
	}
	user := func(name, file string) any {
		return map[string]any{"name": name, "user": map[string]any{"tokenFile": file}}
	}
	list := func(elements ...any) []any { return elements }
	changes := viewtest.Attributes(
		"kubeconfig.clusters", list(cluster("default", "https://a:6443"), cluster("other", "https://b:6443")),
		list(cluster("default", "https://api.example.com:6443"), cluster("other", "https://b:6443")), viewtest.AtLine(4),
		"kubeconfig.users", list(user("gone", "/a"), user("stays", "/b")), list(user("stays", "/b"), user("new", "/c")),
		"args.changed", list(arg("v", "2"), arg("gone", "x"), arg("same", "y")), list(arg("v", "3"), arg("same", "y"), arg("audit-log-maxage", "30")), viewtest.AtLine(5),
		"args.first", list(), list(arg("v", "2")),
		"args.created", nil, list(arg("v", "2"), arg("vmodule", "a=1")), viewtest.AtLine(6),
		"args.removed", list(arg("v", "2")), nil,
		"args.moved", list(arg("first-argument", "1"), arg("second-argument", "2")), list(arg("second-argument", "2"), arg("first-argument", "1")),
		"args.repeated", list(arg("service-account-issuer", "a"), arg("service-account-issuer", "b")), list(arg("service-account-issuer", "a"), arg("service-account-issuer", "c")),
	)
	several := viewtest.Attributes("args.several", list(arg("a", "1"), arg("b", "1")), list(arg("a", "2"), arg("b", "2")), viewtest.AtLine(7))
	several[0].Origins = map[string]state.Source{"": viewtest.Line(7), "a": viewtest.Line(7), "b": viewtest.Line(8)}
	var m viewtest.Maker
	m.Resources = append(m.Resources, viewtest.ResourceChange(viewtest.Prod, planner.Update, 0))
	m.AddChange(viewtest.Prod, "upload-config", "object:v1/ConfigMap/kube-system/kubeadm-config", state.KindObject, planner.Update, append(changes, several...))
	m.AddStep(viewtest.Prod, "upload-config", planner.Update, "", nil, planner.ApplyObject{})
	got := viewtest.Render(t, &m.Plan, ui.Options{Width: 120})
	viewtest.Golden(t, "elements.txt", got)
	if n := strings.Count(got, "certificate-authority"); n != 0 {
		t.Errorf("unchanged elements are shown %d times", n)
	}
}
