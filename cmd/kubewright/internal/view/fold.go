package view

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// blockPrinter prints resources as blocks.
type blockPrinter struct{ changePrinter }

// blocks prints the resources, each once: nodes whose blocks are the same up to
// their own names and addresses follow the first of them in a sentence.
func (p blockPrinter) blocks(resources []resource) {
	nodes, mirrors := split(resources, p.full)
	groups := p.fold(nodes)
	last := lastNode(groups)
	seen := newMemory()
	for i, g := range groups {
		first := p.elide(g[0], seen)
		for _, c := range first.comments {
			p.line("  # ", c)
		}
		p.print([]entry{first.entry}, 0)
		p.line()
		var also []string
		if len(g) > 1 {
			also = append(also, "the same for "+list(p.others(g[1:])))
		}
		if i == last {
			also = append(also, mirrors...)
		}
		if len(also) > 0 {
			p.line("  (", wrap(strings.Join(also, "; "), p.width-3, "   "), ")")
			p.line()
		}
	}
}

// elide takes out of a new node what is the same on a node printed before, up to names
// and addresses, and says where to look. A new item that is not the same shows what it
// differs in.
func (p blockPrinter) elide(r resource, seen *memory) resource {
	if r.Target.Type != state.TypeNode || p.full {
		return r
	}
	own := replacer(r.names.all, "<self>")
	var kept []entry
	var same tallyOf
	for _, ph := range r.entry.kids {
		rest, gone := p.split(r, own, ph, seen)
		switch {
		case r.Action != planner.Create:
		case ph.block && len(rest) == 0 && len(gone.where) == 1:
			same.add(gone.where[0], ph.head)
			continue
		case gone.most() >= worthEliding || len(rest) == 0 && ph.block:
			for _, first := range gone.where {
				rest = append(rest, asOn(plural(len(gone.what[first]), "item"), first))
			}
			ph.kids = rest
			kept = append(kept, ph)
			continue
		}
		kids := make([]entry, len(ph.kids))
		for i, it := range ph.kids {
			kids[i] = seen.compared(p.changePrinter, r, own, ph, it)
		}
		ph.kids = kids
		kept = append(kept, ph)
	}
	for _, first := range same.where {
		kept = append(kept, asOn(list(same.what[first]), first))
	}
	r.entry.kids = kept
	return r
}

func asOn(what, first string) entry {
	return entry{comment: true, indented: true, text: "# (" + what + " as on " + first + ")"}
}

// split separates the items of a phase that are new from those that were shown on
// another node with the same content, and remembers the new ones.
func (p blockPrinter) split(r resource, own func(string) string, ph entry, seen *memory) (rest []entry, gone tallyOf) {
	for _, it := range ph.kids {
		if where, ok := seen.place(r, own, ph, it); ok {
			gone.add(where, it.head)
			continue
		}
		rest = append(rest, seen.compared(p.changePrinter, r, own, ph, it))
	}
	return rest, gone
}

// worthEliding is how many lines a comment has to save.
const worthEliding = 3

// tallyOf collects what is the same as where, in the order of finding it.
type tallyOf struct {
	where []string
	what  map[string][]string
}

func (t *tallyOf) add(where, what string) {
	if t.what == nil {
		t.what = map[string][]string{}
	}
	if t.what[where] == nil {
		t.where = append(t.where, where)
	}
	t.what[where] = append(t.what[where], what)
}

func (t *tallyOf) most() int {
	n := 0
	for _, w := range t.what {
		n = max(n, len(w))
	}
	return n
}

// split takes out the clusters that only repeat what their nodes get, and says
// so in sentences.
func split(resources []resource, full bool) (rest []resource, mirrors []string) {
	for _, r := range resources {
		if len(r.mirrors) == 0 || full {
			rest = append(rest, r)
			continue
		}
		verb := " changes with them"
		if len(r.mirrors) > 1 {
			verb = " change with them"
		}
		mirrors = append(mirrors, Clean(r.Target.String())+": "+strings.Join(r.mirrors, ", ")+verb)
	}
	return rest, mirrors
}

// lastNode returns the last group of nodes that are updated, or -1.
func lastNode(groups [][]resource) int {
	last := -1
	for i, g := range groups {
		if g[0].Target.Type == state.TypeNode && g[0].Action == planner.Update {
			last = i
		}
	}
	return last
}

// others names folded nodes shortly: a replacement or an unusual reason shows
// in the comment lines, which are the same for all.
func (p blockPrinter) others(rs []resource) []string {
	out := make([]string, len(rs))
	for i, r := range rs {
		out[i] = r.names.title
	}
	return out
}

// fold groups resources that look the same, in the order of their first.
func (p blockPrinter) fold(resources []resource) [][]resource {
	var groups [][]resource
	place := map[string]int{}
	var all []string
	for _, r := range resources {
		all = append(all, r.names.all...)
	}
	other := newWords(all)
	for _, r := range resources {
		shape := ""
		if r.Target.Type == state.TypeNode && !p.full {
			shape = p.shape(r, other)
		}
		if i, ok := place[shape]; ok && shape != "" {
			groups[i] = append(groups[i], r)
			continue
		}
		place[shape] = len(groups)
		groups = append(groups, []resource{r})
	}
	return groups
}

