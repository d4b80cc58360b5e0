// Package diagnosis describes what on a host does not run, and why, from what its container
// runtime and systemd keep: exit codes, restarts, and the last lines of logs. It opens no
// connection and changes nothing.
package diagnosis

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Namespace is the namespace of the containers in a report.
const Namespace = "kube-system"

// LogLines is the number of last lines of a log in a report.
const LogLines = 8

// ScannedLines is the number of last lines of a log among which those of a report are chosen.
const ScannedLines = 200

// Units returns the units that a report is about: those without which no container runs.
func Units() []string { return []string{"containerd.service", "crio.service", "kubelet.service"} }

// A Report is what a host says of its units, its disks, and of the containers in Namespace.
type Report struct {
	Units      []Unit
	Containers []Container
	Disks      []Disk
	// Manifests are the static pods that the kubelet of this host has to run: the names of their
	// files without suffix.
	Manifests []string
	// Refused is what the container runtime, whose socket is there, answers instead of its containers.
	Refused []string
}

// A Unit is a unit of systemd (systemctl show).
type Unit struct {
	Name     string // kubelet.service
	Load     string // loaded, masked, bad-setting, error; empty is loaded
	File     string // enabled, disabled, static: whether it starts at boot
	Active   string // active, activating, failed, inactive
	Sub      string // running, auto-restart
	Result   string // success, exit-code, signal, oom-kill
	ExitCode int    // of the main process
	Restarts int
	Stopped  bool     // by SIGSTOP: the process is there, and does nothing
	Log      []string // the last lines of its journal, escaped
	Errors   []string // of one that runs: the errors of the last 45 seconds, each kind once, escaped
}

// A Container is the newest container of that name in a pod that has exited, or one that runs.
type Container struct {
	Pod, Name         string
	Running           bool
	Attempt           int // 0 for the first one
	ExitCode          int
	Reason            string // Error, OOMKilled, Completed
	Started, Finished time.Time
	Log               []string // its last lines, escaped
}

func restarts(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return ", 1 restart"
	}
	return fmt.Sprintf(", %d restarts", n)
}

// exited returns the containers that have exited and were not replaced by a newer one: of a pod whose
// manifest was changed the runtime keeps those of the former pod for a while.
func (r Report) exited() []Container {
	return slices.DeleteFunc(slices.Clone(r.Containers), func(c Container) bool {
		return c.Running || slices.ContainsFunc(r.Containers, func(other Container) bool {
			return other.Pod == c.Pod && other.Name == c.Name && (other.Running || other.newer(c))
		})
	})
}

// newer reports whether a container was made after another one of the same name.
func (c Container) newer(than Container) bool {
	if !c.Started.Equal(than.Started) && !c.Started.IsZero() && !than.Started.IsZero() {
		return c.Started.After(than.Started)
	}
	return c.Attempt > than.Attempt
}

func (c Container) subject() string { return "container " + c.Name + " of pod " + c.Pod }

func (c Container) problem() string {
	text := fmt.Sprintf("exited with code %d", c.ExitCode)
	if c.Reason != "" && c.Reason != "Error" {
		text += " (" + c.Reason + ")"
	}
	if lived := c.lived(); lived >= 0 {
		text += " after " + lived.Round(100*time.Millisecond).String()
	}
	return text + restarts(c.Attempt)
}

// finished reports whether a container has done its work, as that of a Job or of a pod that was deleted.
func (c Container) finished() bool {
	return c.ExitCode == 0 && c.Attempt == 0 && !slices.Contains(components, c.Name)
}

// lived returns how long a container ran; negative if unknown.
func (c Container) lived() time.Duration {
	if c.Started.Unix() <= 0 || c.Finished.Before(c.Started) { // runtimes write 1970 for one that never started
		return -1
	}
	return c.Finished.Sub(c.Started)
}

// atOnce bounds the time within which a container exits that refuses its arguments or its files.
// One that lacks another component waits longer for it.
const atOnce = 5 * time.Second

// signalled is the lowest exit code of a container that a signal ended (128 + n): something else
// ended it, such as a probe.
const signalled = 129

// Repeats is how often a container or the kubelet has to exit since a wait began to be one that keeps
// exiting: the kubelet then waits 20 s before it starts a container again.
const Repeats = 2

// needed are the components that need no other one but those before them, dependent are those that
// may exit as long as these do not serve. Pods of addons may exit until their network is there.
var (
	needed    = []string{"etcd", "kube-apiserver"}
	dependent = []string{"kube-controller-manager", "kube-scheduler"}
)

// KeepsExiting returns a container of the control plane, or the kubelet, that has exited at once
// again and again since an earlier report: it will not come up by waiting. nil if there is none.
func (r Report) KeepsExiting(before Report) *Cause {
	for _, u := range r.Units {
		if u.Result == "exit-code" && u.Restarts-before.unit(u.Name).Restarts >= Repeats && u.refusesSettings() {
			return &Cause{Subject: "unit " + u.Name, Problem: u.problem(), Log: u.Log}
		}
	}
	for _, c := range r.exited() {
		if !slices.Contains(needed, c.Name) && !(slices.Contains(dependent, c.Name) && r.serves()) {
			continue
		}
		if c.ExitCode == 0 || c.ExitCode >= signalled || c.lived() < 0 || c.lived() > atOnce {
			continue
		}
		if c.Attempt-before.attempt(c) >= Repeats {
			return &Cause{Subject: c.subject(), Problem: c.problem(), Log: c.Log}
		}
	}
	return nil
}

// refusals are the errors of a kubelet that its settings keep from starting (cmd/kubelet/app/server.go
// of Kubernetes 1.34 to 1.37). It also exits while the API server does not answer it.
var refusals = []string{
	"failed to parse kubelet flag", "failed to load kubelet config file", "failed to validate kubelet flags",
	"failed to validate kubelet configuration", "failed to set feature gates",
}

func (u Unit) refusesSettings() bool {
	return slices.ContainsFunc(u.Log, func(line string) bool {
		return slices.ContainsFunc(refusals, func(text string) bool { return strings.Contains(line, text) })
	})
}

// serves reports whether all components run that others need.
func (r Report) serves() bool {
	return !slices.ContainsFunc(r.exited(), func(c Container) bool { return slices.Contains(needed, c.Name) })
}

func (r Report) unit(name string) Unit {
	for _, u := range r.Units {
		if u.Name == name {
			return u
		}
	}
	return Unit{}
}

// attempt returns the number of the newest attempt of a container in this report; -1 if it has
// none.
func (r Report) attempt(of Container) int {
	newest := -1
	for _, c := range r.Containers {
		if c.Pod == of.Pod && c.Name == of.Name {
			newest = max(newest, c.Attempt)
		}
	}
	return newest
}

// An Error is an error whose causes a host names.
type Error struct {
	error
	Causes []Cause
}

// Explain returns an error with its causes; their logs are not part of its text.
func Explain(err error, causes []Cause) error {
	var all []string
	for _, c := range causes {
		all = append(all, c.String())
	}
	return &Error{fmt.Errorf("%w. On the host: %s", err, strings.Join(all, "; ")), causes}
}

// Hopeless returns the error of a wait that cannot succeed, because of something that keeps
// exiting.
func Hopeless(wait string, c Cause) error {
	return &Error{fmt.Errorf("cannot %s: %s keeps exiting: it %s", wait, c.Subject, c.Problem), []Cause{c}}
}

// Unwrap returns the error.
func (e *Error) Unwrap() error { return e.error }
