package diagnosis

import (
	"fmt"
	"slices"
	"strings"
)

// A Cause is something that does not run, or does not work, with its own words.
type Cause struct {
	Subject string // container kube-apiserver of pod kube-apiserver-cp1
	Problem string // exited with code 1 after 0.4s, 3 restarts
	Log     []string
	// ToDo is what to do about it, where the problem alone says so; Remedy also reads the log.
	ToDo string
	// NotReady reports whether its node is not Ready while it lasts: of one that is, it is a thing of
	// the past.
	NotReady bool
}

func (c Cause) String() string { return c.Subject + " " + c.Problem }

// Causes returns what does not run or does not work: disks and units first, as containers need them.
func (r Report) Causes() []Cause {
	var all []Cause
	for _, d := range r.Disks {
		if problem, remedy := d.problem(); problem != "" {
			all = append(all, Cause{Subject: "file system of " + d.Path, Problem: problem, ToDo: remedy})
		}
	}
	for _, u := range r.Units {
		if problem := u.problem(); problem != "" {
			all = append(all, Cause{Subject: "unit " + u.Name, Problem: problem, Log: u.words(), ToDo: u.remedy()})
		}
	}
	if len(r.Refused) > 0 && len(all) == 0 {
		all = append(all, Cause{
			Subject: "container runtime", Problem: "does not serve the CRI, through which the kubelet makes containers", Log: r.Refused,
			ToDo: "correct /etc/containerd/config.toml (disabled_plugins must not have cri; the plugins that failed name their reason), and systemctl restart containerd",
		})
	}
	reported := r.reported(all)
	for _, name := range r.absent() {
		if !slices.ContainsFunc(reported, func(c Cause) bool { return about(c, name) }) {
			all = append(all, Cause{
				Subject: "static pod " + name, Problem: "has no container, although its manifest is on the host",
				ToDo: "the kubelet says why: journalctl -u kubelet | grep " + name,
			})
		}
	}
	for _, c := range r.exited() {
		if c.finished() {
			continue
		}
		cause := Cause{Subject: c.subject(), Problem: c.problem(), Log: c.Log, ToDo: r.remedyOf(c)}
		// The kubelet says why the next container does not start: the last words of the former one,
		// which it has stopped, are not the cause.
		if !slices.ContainsFunc(reported, func(other Cause) bool { return other.Subject == "pod "+c.Pod }) || c.ExitCode != 0 && c.ExitCode < signalled && c.Reason != startError {
			all = append(all, cause)
		}
	}
	for _, c := range reported {
		if !slices.ContainsFunc(all, func(other Cause) bool { return explains(other, c) }) {
			all = append(all, c)
		}
	}
	return all
}

// startError is the reason of a container whose command could not be started.
const startError = "StartError"

// remedyOf returns what to do about a container that has exited, where its code or the manifest says so.
func (r Report) remedyOf(c Container) string {
	switch {
	case slices.Contains(components, c.Name) && len(r.Manifests) > 0 && !slices.Contains(r.Manifests, c.Name):
		return "its manifest is not in /etc/kubernetes/manifests: bring it back; an apply of kubewright writes it again"
	case c.Reason == startError:
		return "correct the command, or the image that lacks it, in the manifest" + whenByHand
	case c.Reason == "OOMKilled":
		return "raise the limit of memory of its container, or free memory on the host"
	case c.ExitCode == 0 && c.Attempt > 0 && slices.Contains(components, c.Name) && c.lived() >= 0 && c.lived() < atOnce:
		return "a component does not end by itself: see its command and arguments in /etc/kubernetes/manifests/" + c.Name + ".yaml" + whenByHand
	}
	return ""
}

// A Disk is the file system of a folder that Kubernetes writes to (df).
type Disk struct {
	Path             string
	Free, FreeInodes int64 // bytes, and files; large numbers where they are unknown
	ReadOnly         bool
}

