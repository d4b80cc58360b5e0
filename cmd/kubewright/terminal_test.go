package main

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/creack/pty"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/cli"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/statefile"
)

// runHeld is the command in a process that reports one of its moments on file descriptor 3,
// and continues when it reads a line from descriptor 4.
func runHeld() {
	said, told := os.NewFile(3, "said"), bufio.NewReader(os.NewFile(4, "told"))
	os.Exit(cli.Main(atMoment(console.System(os.Args[1:]), func() {
		_, _ = said.WriteString("now\n")
		_, _ = told.ReadString('\n')
	})))
}

// model is the content of a terminal that folds long lines, and folds them again when its width
// changes. All rows that have scrolled away are kept.
type model struct {
	mu            sync.Mutex
	changed       *sync.Cond
	rows          []modelRow
	row, column   int
	width, height int
	pending       []byte // an incomplete sequence
	frames, marks int    // how often the rows below were erased, and how often a mark was read
	ended         bool
}

// modelRow is a row; one that continues in the next is part of a folded line.
type modelRow struct {
	text      []rune
	continues bool
}

func newModel(width, height int) *model {
	m := &model{width: width, height: height, rows: make([]modelRow, 1)}
	m.changed = sync.NewCond(&m.mu)
	return m
}

// control matches the sequences that the model knows; the mark is a title, which no terminal
// shows.
var control = regexp.MustCompile(`^(?:\x1b\[(\d*)([AJKm])|\x1b\[[\d;]*m|\x1b\](mark)\x07)`)

// Write implements io.Writer.
func (m *model) Write(b []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pending = append(m.pending, b...)
	for len(m.pending) > 0 && m.take() {
	}
	m.changed.Broadcast()
	return len(b), nil
}

// take consumes one character or sequence, if it is complete.
func (m *model) take() bool {
	if m.pending[0] == '\x1b' {
		found := control.FindSubmatch(m.pending)
		if found == nil {
			if len(m.pending) > 16 {
				panic("the model does not know " + strconv.Quote(string(m.pending[:16])))
			}
			return false
		}
		m.pending = m.pending[len(found[0]):]
		if found[3] != nil {
			m.marks++
		}
		m.control(string(found[2]), string(found[1]))
		return true
	}
	if !utf8.FullRune(m.pending) {
		return false
	}
	r, size := utf8.DecodeRune(m.pending)
	m.pending = m.pending[size:]
	switch r {
	case '\r':
		m.column = 0
	case '\n':
		m.down()
	default:
		m.put(r)
	}
	return true
}

func (m *model) control(what, number string) {
	n, _ := strconv.Atoi(number)
	row := &m.rows[m.row]
	switch what {
	case "A":
		m.row = max(0, len(m.rows)-m.height, m.row-max(1, n))
	case "J":
		m.rows = m.rows[:m.row+1]
		m.frames++
		fallthrough
	case "K":
		row.text, row.continues = row.text[:min(m.column, len(row.text))], false
	}
}

func (m *model) down() {
	if m.row++; m.row == len(m.rows) {
		m.rows = append(m.rows, modelRow{})
	}
}

func (m *model) put(r rune) {
	if m.column == m.width {
		m.rows[m.row].continues = true
		m.column = 0
		m.down()
	}
	row := &m.rows[m.row]
	for len(row.text) <= m.column {
		row.text = append(row.text, ' ')
	}
	row.text[m.column] = r
	m.column++
}

// resize folds all lines again. The cursor must be at the beginning of a row of its own.
func (m *model) resize(width, height int) {
	old, at := m.rows, m.row
	m.width, m.height = width, height
	m.rows, m.row, m.column = make([]modelRow, 1), 0, 0
	cursor := 0
	for i, row := range old {
		if i == at {
			cursor = m.row
		}
		for _, r := range row.text {
			m.put(r)
		}
		if !row.continues && i < len(old)-1 {
			m.column = 0
			m.down()
		}
	}
	m.row, m.column = cursor, 0
}

// until waits for a condition on the model.
func (m *model) until(t *testing.T, what string, holds func(*model) bool) {
	t.Helper()
	late := false
	timer := time.AfterFunc(2*time.Minute, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		late = true
		m.changed.Broadcast()
	})
	defer timer.Stop()
	m.mu.Lock()
	defer m.mu.Unlock()
	for !holds(m) {
		if late || m.ended {
			t.Fatalf("%s did not appear:\n%s", what, m.text())
		}
		m.changed.Wait()
	}
}

// shows returns the condition that a text is on the screen.
func shows(text string) func(*model) bool {
	return func(m *model) bool { return strings.Contains(m.text(), text) }
}

