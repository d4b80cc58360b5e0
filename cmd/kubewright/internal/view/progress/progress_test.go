package progress_test

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/progress"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/schedule"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/viewtest"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/executor"
	"github.com/kubewright/kubewright/state"
)

// storySteps is the number of steps of each target in the story.
var storySteps = map[state.Target]int{viewtest.Cp1: 4, viewtest.W21: 1}

func TestPlainProgress(t *testing.T) {
	for _, color := range []bool{false, true} {
		var b bytes.Buffer
		p := progress.NewPlain(&b, ui.Options{Color: color})
		viewtest.Play(p, viewtest.Run())
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		viewtest.Golden(t, fmt.Sprintf("progress.plain.%v.txt", map[bool]string{false: "nocolor", true: "color"}[color]), viewtest.Visible(b.String()))
	}
}

func TestLiveProgress(t *testing.T) {
	screen := &terminal{width: 80, height: 24}
	expected := map[state.Address]time.Duration{viewtest.ID(viewtest.Cp1, "etcd"): 14600 * time.Millisecond, viewtest.ID(viewtest.W21, "images"): 400 * time.Millisecond}
	p := progress.NewLive(screen, ui.Options{Width: 80, Estimate: 50 * time.Second, Expected: expected})
	var frames strings.Builder
	for _, m := range viewtest.Run() {
		viewtest.Play(p, []viewtest.Moment{m})
		fmt.Fprintf(&frames, "--- %.1fs\n%s", m.At, screen)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&frames, "--- closed\n%s", screen)
	viewtest.Golden(t, "progress.live.txt", frames.String())
}

// TestLiveProgressShowsExpectedDuration checks that the expected duration of a step is shown after the
// elapsed one, whole or not at all, and that no column moves because of it.
func TestLiveProgressShowsExpectedDuration(t *testing.T) {
	t.Parallel()
	long, short, new := viewtest.ID(viewtest.Cp1, "wait-control-plane"), viewtest.ID(viewtest.W21, "images"), viewtest.ID(viewtest.W21, "certs")
	plan := &planner.Plan{}
	for _, step := range []state.Address{long, short, new} {
		plan.Steps = append(plan.Steps, planner.Step{ID: step, Target: step.Target, Phase: step.Phase, Action: planner.Create})
	}
	took := map[string]float64{
		state.DurationKey(long.Phase, string(planner.Create)):  75.3,
		state.DurationKey(short.Phase, string(planner.Create)): 9.6,
	}
	o := schedule.WithForecast(plan, ui.Options{Recorded: ui.Recorded{Durations: took}})
	if o.Estimate != 75300*time.Millisecond || o.Expected[short] != 9600*time.Millisecond || len(o.Expected) != 2 {
		t.Fatalf("the estimates are %v and %v", o.Estimate, o.Expected)
	}
	var pictures strings.Builder
	for _, width := range []int{100, 64, 52, 30, 12} {
		screen := &terminal{width: width, height: 24}
		o.Width = width
		p := progress.NewLive(screen, o)
		p.Event(executor.Event{Kind: executor.KindRun, Time: viewtest.RunStart, Total: 3})
		for _, step := range []state.Address{long, short, new} {
			p.Event(executor.Event{Kind: executor.KindStarted, Time: viewtest.RunStart, Total: 3, Step: step})
			p.Event(executor.Event{Kind: executor.KindOp, Time: viewtest.RunStart, Total: 3, Step: step, Ops: 1, Summary: "do what has to be done"})
		}
		for _, after := range []int{3, 12, 80, 130} {
			p.Tick(viewtest.RunStart.Add(time.Duration(after) * time.Second))
			fmt.Fprintf(&pictures, "--- %d columns, after %ds\n%s", width, after, screen)
			for line := range strings.Lines(screen.String()) {
				if n := len([]rune(strings.TrimSuffix(line, "\n"))); n >= width {
					t.Errorf("a line has %d columns of %d: %s", n, width, line)
				}
			}
		}
	}
	viewtest.Golden(t, "progress.expected.txt", pictures.String())
}

