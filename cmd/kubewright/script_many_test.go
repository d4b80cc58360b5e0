package main

import (
	"strconv"
	"strings"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/workspace"
	"github.com/kubewright/kubewright/providers/sim"
	"github.com/rogpeppe/go-internal/testscript"
)

// editEach edits N simulated hosts at once, as sim edit does; % in the host stands for the number.
func editEach(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	w, err := sim.Open(ts.MkAbs(workspace.SimFile))
	ts.Check(err)
	for i := 1; i <= n; i++ {
		ts.Check(sim.Edit(w, strings.ReplaceAll(args[1], "%", strconv.Itoa(i)), strings.Join(args[2:], " ")))
	}
	ts.Check(w.Save())
}

// isShort checks that the last output has at most so many lines and bytes.
func isShort(ts *testscript.TestScript, _ bool, args []string) {
	out := ts.ReadFile("stdout")
	for i, have := range []int{strings.Count(out, "\n"), len(out)}[:len(args)] {
		most, err := strconv.Atoi(args[i])
		ts.Check(err)
		if have > most {
			ts.Fatalf("the output has %d %s, more than %d", have, []string{"lines", "bytes"}[i], most)
		}
	}
}
