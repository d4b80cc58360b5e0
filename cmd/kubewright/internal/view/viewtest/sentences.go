package viewtest

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// ManySteps returns a plan with n steps in n phases.
func ManySteps(n int) *planner.Plan {
	var m Maker
	m.Resources = append(m.Resources, ResourceChange(W21, planner.Update, 0))
	var before []state.Address
	for i := range n {
		before = []state.Address{m.AddStep(W21, fmt.Sprintf("phase-%d", i), planner.Update, "", before, planner.WriteFile{Path: "/x"})}
	}
	return &m.Plan
}

// ManyLines returns a plan in which n lines of the configuration change something.
func ManyLines(n int) *planner.Plan {
	var m Maker
	m.Resources = append(m.Resources, ResourceChange(W21, planner.Update, 0))
	for i := range n {
		m.AddChange(W21, "kubelet-start", fmt.Sprintf("file:/etc/%d", i), state.KindFile, planner.Update, Attributes("content", "a", "b", AtLine(i+1)))
	}
	m.AddStep(W21, "kubelet-start", planner.Update, "", nil, planner.WriteFile{Path: "/x"})
	return &m.Plan
}

// StepOf returns a plan with one step on a worker that does these operations.
func StepOf(ops ...planner.Operation) *planner.Plan {
	var m Maker
	m.Resources = append(m.Resources, ResourceChange(W21, planner.Delete, 0))
	m.AddStep(W21, "reset", planner.Delete, "", nil, ops...)
	return &m.Plan
}

// Because returns a plan with one change and its reason.
func Because(reason string) *planner.Plan {
	var m Maker
	m.Resources = append(m.Resources, ResourceChange(Cp1, planner.Update, 0))
	m.AddChange(Cp1, "certs", "file:/etc/kubernetes/pki/apiserver.crt", state.KindCertificate, planner.Update, Attributes("renewal_due", true, false))
	m.Changes[0].Reason = reason
	m.AddStep(Cp1, "control-plane", planner.Update, "", nil, planner.WriteFile{Path: "/x"})
	m.AddStep(Cp1, "certs", planner.Update, "", nil, planner.WriteFile{Path: "/x"})
	return &m.Plan
}

// Sentences are a print function and the texts its output must contain.
type Sentences struct {
	print func(io.Writer) error
	want  []string
}

// Shows returns the Sentences of a print function.
func Shows(print func(io.Writer) error, want ...string) Sentences { return Sentences{print, want} }

// CheckSentences runs each print function and checks that its output contains the texts.
func CheckSentences(t *testing.T, tests map[string]Sentences) {
	t.Helper()
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Printed(t, tt.print)
			for _, want := range tt.want {
				if !strings.Contains(got, want) {
					t.Errorf("the output lacks %q:\n%s", want, got)
				}
			}
		})
	}
}
