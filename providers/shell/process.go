package shell

import (
	_ "embed" // the script
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

//go:embed scripts/process.sh
var processScript string

//go:embed scripts/static_pod.sh
var staticPodScript string

// commLength is how much of a process's name the kernel keeps, in bytes (proc(5), comm).
const commLength = 15

func comm(name string) string { return name[:min(len(name), commLength)] }

// tick is the unit of a process's start time in the kernel.
const tick = 10 * time.Millisecond

// processCall returns the line of a query for processes.
func processCall(list []state.Process) string {
	if len(list) == 0 {
		return ""
	}
	var names, arguments []string
	for _, p := range list {
		names, arguments = append(names, comm(p.Name)), append(arguments, p.Argument)
	}
	return call("kw_processes", strings.Join(unique(names), "\n"), strings.Join(unique(arguments), "\n"))
}

func checkProcess(p state.Process) error {
	var err error
	if p.Argument == "" {
		err = errors.New("internal error: any argument would do")
	}
	return errors.Join(err, checkWord("process", p.Name), state.CheckText("argument", p.Argument))
}

// processes parses the start times of processes: the ticks of a process started now, those
// of each, and the current time. Of several processes with one name the oldest counts: one
// that is about to end still exists.
func (r *reading) processes() error {
	if len(r.query.Processes) == 0 {
		return nil
	}
	lines, err := r.lines("processes")
	r.report.Started = map[string]time.Time{}
	if err != nil || len(lines) < 2 {
		return err // none of them runs
	}
	last := len(lines) - 1
	now, err := moment(lines[last])
	if err != nil {
		return unexpected("processes", lines[last])
	}
	_, reference, err := processLine(lines[0])
	if err != nil {
		return err
	}
	for _, line := range lines[1:last] {
		name, ticks, err := processLine(line)
		if err != nil {
			return err
		}
		// Both are rounded down to a tick, so a process may be younger by one. It has read
		// no file that soon after its start.
		started := now.Add(-time.Duration(reference-ticks) * tick).Add(tick)
		for _, p := range r.query.Processes {
			if was, known := r.report.Started[p.Name]; comm(p.Name) == name && (!known || started.Before(was)) {
				r.report.Started[p.Name] = started
			}
		}
	}
	return nil
}

func processLine(line string) (name string, ticks int64, err error) {
	name, number, _ := strings.Cut(line, " ")
	name = strings.TrimSuffix(strings.TrimPrefix(name, "("), ")")
	if ticks, err = strconv.ParseInt(number, 10, 64); err != nil {
		return "", 0, unexpected("processes", line)
	}
	return name, ticks, nil
}

func (c *compiler) restart(op planner.RestartProcess) (string, error) {
	err := checkProcess(op.Process)
	args := []string{comm(op.Process.Name), op.Process.Argument}
	for _, f := range op.Files {
		err = errors.Join(err, state.CheckPath(f))
		args = append(args, c.root+f)
	}
	if len(op.Files) == 0 {
		err = errors.Join(err, errors.New("internal error: no file is newer than the process"))
	}
	return call("kw_restart", args...), err
}
