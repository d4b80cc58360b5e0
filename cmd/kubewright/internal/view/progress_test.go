package view_test

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/executor"
	"github.com/kubewright/kubewright/state"
)

var start = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// moment is an event, or a tick when it has no kind.
type moment struct {
	at    float64
	event executor.Event
}

func id(t state.Target, phase string) state.Address { return state.Address{Target: t, Phase: phase} }

// story returns a run in which one step fails.
func story() []moment {
	e := func(at float64, kind executor.Kind, step state.Address, more executor.Event) moment {
		more.Kind, more.Step, more.Total, more.Time = kind, step, 12, start.Add(time.Duration(at*1000)*time.Millisecond)
		return moment{at, more}
	}
	certs, etcd, images := id(cp1, "certs"), id(cp1, "etcd"), id(w21, "images")
	none := executor.Event{}
	return []moment{
		e(0, executor.KindRun, state.Address{}, none),
		e(0, executor.KindStarted, certs, none),
		e(0, executor.KindStarted, images, none),
		e(0.1, executor.KindOp, certs, executor.Event{Op: 0, Ops: 3, Summary: "issue CA kubernetes"}),
		e(0.1, executor.KindOp, images, executor.Event{Op: 0, Ops: 2, Summary: "pull image registry.k8s.io/kube-proxy:v1.36.3"}),
		e(0.1, executor.KindOp, images, executor.Event{Op: 1, Ops: 2, Summary: "pull image registry.k8s.io/pause:3.10.1"}),
		{0.2, none},
		e(1.2, executor.KindDone, certs, executor.Event{Seconds: 1.2, Done: 1}),
		e(1.2, executor.KindStarted, etcd, none),
		e(1.3, executor.KindOp, etcd, executor.Event{Op: 4, Ops: 5, Summary: "wait for etcd member cp1"}),
		e(2, executor.KindOutput, images, executor.Event{Op: 0, Ops: 2, Summary: "layer 3: \x1b[31mhalf"}),
		e(2.2, executor.KindLog, etcd, executor.Event{Op: 4, Ops: 5, Summary: "waiting; last seen \x1b[31mnothing"}),
		{4, none},
		{8, none},
		{12, none},
		{12.4, none},
		e(13, executor.KindOutput, images, executor.Event{Op: 0, Ops: 2, Summary: "layer 3: done"}),
		{16, none},
		{23, none},
		e(31.2, executor.KindFailed, etcd, executor.Event{Seconds: 30, Err: errors.New("member cp1 did not start within 30s:\nlast seen: connection refused")}),
		e(31.2, executor.KindSkipped, id(cp1, "control-plane"), executor.Event{Cause: etcd}),
		e(31.3, executor.KindStopping, state.Address{}, executor.Event{Summary: "interrupted"}),
		{31.5, none},
		e(40, executor.KindDone, images, executor.Event{Seconds: 40, Done: 2}),
		e(40, executor.KindFinished, state.Address{}, executor.Event{Seconds: 40}),
	}
}

// storySteps are how many steps the targets of the story have.
var storySteps = map[state.Target]int{cp1: 4, w21: 1}

func play(p view.Progress, moments []moment) {
	for _, m := range moments {
		if m.event.Kind == "" {
			p.Tick(start.Add(time.Duration(m.at*1000) * time.Millisecond))
			continue
		}
		p.Event(m.event)
	}
}

func TestPlainProgress(t *testing.T) {
	for _, color := range []bool{false, true} {
		var b bytes.Buffer
		p := view.NewPlainProgress(&b, view.Options{Color: color})
		play(p, story())
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		golden(t, fmt.Sprintf("progress.plain.%v.txt", map[bool]string{false: "nocolor", true: "color"}[color]), visible(b.String()))
	}
}

