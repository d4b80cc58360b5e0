package main

import (
	"os"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/kubewright/kubewright/state/statefile"
)

// poisonState gives a state another run token, as an earlier version that accepted a host's
// token did.
func poisonState(ts *testscript.TestScript, _ bool, args []string) {
	st, err := statefile.Decode(statefile.NewPaths(ts.MkAbs(args[0])), args[0], []byte(ts.ReadFile(args[0])))
	ts.Check(err)
	st.RunToken, err = strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	b, err := statefile.Encode(st)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), b, 0o600))
}
