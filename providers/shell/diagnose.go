package shell

import (
	"context"
	_ "embed" // the script
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/budget"
	"github.com/kubewright/kubewright/providers/diagnosis"
)

//go:embed scripts/diagnose.sh
var diagnoseScript string

// Limits of a diagnosis: its size in bytes, and how fast it has to arrive. A host on which much
// fails is slow.
const (
	diagnosisCap  = 4 << 20
	diagnosisTime = 90 * time.Second
)

// Diagnose implements providers.Host. It is one command on the host.
func (h *Host) Diagnose(ctx context.Context) (*diagnosis.Report, error) {
	var b strings.Builder
	b.WriteString("kw_r=" + Quote(h.root) + "\n" + runtimeScript + diagnoseScript + "{\n")
	lines := strconv.Itoa(diagnosis.ScannedLines)
	for _, u := range diagnosis.Units() {
		b.WriteString(call("kw_unit_log", u, lines))
	}
	b.WriteString(call("kw_disks", diagnosis.Folders()...) + call("kw_manifests") + call("kw_containers", diagnosis.Namespace, lines))
	b.WriteString("} </dev/null 2>/dev/null\n")
	a, err := h.speaker.run(ctx, script{
		do: "diagnose", body: b.String(), limit: diagnosisCap, pace: budget.Pace{Silence: diagnosisTime, Total: diagnosisTime},
	})
	defer a.release()
	if err != nil {
		return nil, err
	}
	r := &diagnosis.Report{}
	for _, s := range a.sections {
		if err := diagnose(r, s); err != nil {
			return nil, fmt.Errorf("cannot diagnose %s: %w", h.name, err)
		}
	}
	return r, nil
}

// diagnose adds a section of an answer to a report.
func diagnose(r *diagnosis.Report, s section) error {
	switch {
	case s.words[0] == "unit" && len(s.words) == 2:
		r.Units = append(r.Units, unitOf(s.words[1], string(s.body)))
	case s.words[0] == "containers":
		return addContainers(r, s.body)
	case s.words[0] == "exited" && len(s.words) == 2:
		return addStatus(r, s.body)
	case s.words[0] == "log" && len(s.words) == 2 && len(r.Containers) > 0:
		r.Containers[len(r.Containers)-1].Log = diagnosis.Excerpt(linesOf(s.body), diagnosis.LogLines)
	case s.words[0] == "refused" && len(s.words) == 2:
		r.Refused = diagnosis.Excerpt(linesOf(s.body), diagnosis.LogLines)
	case s.words[0] == "disks":
		for line := range strings.Lines(string(s.body)) {
			r.Disks = append(r.Disks, diskOf(strings.Fields(line)))
		}
	case s.words[0] == "manifests":
		for _, name := range linesOf(s.body) {
			r.Manifests = append(r.Manifests, strings.TrimSuffix(name, ".yaml"))
		}
	}
	return nil
}

// lineWidth bounds a line of a log, in bytes.
const lineWidth = 1000

// linesOf returns the lines of what a host wrote, escaped, none of them blank.
func linesOf(text []byte) []string {
	var out []string
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimRight(line, " \t\r\n"); line != "" {
			out = append(out, providers.Sanitize(line, lineWidth))
		}
	}
	return out
}

// diskOf reads a line of kw_disks: the path, rw or ro, free KiB, free inodes. File systems without a
// fixed number of inodes have no such figure.
func diskOf(words []string) diagnosis.Disk {
	d := diagnosis.Disk{Free: math.MaxInt64, FreeInodes: math.MaxInt64}
	for i, w := range words {
		n, err := strconv.ParseInt(w, 10, 54)
		switch {
		case i == 0:
			d.Path = providers.Sanitize(w, 100)
		case i == 1:
			d.ReadOnly = w == "ro"
		case i == 2 && err == nil:
			d.Free = n << 10
		case i == 3 && err == nil:
			d.FreeInodes = n
		}
	}
	return d
}

// unitOf reads the properties of a unit and its log.
func unitOf(name, text string) diagnosis.Unit {
	properties, log, _ := strings.Cut(text, "\n\n")
	u := diagnosis.Unit{Name: providers.Sanitize(name, 100)}
	for line := range strings.Lines(properties) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		value = providers.Sanitize(value, 100)
		switch key {
		case "LoadState":
			u.Load = value
		case "UnitFileState":
			u.File = value
		case "ActiveState":
			u.Active = value
		case "SubState":
			u.Sub = value
		case "Result":
			u.Result = value
		case "ExecMainStatus":
			u.ExitCode, _ = strconv.Atoi(value) // 0 of one that never ran
		case "NRestarts":
			u.Restarts, _ = strconv.Atoi(value)
		case "State":
			u.Stopped = value == "T"
		}
	}
	if lines := linesOf([]byte(log)); u.Running() && u.Load == "loaded" {
		u.Errors = lines
	} else {
		u.Log = diagnosis.Excerpt(diagnosis.LastAttempts(lines), diagnosis.LogLines)
	}
	return u
}

// labelOfPod is the label in which the kubelet writes a container's pod.
const labelOfPod = "io.kubernetes.pod.name"

type containerMetadata struct {
	Name    string `json:"name"`
	Attempt int    `json:"attempt"`
}

// addContainers adds those containers of "crictl ps" that run.
func addContainers(r *diagnosis.Report, text []byte) error {
	var list struct {
		Containers []struct {
			Metadata containerMetadata `json:"metadata"`
			State    string            `json:"state"`
			Labels   map[string]string `json:"labels"`
		} `json:"containers"`
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return fmt.Errorf("cannot read the list of containers: %w", err)
	}
	for _, c := range list.Containers {
		if c.State == "CONTAINER_RUNNING" {
			r.Containers = append(r.Containers, diagnosis.Container{
				Pod: providers.Sanitize(c.Labels[labelOfPod], 260), Name: providers.Sanitize(c.Metadata.Name, 100), Running: true, Attempt: c.Metadata.Attempt,
			})
		}
	}
	return nil
}

// addStatus adds a container of "crictl inspect".
func addStatus(r *diagnosis.Report, text []byte) error {
	var inspected struct {
		Status struct {
			Metadata   containerMetadata `json:"metadata"`
			Labels     map[string]string `json:"labels"`
			StartedAt  time.Time         `json:"startedAt"`
			FinishedAt time.Time         `json:"finishedAt"`
			ExitCode   int               `json:"exitCode"`
			Reason     string            `json:"reason"`
		} `json:"status"`
	}
	if err := json.Unmarshal(text, &inspected); err != nil {
		return fmt.Errorf("cannot read the status of a container: %w", err)
	}
	s := inspected.Status
	r.Containers = append(r.Containers, diagnosis.Container{
		Pod: providers.Sanitize(s.Labels[labelOfPod], 260), Name: providers.Sanitize(s.Metadata.Name, 100), Attempt: s.Metadata.Attempt,
		ExitCode: s.ExitCode, Reason: providers.Sanitize(s.Reason, 100), Started: s.StartedAt, Finished: s.FinishedAt,
	})
	return nil
}