func TestLiveProgress(t *testing.T) {
	screen := &terminal{width: 80, height: 24}
	expected := map[state.Address]time.Duration{id(cp1, "etcd"): 14600 * time.Millisecond, id(w21, "images"): 400 * time.Millisecond}
	p := view.NewLiveProgress(screen, view.Options{Width: 80, Estimate: 50 * time.Second, Expected: expected})
	var frames strings.Builder
	for _, m := range story() {
		play(p, []moment{m})
		fmt.Fprintf(&frames, "--- %.1fs\n%s", m.at, screen)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&frames, "--- closed\n%s", screen)
	golden(t, "progress.live.txt", frames.String())
}

// TestLiveProgressExpected: what a step took before stands behind what it has taken
// so far, as a whole or not at all, and no column moves for that.
func TestLiveProgressExpected(t *testing.T) {
	t.Parallel()
	long, short, new := id(cp1, "wait-control-plane"), id(w21, "images"), id(w21, "certs")
	plan := &planner.Plan{}
	for _, step := range []state.Address{long, short, new} {
		plan.Steps = append(plan.Steps, planner.Step{ID: step, Target: step.Target, Phase: step.Phase, Action: planner.Create})
	}
	took := map[string]float64{
		state.DurationKey(long.Phase, string(planner.Create)):  75.3,
		state.DurationKey(short.Phase, string(planner.Create)): 9.6,
	}
	o := view.Expect(plan, view.Options{Recorded: view.Recorded{Durations: took}})
	if o.Estimate != 75300*time.Millisecond || o.Expected[short] != 9600*time.Millisecond || len(o.Expected) != 2 {
		t.Fatalf("expected are %v and %v", o.Estimate, o.Expected)
	}
	var pictures strings.Builder
	for _, width := range []int{100, 64, 52, 30, 12} {
		screen := &terminal{width: width, height: 24}
		o.Width = width
		p := view.NewLiveProgress(screen, o)
		p.Event(executor.Event{Kind: executor.KindRun, Time: start, Total: 3})
		for _, step := range []state.Address{long, short, new} {
			p.Event(executor.Event{Kind: executor.KindStarted, Time: start, Total: 3, Step: step})
			p.Event(executor.Event{Kind: executor.KindOp, Time: start, Total: 3, Step: step, Ops: 1, Summary: "do what has to be done"})
		}
		for _, after := range []int{3, 12, 80, 130} {
			p.Tick(start.Add(time.Duration(after) * time.Second))
			fmt.Fprintf(&pictures, "--- %d columns, after %ds\n%s", width, after, screen)
			for line := range strings.Lines(screen.String()) {
				if n := len([]rune(strings.TrimSuffix(line, "\n"))); n >= width {
					t.Errorf("a line has %d columns of %d: %s", n, width, line)
				}
			}
		}
	}
	golden(t, "progress.expected.txt", pictures.String())
}

// TestLiveProgressFolds: what is done stands until its node is done, and then as one
// line; what failed stays with its words, and of a run that ends early what was done.
func TestLiveProgressFolds(t *testing.T) {
	t.Parallel()
	screen := &terminal{width: 80, height: 24}
	cluster := state.Target{Type: state.TypeCluster, Name: "prod"}
	p := view.NewLiveProgress(screen, view.Options{
		Width: 80, Height: 24, Steps: map[state.Target]int{cp1: 3, cp2: 4, w21: 3, w22: 1, cluster: 2},
	})
	var frames strings.Builder
	settled := 0
	event := func(at float64, kind executor.Kind, step state.Address, more executor.Event) {
		if kind == executor.KindDone || kind == executor.KindFailed {
			settled++
		}
		more.Kind, more.Step, more.Total, more.Done, more.Time = kind, step, 13, settled, start.Add(time.Duration(at*1000)*time.Millisecond)
		p.Event(more)
		p.Tick(more.Time)
		fmt.Fprintf(&frames, "--- %.1fs %s %s\n%s", at, kind, step, screen)
	}
	done := func(from, to float64, steps ...state.Address) {
		for _, step := range steps {
			event(from, executor.KindStarted, step, executor.Event{})
		}
		for _, step := range steps {
			event(to, executor.KindDone, step, executor.Event{Seconds: to - from})
		}
	}
	event(0, executor.KindRun, state.Address{}, executor.Event{})
	done(0, 1, id(cp1, "certs"), id(cp2, "certs"))
	done(1, 2, id(w22, "certs"))
	done(2, 3, id(cluster, "upload-config"), id(cp2, "kubeconfig"))
	// Of steps that run side by side the time counts once.
	done(5, 7, id(cp1, "etcd"), id(cp1, "images"))
	event(8, executor.KindStarted, id(cp2, "etcd"), executor.Event{})
	event(8, executor.KindStarted, id(cp2, "images"), executor.Event{})
	event(9, executor.KindFailed, id(cp2, "etcd"), executor.Event{Seconds: 1, Err: errors.New("no such member")})
	event(10, executor.KindDone, id(cp2, "images"), executor.Event{Seconds: 2})
	done(10, 11, id(w21, "certs"), id(w21, "images"))
	event(11, executor.KindStarted, id(w21, "etcd"), executor.Event{})
	event(11.5, executor.KindStopping, state.Address{}, executor.Event{Summary: "interrupted"})
	event(12, executor.KindDone, id(w21, "etcd"), executor.Event{Seconds: 1})
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&frames, "--- closed\n%s", screen)
	golden(t, "progress.folds.txt", frames.String())
}