// text returns all rows, with folded lines joined.
func (m *model) text() string {
	var b strings.Builder
	for _, row := range m.rows {
		b.WriteString(string(row.text))
		if !row.continues {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// heldTerminal is a command on its own terminal, which a test can pause.
type heldTerminal struct {
	*testing.T
	*model
	cmd           *exec.Cmd
	master, slave *os.File
	said          *bufio.Reader
	told          *os.File
}

func startConsole(t *testing.T, f folder, width, height int, args ...string) *heldTerminal {
	t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	said, saying, saidErr := os.Pipe()
	hearing, told, toldErr := os.Pipe()
	if err := errors.Join(saidErr, toldErr, pty.Setsize(master, &pty.Winsize{Rows: uint16(height), Cols: uint16(width)})); err != nil {
		t.Fatal(err)
	}
	c := &heldTerminal{T: t, model: newModel(width, height), cmd: f.process("kubewright-held", args...), master: master, slave: slave, said: bufio.NewReader(said), told: told}
	c.cmd.Env = append(os.Environ(), momentAt+"="+inTheFirstStep.String(), "TERM=xterm-256color", "NO_COLOR=", "CLICOLOR_FORCE=", "KUBEWRIGHT_LOG=")
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = slave, slave, slave
	c.cmd.ExtraFiles = []*os.File{saying, hearing}
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	saying.Close()
	hearing.Close()
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		for _, file := range []*os.File{master, slave, said, told} {
			file.Close()
		}
	})
	go func() {
		_, _ = io.Copy(c.model, master) // ends with an error when the terminal is closed on the other side
		c.mu.Lock()
		defer c.mu.Unlock()
		c.ended = true
		c.changed.Broadcast()
	}()
	return c
}

// types types a text at the keyboard.
func (c *heldTerminal) types(text string) {
	c.Helper()
	if _, err := io.WriteString(c.master, text); err != nil {
		c.Fatal(err)
	}
}

// held waits until the command is at its moment and shows the step.
func (c *heldTerminal) held(step string) {
	c.Helper()
	if line, err := c.said.ReadString('\n'); err != nil || line != "now\n" {
		c.Fatalf("got %q, %v:\n%s", line, err, c.text())
	}
	c.until(c.T, "the block with "+step, func(m *model) bool { return strings.Contains(strings.Join(m.block(), "\n"), step) })
}

// resizes changes the terminal's size while the command is stopped and all its output has been
// read, and waits until the command has redrawn twice.
func (c *heldTerminal) resizes(width, height int) {
	c.Helper()
	var status syscall.WaitStatus
	if err := c.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		c.Fatal(err)
	}
	if _, err := syscall.Wait4(c.cmd.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		c.Fatalf("the command did not stop: %v %v", status, err)
	}
	c.mu.Lock()
	marks := c.marks
	c.mu.Unlock()
	if _, err := io.WriteString(c.slave, "\x1b]mark\x07"); err != nil {
		c.Fatal(err)
	}
	c.until(c.T, "the mark", func(m *model) bool { return m.marks > marks })
	if err := pty.Setsize(c.master, &pty.Winsize{Rows: uint16(height), Cols: uint16(width)}); err != nil {
		c.Fatal(err)
	}
	c.mu.Lock()
	c.model.resize(width, height)
	frames := c.frames
	c.mu.Unlock()
	if err := c.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		c.Fatal(err)
	}
	// The first frame may erase twice, because the terminal may have folded rows.
	c.until(c.T, "a new picture", func(m *model) bool { return m.frames > frames+3 && m.column == 0 && len(m.pending) == 0 })
}

// block returns the progress block at the end of the screen.
func (m *model) block() []string {
	var out []string
	for _, row := range m.rows {
		if text := string(row.text); strings.HasPrefix(text, "Applying: ") {
			out = []string{text}
		} else if len(out) > 0 && text != "" {
			out = append(out, text)
		}
	}
	return out
}

// wantBlock checks that the block is shown once, with each of its lines in one row.
func (c *heldTerminal) wantBlock(step string) {
	c.Helper()
	// Only part of a frame may have been read so far.
	c.until(c.T, "a whole block", func(m *model) bool { return len(m.block()) == 2 && m.column == 0 && len(m.pending) == 0 })
	c.mu.Lock()
	defer c.mu.Unlock()
	block := c.block()
	if strings.Count(c.text(), "Applying: ") != 1 || len(block) != 2 || !strings.HasPrefix(block[1], "  "+step) {
		c.Errorf("the block is not shown exactly once, with one running step:\n%s", c.text())
	}
	for _, line := range block {
		if n := utf8.RuneCountInString(line); n >= c.width {
			c.Errorf("a line has %d columns, and the terminal %d: %q", n, c.width, line)
		}
	}
	for i := range c.rows {
		if strings.HasPrefix(string(c.rows[i].text), "Applying: ") && len(c.rows)-1-i != 2 {
			c.Errorf("the block is not at the end of the screen:\n%s", c.text())
		}
	}
}

