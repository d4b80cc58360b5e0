package viewtest

import (
	"errors"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/progress"
	"github.com/kubewright/kubewright/planner/executor"
	"github.com/kubewright/kubewright/state"
)

// RunStart is the time at which the run begins.
var RunStart = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// Moment is an event, or a tick if it has no kind.
type Moment struct {
	At    float64
	Event executor.Event
}

// ID returns the address of a step.
func ID(t state.Target, phase string) state.Address { return state.Address{Target: t, Phase: phase} }

// Run returns a run in which one step fails.
func Run() []Moment {
	e := func(at float64, kind executor.Kind, step state.Address, more executor.Event) Moment {
		more.Kind, more.Step, more.Total, more.Time = kind, step, 12, RunStart.Add(time.Duration(at*1000)*time.Millisecond)
		return Moment{at, more}
	}
	certs, etcd, images := ID(Cp1, "certs"), ID(Cp1, "etcd"), ID(W21, "images")
	none := executor.Event{}
	return []Moment{
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
		e(31.2, executor.KindSkipped, ID(Cp1, "control-plane"), executor.Event{Cause: etcd}),
		e(31.3, executor.KindStopping, state.Address{}, executor.Event{Summary: "interrupted"}),
		{31.5, none},
		e(40, executor.KindDone, images, executor.Event{Seconds: 40, Done: 2}),
		e(40, executor.KindFinished, state.Address{}, executor.Event{Seconds: 40}),
	}
}

// Play sends events and ticks to a display.
func Play(p progress.Renderer, moments []Moment) {
	for _, m := range moments {
		if m.Event.Kind == "" {
			p.Tick(RunStart.Add(time.Duration(m.At*1000) * time.Millisecond))
			continue
		}
		p.Event(m.Event)
	}
}