// TestLiveProgressFoldsMany: of what is done and not folded the latest lines stand
// there, as many as there is room for, and not one of them is lost at the end.
func TestLiveProgressFoldsMany(t *testing.T) {
	t.Parallel()
	screen := &terminal{width: 40, height: 10}
	steps := map[state.Target]int{}
	for i := range 30 {
		steps[state.NodeKeyTarget("worker", strconv.Itoa(i))] = 3
	}
	p := view.NewLiveProgress(screen, view.Options{Width: 40, Height: 10, Steps: steps})
	p.Event(executor.Event{Kind: executor.KindRun, Time: start, Total: 90})
	for i := range 30 {
		for _, phase := range []string{"prepare", "images", "reset"} {
			step := id(state.NodeKeyTarget("worker", strconv.Itoa(i)), phase)
			p.Event(executor.Event{Kind: executor.KindStarted, Time: start, Total: 90, Step: step})
			if phase != "reset" {
				p.Event(executor.Event{Kind: executor.KindDone, Time: start.Add(time.Second), Total: 90, Step: step, Seconds: 1})
			}
			p.Tick(start.Add(2 * time.Second))
			if n := len(screen.lines); n > 9 || strings.Count(screen.String(), "Applying: ") != 1 {
				t.Fatalf("%d lines:\n%s", n, screen)
			}
		}
	}
	during := screen.String()
	screen.height = 100
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	golden(t, "progress.folds.many.txt", "--- during\n"+during+"--- closed\n"+screen.String())
}

// erasing are the sequences that clear something, and early those that clear a row
// anywhere else than right before it is rewritten.
var (
	erasing = regexp.MustCompile(`\x1b\[\d*[JK]`)
	early   = regexp.MustCompile(`[^\nA]\x1b\[2K|\x1b\[2K\n`)
)

// writes are kept one by one.
type writes struct {
	terminal
	all []string
}

func (w *writes) Write(b []byte) (int, error) {
	w.all = append(w.all, string(b))
	return w.terminal.Write(b)
}

// TestLiveProgressNeverFlickers: a new picture is one write, which goes over the old
// one line by line: nothing is cleared but a row that had more, right before it is
// rewritten, and what is left below.
func TestLiveProgressNeverFlickers(t *testing.T) {
	t.Parallel()
	t.Run("each step", func(t *testing.T) { neverFlickers(t, nil) })
	t.Run("folded", func(t *testing.T) { neverFlickers(t, storySteps) })
}