// ends lets the command finish, and returns the final screen.
func (c *heldTerminal) ends(code int) string {
	c.Helper()
	if _, err := io.WriteString(c.told, "\n"); err != nil {
		c.Fatal(err)
	}
	_ = c.cmd.Wait()
	c.slave.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.ended {
		c.changed.Wait()
	}
	if got := c.cmd.ProcessState.ExitCode(); got != code {
		c.Errorf("exit code %d", got)
	}
	if strings.Contains(c.text(), "Applying: ") {
		c.Errorf("the block is left on the screen:\n%s", c.text())
	}
	return c.text()
}

var stepsDone = regexp.MustCompile(`(?m)^(?:\[ *(\d+)/(\d+)\]| +) (\S+): (?:(\d+) (?:of \d+ )?steps )?done after \S+$`)

// wantDone checks that there is a line for each node or cluster whose steps are done, or for one
// of the steps, and returns the number of steps that are done and of all steps.
func wantDone(t *testing.T, screen string) (done, all int) {
	t.Helper()
	seen := map[string]bool{}
	for _, m := range stepsDone.FindAllStringSubmatch(screen, -1) {
		steps := 1
		if m[4] != "" {
			steps, _ = strconv.Atoi(m[4])
		}
		done += steps
		if n, _ := strconv.Atoi(m[1]); m[1] != "" && n < done || seen[m[3]] {
			t.Fatalf("line %q comes after %d steps:\n%s", m[0], done, screen)
		}
		seen[m[3]] = true
		if m[2] != "" {
			all, _ = strconv.Atoi(m[2])
		}
	}
	return done, all
}

const heldStep = `node.cp["cp1"]/certs`

// TestApplyOnTerminal runs an apply on a terminal: the question is asked and answered there, running
// steps are shown and completed ones folded, also when the terminal is resized, and the final
// screen shows what was done and nothing else.
func TestApplyOnTerminal(t *testing.T) {
	t.Parallel()
	f := blankFolder(t)
	// An earlier apply has recorded how long such a step takes.
	before := &state.State{Lineage: "b71e", Durations: map[string]float64{state.DurationKey("certs", string(planner.Create)): 40}}
	if err := statefile.Write(statefile.DirPaths(string(f)), before); err != nil {
		t.Fatal(err)
	}
	c := startConsole(t, f, 100, 24, "apply", "-parallelism=1")
	c.until(t, "the question", shows("Enter a value: "))
	c.types("yes\n")
	c.held(heldStep)
	c.wantBlock(heldStep)
	for _, size := range [][2]int{{44, 12}, {130, 40}, {36, 10}, {100, 24}} {
		c.resizes(size[0], size[1])
		c.wantBlock(heldStep)
		c.until(t, "what is expected, where there is room for it", func(m *model) bool {
			return strings.Contains(strings.Join(m.block(), "\n"), " of about 40s") == (size[0] > 40)
		})
	}
	screen := c.ends(0)
	// One line for each of four nodes and for the cluster.
	if done, all := wantDone(t, screen); done != all || done < 20 || len(stepsDone.FindAllString(screen, -1)) != 5 {
		t.Errorf("%d of %d steps are done:\n%s", done, all, screen)
	}
	if !strings.Contains(screen, "Enter a value: yes\n") || !strings.Contains(screen, "\nApply complete! Resources: 5 added, 0 changed, 0 destroyed.\n") {
		t.Errorf("the output ends differently:\n%s", screen)
	}
}

// TestApplyInterruptedOnTerminal types ^C: the pending step is named, and it finishes.
func TestApplyInterruptedOnTerminal(t *testing.T) {
	t.Parallel()
	f := blankFolder(t)
	c := startConsole(t, f, 100, 24, "apply", "-auto-approve", "-parallelism=1")
	c.held(heldStep)
	c.types("\x03")
	c.until(t, "what is waited for", shows("waiting for "+heldStep+": issue certificate"))
	c.until(t, "the word in the block", func(m *model) bool {
		return strings.HasSuffix(strings.TrimRight(strings.Join(m.block()[:min(1, len(m.block()))], ""), " "), "stopping")
	})
	c.wantBlock(heldStep)
	screen := c.ends(130)
	done, all := wantDone(t, screen)
	// The answer to the signal and the stop of the executor come in either order.
	before, behind, stopping := strings.Cut(screen, "Stopping: interrupted.")
	if !stopping || !strings.Contains(screen, "Interrupted. To stop at once, interrupt again.") {
		t.Errorf("the interrupt is not answered:\n%s", screen)
	}
	if n, _ := wantDone(t, before); n+1 != done || done >= all {
		t.Errorf("%d of %d steps are done, %d of them before the interrupt:\n%s", done, all, n, screen)
	}
	if !strings.Contains(behind, heldStep+": done after") || !strings.Contains(behind, "Apply stopped: "+strconv.Itoa(done)+" of "+strconv.Itoa(all)+" steps done") {
		t.Errorf("the output ends differently:\n%s", screen)
	}
	f.must(t, "apply", "-auto-approve")
}