// shape returns the resource's text with its own names and addresses taken out. In
// comments (what stays up meanwhile, what comes next) the names of other nodes
// are taken out too; in values they count.
func (p blockPrinter) shape(r resource, other words) string {
	text := changePrinter{newPage(Options{Width: endless})}
	for _, c := range r.comments {
		text.line("# ", ansi.Strip(c))
	}
	text.print([]entry{plainEntry(r.entry)}, 0)
	own := replacer(r.names.all, "<self>")
	lines := append(strings.Split(text.String(), "\n"), contents(r.entry)...)
	for i, line := range lines {
		line = own(line)
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			line = other.replace(line, "<other>")
		}
		lines[i] = line
	}
	return strings.Join(lines, "\n")
}

// plainEntry takes colour out of an entry.
func plainEntry(e entry) entry {
	e.text, e.head, e.key = ansi.Strip(e.text), ansi.Strip(e.head), ansi.Strip(e.key)
	e.text = strings.Join(strings.Fields(e.text), " ")
	kids := make([]entry, len(e.kids))
	for i, k := range e.kids {
		kids[i] = plainEntry(k)
	}
	body := make([]bodyLine, len(e.body))
	for i, l := range e.body {
		body[i] = bodyLine{sym: l.sym, text: ansi.Strip(l.text)}
	}
	e.kids, e.body = kids, body
	return e
}

// names are what a node is called.
type names struct {
	// title is the shortest that tells it apart from others on the screen.
	title string
	all   []string
}

// namesOf collects a node's key, address and Kubernetes name from the plan.
func namesOf(plan *planIndex, c planner.ResourceChange) names {
	n := names{title: Clean(c.Target.String())}
	if c.Target.Type != state.TypeNode {
		return n
	}
	add := func(s string) {
		if s != "" && !slices.Contains(n.all, s) {
			n.all = append(n.all, s)
		}
	}
	add(n.title)
	add(strings.ReplaceAll(n.title, `"`, `\"`)) // as JSON has it
	if c.Target.Keyed {
		n.title = Clean(c.Target.Key)
		if strings.Trim(n.title, "0123456789") != "" { // a number may stand for anything: 2 lines, mode 0644
			add(n.title)
		}
	}
	address, _, _ := strings.Cut(Clean(c.Note), ",")
	add(address)
	for a := range strings.SplitSeq(Clean(c.After["advertise_addresses"]), ",") {
		add(a)
	}
	for _, i := range plan.stepsOf[c.Target] {
		for _, op := range plan.Steps[i].Operations {
			add(Clean(nodeName(op)))
		}
	}
	for _, i := range plan.changesOf[c.Target] {
		if ch := &plan.Changes[i]; ch.Kind == state.KindNodeObject {
			id := ch.Address.ID()
			add(Clean(id[strings.LastIndex(id, "/")+1:]))
		}
	}
	slices.SortFunc(n.all, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return n
}

// nodeName returns the Kubernetes name in an operation on a node.
func nodeName(op planner.Operation) string {
	switch o := op.(type) {
	case planner.PatchNode:
		return o.Node
	case planner.Drain:
		return o.Node
	case planner.Cordon:
		return o.Node
	case planner.AddEtcdMember:
		return o.Name
	case planner.Wait:
		if o.For == planner.WaitNodeReady || o.For == planner.WaitNodeRegistered {
			return o.Name
		}
	}
	return ""
}

// replacer puts a word in place of names wherever they stand as a whole word.
func replacer(words []string, with string) func(string) string {
	words = slices.Clone(words)
	slices.SortFunc(words, func(a, b string) int { return len(b) - len(a) })
	return func(line string) string {
		for _, w := range words {
			line = replaceWord(line, w, with)
		}
		return line
	}
}

func replaceWord(line, word, with string) string {
	var b strings.Builder
	for {
		i := strings.Index(line, word)
		if i < 0 {
			b.WriteString(line)
			return b.String()
		}
		end := i + len(word)
		before, _ := utf8.DecodeLastRuneInString(line[:i])
		after, _ := utf8.DecodeRuneInString(line[end:])
		b.WriteString(line[:i])
		if wordRune(before) || wordRune(after) {
			b.WriteString(word)
		} else {
			b.WriteString(with)
		}
		line = line[end:]
	}
}

// words are many words to be found in a line at once, by their length.
type words struct {
	known   map[string]bool
	lengths []int // the longest first
}

func newWords(list []string) words {
	w := words{known: map[string]bool{}}
	for _, s := range list {
		w.known[s] = true
		w.lengths = append(w.lengths, len(s))
	}
	slices.SortFunc(w.lengths, func(a, b int) int { return b - a })
	w.lengths = slices.Compact(w.lengths)
	return w
}

// replace puts another word in place of each, wherever it stands as a whole: of
// several that begin at a place, of the longest.
func (w words) replace(line, with string) string {
	var b strings.Builder
	before := utf8.RuneError
	for i := 0; i < len(line); {
		n := 0
		if !wordRune(before) {
			n = w.at(line[i:])
		}
		if n > 0 {
			b.WriteString(with)
			before, _ = utf8.DecodeLastRuneInString(line[i : i+n])
			i += n
			continue
		}
		before, n = utf8.DecodeRuneInString(line[i:])
		b.WriteString(line[i : i+n])
		i += n
	}
	return b.String()
}

// at returns the length of the word that a text begins with; 0 for none.
func (w words) at(text string) int {
	for _, n := range w.lengths {
		if n == 0 || n > len(text) || !w.known[text[:n]] {
			continue
		}
		if after, _ := utf8.DecodeRuneInString(text[n:]); !wordRune(after) {
			return n
		}
	}
	return 0
}

func wordRune(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_')
}
