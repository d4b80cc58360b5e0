package main

import (
	"os"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/statefile"
)

// poisonState gives a state another run token, as an earlier version that accepted a host's
// token did.
func poisonState(ts *testscript.TestScript, _ bool, args []string) {
	token, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	editState(ts, args[0], func(st *state.State) { st.RunToken = token })
}

// setDurations sets how long steps took before, as in control-plane/update=14, and nothing else.
func setDurations(ts *testscript.TestScript, _ bool, args []string) {
	durations := map[string]float64{}
	for _, pair := range args[1:] {
		key, seconds, _ := strings.Cut(pair, "=")
		value, err := strconv.ParseFloat(seconds, 64)
		ts.Check(err)
		durations[key] = value
	}
	editState(ts, args[0], func(st *state.State) { st.Durations = durations })
}

// editState changes a state file, which stays valid.
func editState(ts *testscript.TestScript, name string, change func(*state.State)) {
	st, err := statefile.Decode(statefile.NewPaths(ts.MkAbs(name)), name, []byte(ts.ReadFile(name)))
	ts.Check(err)
	change(st)
	b, err := statefile.Encode(st)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(name), b, 0o600))
}
