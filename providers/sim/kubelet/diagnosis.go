package kubelet

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/providers/diagnosis"
)

// Diagnosis returns what does not run on the machine.
func (kl Kubelet) Diagnosis() *diagnosis.Report {
	r := &diagnosis.Report{}
	for _, name := range diagnosis.Units() {
		u, ok := kl.m.Systemd().Unit(strings.TrimSuffix(name, ".service"))
		switch fault := kl.Fault(); {
		case !ok:
		case !u.Active:
			r.Units = append(r.Units, diagnosis.Unit{Name: name, Active: "inactive", Sub: "dead"})
		case name == "kubelet.service" && fault != "":
			r.Units = append(r.Units, diagnosis.Unit{
				Name: name, Active: "activating", Sub: "auto-restart", Result: "exit-code", ExitCode: 1, Log: []string{fault},
			})
		default:
			r.Units = append(r.Units, diagnosis.Unit{Name: name, Active: "active", Sub: "running"})
		}
	}
	node := kl.m.Name()
	if kl.m.Kubelet != nil {
		node = kl.m.Processes().NodeName()
	}
	for _, name := range slices.Sorted(maps.Keys(kl.m.Pods)) {
		p := kl.m.Pods[name]
		c := diagnosis.Container{Pod: name + "-" + node, Name: kl.servers.Manifest(p.Manifest).Component(), Running: p.Exited == ""}
		if !c.Running {
			c.Attempt = attempts(kl.servers.Now.Sub(p.Failing))
			c.ExitCode, c.Reason, c.Log = 1, "Error", []string{p.Exited}
			c.Started, c.Finished = p.Started, p.Started.Add(startupFailure)
		}
		r.Containers = append(r.Containers, c)
	}
	return r
}

// startupFailure is how long a container runs that refuses its files.
const startupFailure = 300 * time.Millisecond

// Times between two attempts of a container that exits (kubelet, pkg/kubelet/kubelet.go).
const (
	firstBackOff = 10 * time.Second
	lastBackOff  = 5 * time.Minute
)

// attempts returns how often a container was restarted that has exited for so long.
func attempts(d time.Duration) int {
	n := 0
	for pause := firstBackOff; d >= pause; pause = min(2*pause, lastBackOff) {
		d -= pause
		n++
	}
	return n
}