// TestLiveProgressFoldsFinishedSteps checks that finished steps have lines until their node is done, and
// then one line; that a failed step keeps its text; and that a run that ends early shows what
// was done.
func TestLiveProgressFoldsFinishedSteps(t *testing.T) {
	t.Parallel()
	screen := &terminal{width: 80, height: 24}
	cluster := state.Target{Type: state.TypeCluster, Name: "prod"}
	p := progress.NewLive(screen, ui.Options{
		Width: 80, Height: 24, Steps: map[state.Target]int{viewtest.Cp1: 3, viewtest.Cp2: 4, viewtest.W21: 3, viewtest.W22: 1, cluster: 2},
	})
	var frames strings.Builder
	settled := 0
	event := func(at float64, kind executor.Kind, step state.Address, more executor.Event) {
		if kind == executor.KindDone || kind == executor.KindFailed {
			settled++
		}
		more.Kind, more.Step, more.Total, more.Done, more.Time = kind, step, 13, settled, viewtest.RunStart.Add(time.Duration(at*1000)*time.Millisecond)
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
	done(0, 1, viewtest.ID(viewtest.Cp1, "certs"), viewtest.ID(viewtest.Cp2, "certs"))
	done(1, 2, viewtest.ID(viewtest.W22, "certs"))
	done(2, 3, viewtest.ID(cluster, "upload-config"), viewtest.ID(viewtest.Cp2, "kubeconfig"))
	// Parallel steps count their time once.
	done(5, 7, viewtest.ID(viewtest.Cp1, "etcd"), viewtest.ID(viewtest.Cp1, "images"))
	event(8, executor.KindStarted, viewtest.ID(viewtest.Cp2, "etcd"), executor.Event{})
	event(8, executor.KindStarted, viewtest.ID(viewtest.Cp2, "images"), executor.Event{})
	event(9, executor.KindFailed, viewtest.ID(viewtest.Cp2, "etcd"), executor.Event{Seconds: 1, Err: errors.New("no such member")})
	event(10, executor.KindDone, viewtest.ID(viewtest.Cp2, "images"), executor.Event{Seconds: 2})
	done(10, 11, viewtest.ID(viewtest.W21, "certs"), viewtest.ID(viewtest.W21, "images"))
	event(11, executor.KindStarted, viewtest.ID(viewtest.W21, "etcd"), executor.Event{})
	event(11.5, executor.KindStopping, state.Address{}, executor.Event{Summary: "interrupted"})
	event(12, executor.KindDone, viewtest.ID(viewtest.W21, "etcd"), executor.Event{Seconds: 1})
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&frames, "--- closed\n%s", screen)
	viewtest.Golden(t, "progress.folds.txt", frames.String())
}

