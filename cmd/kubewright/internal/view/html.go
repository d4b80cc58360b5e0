package view

import (
	"bufio"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"io"
	"strconv"
	"strings"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

//go:embed html/page.html
var pageTemplate string

//go:embed html/page.css
var pageStyle string

//go:embed html/page.js
var pageScript string

// maxPageItems bounds a page that a browser has to open; what is left out is counted.
const maxPageItems = 20000

// htmlPage prints a plan as one page that needs nothing else: it works from a
// file and without a network. Whatever is in the plan is text in it (package
// html/template sees to that), and its Content-Security-Policy allows no script
// but its own, by hash. Without scripts all is there, and only the filter is not.
func htmlPage(w io.Writer, plan *planner.Plan, o Options) error {
	return newPageData(newReview(plan, o)).print(w)
}

// graphPage prints the steps of a plan as a page that draws them, and when they
// would run, and nothing else.
func graphPage(w io.Writer, plan *planner.Plan, o Options) error {
	r := newOutline(plan, o)
	d := newPageHead(r)
	d.GraphAlone = true
	d.draw(r, nil)
	return d.print(w)
}

func (d *pageData) print(w io.Writer) error {
	t, err := template.New("page").Funcs(template.FuncMap{"plural": plural}).Parse(pageTemplate)
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

// pageData is what the template shows. Anchors are made of places, never of names.
type pageData struct {
	Style       template.CSS
	Script      template.JS
	Policy      string
	Headline    string
	Digest      string
	ToolVersion string
	Command     string
	Severe      []string
	Warnings    []pageWarning
	Withheld    []pageWithheld
	Notes       [][2]string
	Mended      string
	Resources   []pageResource
	Drift       []pageItem
	Graph       *drawing
	Undrawn     string
	// GraphAlone leaves the changes out.
	GraphAlone bool
	Timeline   *gantt
	// Left counts items that are not on the page, shown those that are.
	Left, shown int
}

type pageWarning struct{ Summary, Text string }

type pageWithheld struct{ Target, Reason, Remedy string }

type pageResource struct {
	Address, Action, Symbol, Verdict, Note, Reason string
	Phases                                         []pagePhase
	Open                                           bool
	Items                                          int
}

type pagePhase struct {
	Address, Anchor, Name, Action, Symbol, Says, Estimate string
	Items                                                 []pageItem
	Operations                                            []string
	Needs                                                 []pageLink
	Limits, Gates                                         []string
}

type pageItem struct {
	Address, Action, Symbol, Reason, Name string
	// Where is the target, where nothing around the item says it.
	Where string
	Lines []pageLine
}

type pageLine struct{ Class, Text string }

type pageLink struct{ Anchor, Name string }

// newPageHead returns a page with its head alone.
func newPageHead(r *review) *pageData {
	// The hash is of the script as html/template prints it: unchanged.
	sum := sha256.Sum256([]byte(pageScript))
	return &pageData{
		Style: template.CSS(pageStyle), Script: template.JS(pageScript),
		Policy:   "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'",
		Headline: r.headline(), Digest: r.short(), ToolVersion: Clean(r.ToolVersion), Command: r.command,
		Notes: r.notes(), Mended: r.mended(),
	}
}

func newPageData(r *review) *pageData {
	d := newPageHead(r)
	for _, w := range warningsOf(r.Plan) {
		d.Warnings = append(d.Warnings, pageWarning{Clean(w.Summary), strings.Join(said(w, endless), "\n")})
	}
	for _, u := range r.Withheld {
		d.Withheld = append(d.Withheld, pageWithheld{Clean(u.Target.String()), Clean(u.Reason), Clean(u.Remedy)})
	}
	anchors := anchorsOf(r.Plan)
	for _, x := range r.resources {
		if x.rank() == 0 {
			d.Severe = append(d.Severe, Clean(x.Target.String()))
		}
		d.Resources = append(d.Resources, d.resource(x, anchors))
	}
	for _, it := range r.drift {
		item := pageItemOf(it)
		item.Where = Clean(it.Address.Target.String())
		d.Drift = append(d.Drift, item)
	}
	d.draw(r, anchors)
	return d
}

// draw adds the pictures. Without anchors they lead nowhere.
func (d *pageData) draw(r *review, anchors map[state.Address]string) {
	d.Graph, d.Undrawn = drawGraph(r, anchors)
	d.Timeline = drawTimeline(r, anchors)
}

// anchorsOf gives each step a name in the page.
func anchorsOf(plan *planner.Plan) map[state.Address]string {
	out := map[state.Address]string{}
	for i, s := range plan.Steps {
		out[s.ID] = "s" + strconv.Itoa(i)
	}
	return out
}

func (d *pageData) resource(x reviewed, anchors map[state.Address]string) pageResource {
	out := pageResource{
		Address: Clean(x.Target.String()), Action: string(x.Action), Symbol: strings.TrimSpace(string(symbolOf(x.Action))), Verdict: x.verdict,
		Note: noteOf(x.ResourceChange), Reason: x.reason, Open: x.rank() <= 2,
	}
	for _, p := range x.phases {
		out.Phases = append(out.Phases, d.phase(p, anchors))
		out.Items += len(p.items)
	}
	return out
}

func (d *pageData) phase(p reviewedPhase, anchors map[state.Address]string) pagePhase {
	out := pagePhase{
		Address: Clean(p.id.String()), Anchor: anchors[p.id], Name: phaseName(p.id), Action: string(p.action),
		Symbol: strings.TrimSpace(string(symbolOf(p.action))), Says: p.says, Estimate: estimated(p.span),
	}
	for _, it := range p.items {
		if d.shown == maxPageItems {
			d.Left++
			continue
		}
		d.shown++
		out.Items = append(out.Items, pageItemOf(it))
	}
	if p.step == nil {
		return out
	}
	for _, op := range p.step.Operations {
		out.Operations = append(out.Operations, Clean(op.Summary()))
	}
	for _, n := range p.step.Needs {
		out.Needs = append(out.Needs, pageLink{anchors[n], Clean(n.String())})
	}
	out.Limits = cleaned(p.step.Limits)
	for _, g := range p.step.Gates {
		out.Gates = append(out.Gates, gateText(g))
	}
	return out
}

func pageItemOf(it reviewedItem) pageItem {
	out := pageItem{
		Address: Clean(it.Address.String()), Action: string(it.Action), Symbol: strings.TrimSpace(string(symbolOf(it.Action))),
		Reason: Clean(it.Reason), Name: item{Change: it.Change}.head(),
	}
	lines := it.lines()
	for i, l := range lines {
		if i == 0 && len(lines) == 1 && !strings.Contains(l.text, " ") {
			continue
		}
		class := map[symbol]string{added: "add", removed: "del", changed: "mod", replaced: "del"}[l.sym]
		out.Lines = append(out.Lines, pageLine{class, strings.TrimRight(string(l.sym)+" "+strings.Repeat("    ", l.depth)+l.text, " ")})
	}
	return out
}
