package export_test

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/viewtest"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// manyWorkers returns a plan that upgrades 120 workers, one of which differs.
func manyWorkers() *planner.Plan {
	var m viewtest.Maker
	m.Limits = map[string]int{"drain": 1}
	for i := range 120 {
		target := state.NodeKeyTarget("worker", fmt.Sprintf("w%03d", i+1))
		version := "1.36.3"
		if i == 6 {
			version = "1.36.2"
		}
		m.Resources = append(m.Resources, planner.ResourceChange{Target: target, Action: planner.Update, Note: fmt.Sprintf("10.78.0.%d, worker", i+1)})
		m.AddChange(target, "kubelet-start", "binary:/usr/bin/kubelet", state.KindBinary, planner.Update, viewtest.Attributes("version", "1.35.8", version))
		for j := range 10 {
			m.AddChange(target, "images", fmt.Sprintf("image:registry.k8s.io/image:%d", j), state.KindImage, planner.Create, viewtest.Created("id", fmt.Sprintf("%064d", j)))
		}
		a := m.AddStep(target, "images", planner.Update, "", nil, planner.LoadImage{})
		b := m.AddStep(target, "drain", planner.Update, "evicts its pods", []state.Address{a}, planner.Drain{Node: target.Key})
		m.Steps[len(m.Steps)-1].Limits = []string{"drain"}
		m.AddStep(target, "kubelet-start", planner.Update, "restarts the kubelet here", []state.Address{b}, planner.Unit{})
		m.Steps[len(m.Steps)-1].Limits = []string{"drain"}
	}
	return &m.Plan
}

// TestPageShowsAlikeNodesOnce checks that a page shows nodes that change in the same way once with
// the names of all of them, the differing one by itself, and that every link leads somewhere.
func TestPageShowsAlikeNodesOnce(t *testing.T) {
	t.Parallel()
	page := planAs(t, manyWorkers(), "html")
	if len(page) > 500_000 {
		t.Errorf("the page has %d bytes", len(page))
	}
	text := html.UnescapeString(page)
	for i := range 120 {
		if name := fmt.Sprintf(`<code>node.worker["w%03d"]</code>`, i+1); strings.Count(text, name) != 1 {
			t.Errorf("%s is %d times on the page", name, strings.Count(text, name))
		}
	}
	if n := strings.Count(page, `<details class="resource `); n != 2 {
		t.Errorf("the page has %d resources", n)
	}
	for _, want := range []string{
		`and the same for 118 nodes: node.worker["w002"…"w006"], node.worker["w008"…"w120"]</span>`,
		`"1.35.8" -> "1.36.2"`, `<code>node.worker["w120"]</code> 10.78.0.120, worker</li>`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	links := regexp.MustCompile(`href="#([^"]*)"`).FindAllStringSubmatch(page, -1)
	if len(links) < 300 {
		t.Errorf("the page has %d links", len(links))
	}
	for _, l := range links {
		if !strings.Contains(page, ` id="`+l[1]+`"`) {
			t.Errorf("a link leads to #%s, which is nowhere", l[1])
		}
	}
}