func neverFlickers(t *testing.T, steps map[state.Target]int) {
	screen := &writes{terminal: terminal{width: 80, height: 24}}
	p := view.NewLiveProgress(screen, view.Options{Width: 80, Color: true, Steps: steps})
	drawn := 0
	for i, m := range story() {
		before := len(screen.all)
		play(p, []moment{m})
		n := len(screen.all) - before
		if n > 1 || m.event.Kind == "" && n != 1 {
			t.Fatalf("moment %d, at %.1fs, makes %d writes: %q", i, m.at, n, screen.all[before:])
		}
		for _, text := range screen.all[before:] {
			above, erased, found := strings.Cut(text, "\x1b[J")
			if cleared := len(erasing.FindAllString(above, -1)); !found || erased != "" || cleared != strings.Count(above, "\x1b[2K")+strings.Count(above, "\x1b[K\n") || early.MatchString(above) {
				t.Errorf("something is cleared before it is written anew: %q", text)
			}
			if strings.Contains(above, "Applying") {
				drawn++
			}
		}
	}
	if drawn < 10 {
		t.Errorf("only %d pictures were drawn", drawn)
	}
	before := len(screen.all)
	if err := p.Close(); err != nil || len(screen.all)-before > 1 {
		t.Errorf("the end makes %d writes: %v", len(screen.all)-before, err)
	}
}

// TestLiveProgressResize makes the terminal narrower and wider between draws;
// no remains of an earlier block may stay.
func TestLiveProgressResize(t *testing.T) {
	t.Run("each step", func(t *testing.T) { resizes(t, nil) })
	t.Run("folded", func(t *testing.T) { resizes(t, storySteps) })
}

