package hclconfig

import (
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/state"
)

// TestEdit is a change of simulated hosts before the command of a run.
type TestEdit struct {
	Hosts  []string
	Change string
	Source state.Source
}

// TestFault is a failure of calls to simulated hosts during the command of a run.
type TestFault struct {
	// Hosts is empty for any.
	Hosts []string
	// Operation and Subject are patterns, empty for any.
	Kind, Operation, Subject string
	// Times is negative for all calls.
	Skip, Times int
	Source      state.Source
}

// Disturbances evaluates the edit and fault blocks of the run in Options.Test.
func (c *Console) Disturbances() ([]TestEdit, []TestFault, diag.Diagnostics) {
	e := c.loader.eval
	e.diags = nil
	e.meter.again()
	run := bind(c.loader.test, "run."+c.loader.test.label, "", nil)
	var edits []TestEdit
	var faults []TestFault
	for _, b := range e.all(run, "edit") {
		edits = append(edits, TestEdit{Hosts: e.strings(b, "hosts"), Change: e.str(b, "change"), Source: source(b.at)})
	}
	for _, b := range e.all(run, "fault") {
		faults = append(faults, TestFault{
			Hosts: e.strings(b, "hosts"), Kind: e.str(b, "kind"), Operation: e.str(b, "operation"), Subject: e.str(b, "subject"),
			Skip: e.number(b, "skip"), Times: e.number(b, "times"), Source: source(b.at),
		})
	}
	for _, d := range e.diags {
		c.redacted(d)
	}
	return edits, faults, e.diags
}
