package export

import (
	"bufio"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"io"
	"strconv"
	"strings"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/blocks"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/diffview"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/graph"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/outline"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/schedule"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

//go:embed html/page.html
var pageTemplate string

//go:embed html/page.css
var pageStyle string

//go:embed html/page.js
var pageScript string

// maxPageItems limits a page that a browser has to open; the rest is counted.
const maxPageItems = 20000

// htmlPage prints a plan as one page without dependencies: it works from a file and without a
// network. Everything in the plan is escaped (by html/template), and the Content-Security-Policy
// allows no script but the page's own, by hash. Without scripts only the filter is missing.
func htmlPage(w io.Writer, plan *planner.Plan, o ui.Options) error {
	return newPageData(outline.NewReview(plan, o)).print(w)
}

// graphPage prints a page with the graph of the steps and their timeline, and nothing else.
func graphPage(w io.Writer, plan *planner.Plan, o ui.Options) error {
	r := outline.NewHead(plan, o)
	d := newPageHead(r)
	d.GraphAlone = true
	d.draw(r, nil)
	return d.print(w)
}

func (d *pageData) print(w io.Writer) error {
	t, err := template.New("page").Funcs(template.FuncMap{"plural": ui.Plural}).Parse(pageTemplate)
	if err != nil {
		return err
	}
	// The template writes piece by piece.
	b := bufio.NewWriter(w)
	if err := t.Execute(b, d); err != nil {
		return err
	}
	return b.Flush()
}

// pageData is the data of the template. Anchors are made of indexes, never of names.
type pageData struct {
	Style       template.CSS
	Script      template.JS
	Policy      string
	Headline    string
	Digest      string
	ToolVersion string
	// Clusters are the names of the clusters of the configuration, Commit is its git commit.
	Clusters  []string
	Commit    string
	Command   string
	Severe    []string
	Warnings  []pageWarning
	Withheld  []pageWithheld
	Steps     []outline.WithheldWork // withheld
	Notes     [][2]string
	Mended    string
	Resources []pageResource
	Drift     []pageItem
	Graph     *graph.Drawing
	Undrawn   string
	// GraphAlone leaves the changes out.
	GraphAlone bool
	Timeline   *graph.Gantt
	// Left counts the items that are not on the page, shown the others.
	Left, shown int
}

type pageWarning struct{ Summary, Text string }

type pageWithheld struct{ Target, Reason, Remedy string }

type pageResource struct {
	Address, Action, Symbol, Verdict, Note, Reason string
	Phases                                         []pagePhase
	// Loses is what ends with a destroyed cluster.
	Loses []string
	Open  bool
	Items int
	// Alike are the other nodes that change in the same way.
	Alike []pageAlike
}

type pageAlike struct{ Address, Note string }

// AlikeRanges names the other nodes as far as possible as ranges.
func (p pageResource) AlikeRanges() string {
	names := make([]string, len(p.Alike))
	for i, a := range p.Alike {
		names[i] = a.Address
	}
	return ui.CommaList(ui.Ranges(names))
}

type pagePhase struct {
	Address, Anchor, Name, Action, Symbol, Effect, Estimate string
	Items                                                   []pageItem
	Operations                                              []string
	Needs                                                   []pageLink
	Limits, Gates                                           []string
}

type pageItem struct {
	Address, Action, Symbol, Reason, Name string
	// Where is the target, for an item outside of its resource.
	Where string
	Lines []pageLine
}

type pageLine struct{ Class, Text string }

type pageLink struct{ Anchor, Name string }

// newPageHead returns a page without changes and pictures.
func newPageHead(r *outline.Review) *pageData {
	// The hash is of the script as html/template prints it: unchanged.
	sum := sha256.Sum256([]byte(pageScript))
	return &pageData{
		Style: template.CSS(pageStyle), Script: template.JS(pageScript),
		Policy:   "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'",
		Headline: r.Headline(), Digest: r.Short(), ToolVersion: ui.Clean(r.ToolVersion), Command: r.Command,
		Clusters: clusterNames(r.Plan), Commit: ui.Clean(r.Commit),
		Notes: r.Notes(), Mended: r.CorrectedDrift(),
	}
}

// clusterNames returns the names of a plan's clusters, those that do not change included.
func clusterNames(plan *planner.Plan) []string {
	var out []string
	for _, r := range plan.Resources {
		if r.Target.Type == state.TypeCluster {
			out = append(out, ui.Clean(r.Target.Name))
		}
	}
	return out
}

func newPageData(r *outline.Review) *pageData {
	d := newPageHead(r)
	for _, w := range outline.Warnings(r.Plan) {
		d.Warnings = append(d.Warnings, pageWarning{ui.Clean(w.Summary), strings.Join(ui.FindingText(w, ui.Endless), "\n")})
	}
	for _, u := range r.Withheld {
		d.Withheld = append(d.Withheld, pageWithheld{ui.Clean(u.Target.String()), ui.Clean(u.Reason), ui.Clean(u.Remedy)})
	}
	d.Steps = outline.WithheldGroups(r.Plan)
	shared := sharedBlocks(r.Plan)
	anchors := anchorsOf(r.Plan, shared)
	place := map[state.Target]int{}
	for _, x := range r.Resources {
		if x.Rank() == 0 {
			d.Severe = append(d.Severe, ui.Clean(x.Target.String()))
		}
		if i, known := place[shared[x.Target]]; known {
			d.Resources[i].Alike = append(d.Resources[i].Alike, pageAlike{ui.Clean(x.Target.String()), outline.NoteOf(x.ResourceChange)})
			continue
		}
		if _, is := shared[x.Target]; is {
			place[shared[x.Target]] = len(d.Resources)
		}
		d.Resources = append(d.Resources, d.resource(x, anchors))
	}
	d.Severe = ui.Ranges(d.Severe)
	for _, it := range r.Drift {
		item := pageItemOf(it)
		item.Where = ui.Clean(it.Address.Target.String())
		d.Drift = append(d.Drift, item)
	}
	d.draw(r, anchors)
	return d
}

// draw adds the pictures. Without anchors their boxes are no links.
func (d *pageData) draw(r *outline.Review, anchors map[state.Address]string) {
	d.Graph, d.Undrawn = graph.Draw(r, anchors)
	d.Timeline = graph.DrawTimeline(r, anchors)
}

// sharedBlocks returns the first node for each of at least minAlike nodes that change in the same
// way, as on the terminal. The page shows them as one.
func sharedBlocks(plan *planner.Plan) map[state.Target]state.Target {
	p := blocks.NewPrinter(ui.Options{Width: ui.Endless})
	out := map[state.Target]state.Target{}
	for _, g := range p.Fold(p.Resources(plan)) {
		for i := 0; len(g) >= minAlike && i < len(g); i++ {
			out[g[i].Target] = g[0].Target
		}
	}
	return out
}

// anchorsOf returns an anchor for each step: of a node that is shown with another, that one's.
func anchorsOf(plan *planner.Plan, shared map[state.Target]state.Target) map[state.Address]string {
	out := map[state.Address]string{}
	for i, s := range plan.Steps {
		out[s.ID] = "s" + strconv.Itoa(i)
	}
	for _, s := range plan.Steps {
		if first, is := shared[s.Target]; is {
			of := s.ID
			of.Target = first
			out[s.ID] = out[of]
		}
	}
	return out
}

func (d *pageData) resource(x outline.ReviewedResource, anchors map[state.Address]string) pageResource {
	out := pageResource{
		Address: ui.Clean(x.Target.String()), Action: string(x.Action), Symbol: strings.TrimSpace(string(ui.SymbolOf(x.Action))), Verdict: x.Verdict,
		Note: outline.NoteOf(x.ResourceChange), Reason: x.Reason, Loses: outline.Losses(x.Loses), Open: x.Rank() <= 2,
	}
	for _, p := range x.Phases {
		out.Phases = append(out.Phases, d.phase(p, anchors))
		out.Items += len(p.Items)
	}
	return out
}

func (d *pageData) phase(p outline.ReviewedPhase, anchors map[state.Address]string) pagePhase {
	out := pagePhase{
		Address: ui.Clean(p.ID.String()), Anchor: anchors[p.ID], Name: ui.PhaseName(p.ID), Action: string(p.Action),
		Symbol: strings.TrimSpace(string(ui.SymbolOf(p.Action))), Effect: p.Effect, Estimate: schedule.SpanText(p.Span),
	}
	for _, it := range p.Items {
		if d.shown == maxPageItems {
			d.Left++
			continue
		}
		d.shown++
		out.Items = append(out.Items, pageItemOf(it))
	}
	if p.Step == nil {
		return out
	}
	for _, op := range p.Step.Operations {
		out.Operations = append(out.Operations, ui.Clean(op.Summary()))
	}
	for _, n := range p.Step.Needs {
		out.Needs = append(out.Needs, pageLink{anchors[n], ui.Clean(n.String())})
	}
	out.Limits = ui.Cleaned(p.Step.Limits)
	for _, g := range p.Step.Gates {
		out.Gates = append(out.Gates, outline.GateCondition(g))
	}
	return out
}

func pageItemOf(it outline.ReviewedItem) pageItem {
	out := pageItem{
		Address: ui.Clean(it.Address.String()), Action: string(it.Action), Symbol: strings.TrimSpace(string(ui.SymbolOf(it.Action))),
		Reason: ui.Clean(it.Reason), Name: diffview.Item{Change: it.Change}.Head(),
	}
	lines := it.Lines()
	for i, l := range lines {
		if i == 0 && len(lines) == 1 && !strings.Contains(l.Text, " ") {
			continue
		}
		class := map[ui.Symbol]string{ui.Added: "add", ui.Removed: "del", ui.Changed: "mod", ui.Replaced: "del"}[l.Sym]
		out.Lines = append(out.Lines, pageLine{class, strings.TrimRight(string(l.Sym)+" "+strings.Repeat("    ", l.Depth)+l.Text, " ")})
	}
	return out
}