// TestLiveProgressShowsLatestUnfoldedSteps checks that the latest finished, unfolded steps are shown, as many
// as there is room for, and that none of them is lost at the end.
func TestLiveProgressShowsLatestUnfoldedSteps(t *testing.T) {
	t.Parallel()
	screen := &terminal{width: 40, height: 10}
	steps := map[state.Target]int{}
	for i := range 30 {
		steps[state.NodeKeyTarget("worker", strconv.Itoa(i))] = 3
	}
	p := progress.NewLive(screen, ui.Options{Width: 40, Height: 10, Steps: steps})
	p.Event(executor.Event{Kind: executor.KindRun, Time: viewtest.RunStart, Total: 90})
	for i := range 30 {
		for _, phase := range []string{"prepare", "images", "reset"} {
			step := viewtest.ID(state.NodeKeyTarget("worker", strconv.Itoa(i)), phase)
			p.Event(executor.Event{Kind: executor.KindStarted, Time: viewtest.RunStart, Total: 90, Step: step})
			if phase != "reset" {
				p.Event(executor.Event{Kind: executor.KindDone, Time: viewtest.RunStart.Add(time.Second), Total: 90, Step: step, Seconds: 1})
			}
			p.Tick(viewtest.RunStart.Add(2 * time.Second))
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
	viewtest.Golden(t, "progress.folds.many.txt", "--- during\n"+during+"--- closed\n"+screen.String())
}

// erasing matches sequences that clear something, early those that clear a row other than right
// before it is rewritten.
var (
	erasing = regexp.MustCompile(`\x1b\[\d*[JK]`)
	early   = regexp.MustCompile(`[^\nA]\x1b\[2K|\x1b\[2K\n`)
)

// writes keeps each write separately.
type writes struct {
	terminal
	all []string
}

func (w *writes) Write(b []byte) (int, error) {
	w.all = append(w.all, string(b))
	return w.terminal.Write(b)
}

// TestLiveProgressNeverFlickers checks that a redraw is one write that goes over the old block
// line by line, and clears only a row that was longer, right before it is rewritten, and the
// remaining rows below.
func TestLiveProgressNeverFlickers(t *testing.T) {
	t.Parallel()
	t.Run("each step", func(t *testing.T) { neverFlickers(t, nil) })
	t.Run("folded", func(t *testing.T) { neverFlickers(t, storySteps) })
}

func neverFlickers(t *testing.T, steps map[state.Target]int) {
	screen := &writes{terminal: terminal{width: 80, height: 24}}
	p := progress.NewLive(screen, ui.Options{Width: 80, Color: true, Steps: steps})
	drawn := 0
	for i, m := range viewtest.Run() {
		before := len(screen.all)
		viewtest.Play(p, []viewtest.Moment{m})
		n := len(screen.all) - before
		if n > 1 || m.Event.Kind == "" && n != 1 {
			t.Fatalf("moment %d, at %.1fs, makes %d writes: %q", i, m.At, n, screen.all[before:])
		}
		for _, text := range screen.all[before:] {
			above, erased, found := strings.Cut(text, "\x1b[J")
			if cleared := len(erasing.FindAllString(above, -1)); !found || erased != "" || cleared != strings.Count(above, "\x1b[2K")+strings.Count(above, "\x1b[K\n") || early.MatchString(above) {
				t.Errorf("a row is cleared before it is rewritten: %q", text)
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

// TestLiveProgressResize makes the terminal narrower and wider between draws; no remains of an
// earlier block may stay.
func TestLiveProgressResize(t *testing.T) {
	t.Run("each step", func(t *testing.T) { resizes(t, nil) })
	t.Run("folded", func(t *testing.T) { resizes(t, storySteps) })
}

func resizes(t *testing.T, steps map[state.Target]int) {
	screen := &terminal{width: 100, height: 24}
	p := progress.NewLive(screen, ui.Options{Width: 100, Steps: steps})
	moments := viewtest.Run()
	for i, m := range moments[:16] {
		if i > 8 {
			width := 100 - 20*(i%4)
			screen.resize(width)
			p.Resize(width, 24)
		}
		viewtest.Play(p, []viewtest.Moment{m})
		if n := strings.Count(screen.String(), "Applying:"); n > 1 || strings.Count(screen.String(), "certs: done") > 1 {
			t.Fatalf("after %.1fs the block is there %d times:\n%s", m.At, n, screen)
		}
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(screen.String(), "Applying:") {
		t.Fatalf("the block is left on the screen:\n%s", screen)
	}
}

// TestLiveProgressShortensLinesWhenNarrower checks that a short line in place of a long one is short for the
// terminal, too, which folds the lines in its buffer when it becomes narrower.
func TestLiveProgressShortensLinesWhenNarrower(t *testing.T) {
	t.Parallel()
	screen := &terminal{width: 100, height: 24}
	p := progress.NewLive(screen, ui.Options{Width: 100})
	first, second := viewtest.ID(viewtest.Cp1, "certs"), viewtest.ID(viewtest.W21, "certs")
	p.Event(executor.Event{Kind: executor.KindRun, Time: viewtest.RunStart, Total: 2})
	for _, step := range []state.Address{first, second} {
		p.Event(executor.Event{Kind: executor.KindStarted, Time: viewtest.RunStart, Total: 2, Step: step})
		p.Event(executor.Event{Kind: executor.KindOp, Time: viewtest.RunStart, Total: 2, Step: step, Ops: 1, Summary: strings.Repeat("long ", 20)})
	}
	p.Tick(viewtest.RunStart.Add(time.Second))
	p.Event(executor.Event{Kind: executor.KindDone, Time: viewtest.RunStart.Add(2 * time.Second), Total: 2, Step: first, Seconds: 2})
	screen.resize(60)
	p.Resize(60, 24)
	p.Tick(viewtest.RunStart.Add(3 * time.Second))
	want := "[1/2] node.cp[\"cp1\"]/certs: done after 2s\n" +
		"Applying: 1 of 2 steps done [3s]\n" +
		"  node.worker[\"10.77.0.21\"]/certs  3s    long long long lo…\n"
	if got := screen.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestLiveProgressFitsTerminalHeight checks that the block stays lower than the terminal.
func TestLiveProgressFitsTerminalHeight(t *testing.T) {
	screen := &terminal{width: 80, height: 10}
	p := progress.NewLive(screen, ui.Options{Width: 80, Height: 10})
	p.Event(executor.Event{Kind: executor.KindRun, Time: viewtest.RunStart, Total: 40})
	for i := range 30 {
		p.Event(executor.Event{Kind: executor.KindStarted, Time: viewtest.RunStart, Total: 40, Step: viewtest.ID(state.NodeKeyTarget("worker", strconv.Itoa(i)), "reset")})
	}
	p.Tick(viewtest.RunStart.Add(3 * time.Second))
	viewtest.Golden(t, "progress.many.txt", screen.String())
}

// terminal is a model of a terminal that is detailed enough to show the screen.
type terminal struct {
	lines         []string
	row           int // of the cursor, which is always in column 0 between writes
	width, height int
}

var sequence = regexp.MustCompile(`^\x1b\[(\d*)([A-Za-z])`)

// Write implements io.Writer.
func (s *terminal) Write(b []byte) (int, error) {
	text, line := string(b), ""
	fresh := false // the line began in this write
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

// put writes a line at the cursor, folded at the width. The old text after its end becomes
// blanks, which tmux counts as part of the line.
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

func TestObservationProgress(t *testing.T) {
	t.Parallel()
	at := func(s float64) time.Time { return viewtest.RunStart.Add(time.Duration(s * float64(time.Second))) }
	names := []string{"node.a", "node.b", "node.c", "node.d", "node.e"}
	for _, test := range []struct {
		name     string
		terminal bool
		play     func(*progress.Observation)
		want     string
	}{
		{"a terminal", true, func(l *progress.Observation) {
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
		{"a log", false, func(l *progress.Observation) {
			l.Tick(at(9))
			l.Tick(at(10))
			l.Tick(at(11))
			l.Close()
		}, "Looking at 5 hosts: 0 answered, waiting for node.a, node.b, node.c, 2 more [10s]\n"},
	} {
		var b strings.Builder
		test.play(progress.NewObservation(&b, ui.Options{Width: 70}, test.terminal, names, viewtest.RunStart))
		if got := b.String(); got != test.want {
			t.Errorf("%s: got %q\nwant %q", test.name, got, test.want)
		}
	}
}

// TestDisplayShowsRunningStepsWithoutEvents checks that a started display shows running steps without any event.
func TestDisplayShowsRunningStepsWithoutEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		d := progress.New(&b, ui.Options{}, false)
		stop := d.Start(time.Now)
		d.Event(executor.Event{Kind: executor.KindRun, Time: time.Now(), Total: 1})
		d.Event(executor.Event{Kind: executor.KindStarted, Time: time.Now(), Total: 1, Step: viewtest.ID(viewtest.Cp1, "etcd")})
		time.Sleep(25 * time.Second)
		d.Note("a word")
		stop()
		want := "Still applying… [10s elapsed, 0 of 1 steps] node.cp[\"cp1\"]/etcd\n" +
			"Still applying… [20s elapsed, 0 of 1 steps] node.cp[\"cp1\"]/etcd\na word\n"
		if got := b.String(); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
}
