package session

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/planner/executor"
)

// OnError is the value of -on-error. Empty stands for continue.
type OnError string

// onErrors are the values of -on-error, and what each means for the executor.
var onErrors = []struct {
	name    OnError
	meaning executor.OnError
}{{"continue", executor.Continue}, {"finish-node", executor.FinishNode}, {"stop", executor.Stop}}

// OnErrorNames returns the values of -on-error.
func OnErrorNames() []string {
	var out []string
	for _, v := range onErrors {
		out = append(out, string(v.name))
	}
	return out
}

// Set implements pflag.Value.
func (e *OnError) Set(s string) error {
	if !slices.Contains(OnErrorNames(), s) {
		return fmt.Errorf("use one of %s", strings.Join(OnErrorNames(), ", "))
	}
	*e = OnError(s)
	return nil
}

// String implements pflag.Value.
func (e *OnError) String() string { return string(*e) }

// Type implements pflag.Value.
func (e *OnError) Type() string { return "string" }

// Meaning returns what the executor does after a step has failed.
func (e OnError) Meaning() executor.OnError {
	for _, v := range onErrors {
		if v.name == e {
			return v.meaning
		}
	}
	return executor.Continue
}