// Folders returns the folders whose file systems are in a report.
func Folders() []string {
	return []string{"/var/lib/kubelet", "/var/lib/containerd", "/var/lib/containers", "/var/lib/etcd", "/etc/kubernetes", "/run", "/var/log"}
}

// leastFree is how much of a file system has to be free for a node to work: an image layer, a
// container's log, or a page of etcd's database no longer fits otherwise.
const (
	leastFree  = 4 << 20
	leastFiles = 16
)

func (d Disk) problem() (problem, remedy string) {
	switch {
	case d.ReadOnly:
		return "is mounted read-only", "see why with dmesg and findmnt -T " + d.Path + ", and mount it for writing"
	case d.FreeInodes < leastFiles:
		return fmt.Sprintf("is full: %d more files fit", d.FreeInodes), "remove files: find " + d.Path + " -xdev -printf '%h\\n' | sort | uniq -c | sort -n | tail shows which folders have most"
	case d.Free < leastFree:
		return fmt.Sprintf("is full: %d KiB are free", d.Free>>10), "free space: du -xh " + d.Path + " | sort -h | tail shows what takes it"
	}
	return "", ""
}

// Running reports whether the unit runs.
func (u Unit) Running() bool { return u.Active == "active" && u.Sub == "running" }

func (u Unit) problem() string {
	switch {
	case u.Load == "masked":
		return "is masked, so that nothing can start it" + u.still()
	case u.Load != "" && u.Load != "loaded":
		return "cannot be loaded (" + u.Load + ")" + u.still()
	case u.Stopped:
		return "does nothing: a signal has stopped its process (SIGSTOP)"
	case u.Running() && u.File == "disabled":
		return "is disabled: it runs, and does not start at the next boot"
	case u.Running():
		return ""
	}
	text := "is " + u.Active
	if u.Sub != "" && u.Sub != u.Active {
		text += " (" + u.Sub + ")"
	}
	if u.Result != "" && u.Result != "success" {
		text += fmt.Sprintf(": %s, exit code %d", u.Result, u.ExitCode)
	}
	return text + restarts(u.Restarts)
}

// still says that a unit runs although systemd would not start it.
func (u Unit) still() string {
	if u.Running() {
		return "; it still runs"
	}
	return ""
}

// words returns the log of a unit that does not run; nothing of one that was stopped, whose last words
// are no cause.
func (u Unit) words() []string {
	if u.Load == "masked" || u.Active == "inactive" && (u.Result == "" || u.Result == "success") && (u.Load == "" || u.Load == "loaded") {
		return nil
	}
	return u.Log
}

func (u Unit) remedy() string {
	switch {
	case u.Load == "masked":
		return "systemctl unmask " + u.Name + " && systemctl enable --now " + u.Name
	case u.Load != "" && u.Load != "loaded":
		return "correct the file that systemctl status " + u.Name + " names (systemctl cat " + u.Name + "), then systemctl daemon-reload and systemctl start " + u.Name
	case u.Stopped:
		return "systemctl kill --signal=CONT " + u.Name + ", and see who sends that signal"
	case u.Running() && u.File == "disabled":
		return "systemctl enable " + u.Name + "; an apply of kubewright does the same"
	case u.Active == "inactive" && (u.Result == "" || u.Result == "success"):
		return "start it with systemctl start " + u.Name // it was stopped: its last words are no cause
	}
	return ""
}

// components are the static pods of a control plane, and their containers.
var components = []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"}

// absent returns the static pods that have a manifest and no container, although kubelet and runtime
// run.
func (r Report) absent() []string {
	if !r.unit("kubelet.service").Running() || len(r.Refused) > 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(r.Manifests), func(name string) bool {
		return !slices.Contains(components, name) || slices.ContainsFunc(r.Containers, func(c Container) bool { return c.Name == name })
	})
}

// about reports whether a complaint of the kubelet is about a static pod.
func about(c Cause, name string) bool {
	return strings.HasPrefix(c.Subject, "pod "+name+"-") || strings.Contains(c.Log[0], "/"+name+".yaml")
}