func resizes(t *testing.T, steps map[state.Target]int) {
	screen := &terminal{width: 100, height: 24}
	p := view.NewLiveProgress(screen, view.Options{Width: 100, Steps: steps})
	moments := story()
	for i, m := range moments[:16] {
		if i > 8 {
			width := 100 - 20*(i%4)
			screen.resize(width)
			p.Resize(width, 24)
		}
		play(p, []moment{m})
		if n := strings.Count(screen.String(), "Applying:"); n > 1 || strings.Count(screen.String(), "certs: done") > 1 {
			t.Fatalf("after %.1fs the block is there %d times:\n%s", m.at, n, screen)
		}
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(screen.String(), "Applying:") {
		t.Fatalf("the block is left on the screen:\n%s", screen)
	}
}

// TestLiveProgressNarrower: a short line where a long one stood before is short for
// the terminal, too, which folds what it thinks is there when it becomes narrower.
func TestLiveProgressNarrower(t *testing.T) {
	t.Parallel()
	screen := &terminal{width: 100, height: 24}
	p := view.NewLiveProgress(screen, view.Options{Width: 100})
	first, second := id(cp1, "certs"), id(w21, "certs")
	p.Event(executor.Event{Kind: executor.KindRun, Time: start, Total: 2})
	for _, step := range []state.Address{first, second} {
		p.Event(executor.Event{Kind: executor.KindStarted, Time: start, Total: 2, Step: step})
		p.Event(executor.Event{Kind: executor.KindOp, Time: start, Total: 2, Step: step, Ops: 1, Summary: strings.Repeat("long ", 20)})
	}
	p.Tick(start.Add(time.Second))
	p.Event(executor.Event{Kind: executor.KindDone, Time: start.Add(2 * time.Second), Total: 2, Step: first, Seconds: 2})
	screen.resize(60)
	p.Resize(60, 24)
	p.Tick(start.Add(3 * time.Second))
	want := "[1/2] node.cp[\"cp1\"]/certs: done after 2s\n" +
		"Applying: 1 of 2 steps done [3s]\n" +
		"  node.worker[\"10.77.0.21\"]/certs  3s    long long long lo…\n"
	if got := screen.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestLiveProgressMany keeps the block lower than the terminal.
func TestLiveProgressMany(t *testing.T) {
	screen := &terminal{width: 80, height: 10}
	p := view.NewLiveProgress(screen, view.Options{Width: 80, Height: 10})
	p.Event(executor.Event{Kind: executor.KindRun, Time: start, Total: 40})
	for i := range 30 {
		p.Event(executor.Event{Kind: executor.KindStarted, Time: start, Total: 40, Step: id(state.NodeKeyTarget("worker", strconv.Itoa(i)), "reset")})
	}
	p.Tick(start.Add(3 * time.Second))
	golden(t, "progress.many.txt", screen.String())
}

// terminal is a model of one: enough to see what is on the screen.
type terminal struct {
	lines         []string
	row           int // of the cursor, which is always in column 0 between writes
	width, height int
}

var sequence = regexp.MustCompile(`^\x1b\[(\d*)([A-Za-z])`)

// Write implements io.Writer.
func (s *terminal) Write(b []byte) (int, error) {
	text, line := string(b), ""
	fresh := false // the line was begun in this write
	for text != "" {
		if m := sequence.FindStringSubmatch(text); m != nil {
			n, _ := strconv.Atoi(m[1])
			switch m[2] {
			case "A":
				s.row = max(0, s.row-max(1, n))
			case "J":
				s.lines = s.lines[:min(len(s.lines), s.row)]
			case "K":
				if m[1] == "2" && s.row < len(s.lines) {
					s.lines[s.row] = ""
				}
			case "m":
			default:
				panic("the model knows no " + m[0][1:])
			}
			text = text[len(m[0]):]
			continue
		}
		r := []rune(text)[0]
		text = text[len(string(r)):]
		switch r {
		case '\r':
		case '\n':
			s.put(line)
			line, fresh = "", false
		default:
			line, fresh = line+string(r), true
		}
	}
	if fresh {
		panic("a write ends within a line")
	}
	return len(b), nil
}

// put writes a line at the cursor, folded at the width. What stood behind its end
// becomes blanks, as in tmux, which counts them as part of the line.
func (s *terminal) put(line string) {
	r := []rune(line)
	for {
		n := min(len(r), s.width)
		for len(s.lines) <= s.row {
			s.lines = append(s.lines, "")
		}
		s.lines[s.row] = string(r[:n]) + strings.Repeat(" ", max(0, len([]rune(s.lines[s.row]))-n))
		s.row++
		if r = r[n:]; len(r) == 0 {
			return
		}
	}
}

// resize folds lines that are too wide, as terminals do.
func (s *terminal) resize(width int) {
	lines := s.lines
	s.width, s.lines, s.row = width, nil, 0
	for _, l := range lines {
		s.put(l)
	}
}

// String returns the screen.
func (s *terminal) String() string {
	var b strings.Builder
	for _, line := range s.lines[max(0, len(s.lines)-s.height):] {
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

func TestLooking(t *testing.T) {
	t.Parallel()
	at := func(s float64) time.Time { return start.Add(time.Duration(s * float64(time.Second))) }
	names := []string{"node.a", "node.b", "node.c", "node.d", "node.e"}
	for _, test := range []struct {
		name     string
		terminal bool
		play     func(*view.Looking)
		want     string
	}{
		{"a terminal", true, func(l *view.Looking) {
			l.Tick(at(0.4)) // takes no time yet
			l.Answered("node.b")
			l.Tick(at(1))
			l.Aside(func() {})
			for _, n := range names {
				l.Answered(n)
			}
			l.Tick(at(2))
			l.Close()
		}, "\rLooking at 5 hosts: 1 answered, waiting for node.a, node.c, node.d, …\x1b[K" + "\r\x1b[K" +
			"\rLooking at 5 hosts: 5 answered, waiting for the API [2s]\x1b[K" + "\r\x1b[K"},
		{"a log", false, func(l *view.Looking) {
			l.Tick(at(9))
			l.Tick(at(10))
			l.Tick(at(11))
			l.Close()
		}, "Looking at 5 hosts: 0 answered, waiting for node.a, node.b, node.c, 2 more [10s]\n"},
	} {
		var b strings.Builder
		test.play(view.NewLooking(&b, view.Options{Width: 70}, test.terminal, names, start))
		if got := b.String(); got != test.want {
			t.Errorf("%s: got %q\nwant %q", test.name, got, test.want)
		}
	}
}
