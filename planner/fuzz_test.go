package planner_test

import (
	"reflect"
	"testing"

	"github.com/kubewright/kubewright/planner"
)

// FuzzParseSelector: no text panics, and what is read is printed and read the same.
func FuzzParseSelector(f *testing.F) {
	phases := []string{"certs", "kubelet-start"}
	for _, s := range []string{"certs", "certs@reissue", "@", "certs@", `node.cp["cp1"]`, `node.cp["cp1"]/certs@rotated`, "cluster.demo", `node.cp["\"]`, "node.cp[", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := planner.ParseSelector(text, phases)
		if err != nil {
			return
		}
		again, err := planner.ParseSelector(s.String(), phases)
		if err != nil || !reflect.DeepEqual(again, s) {
			t.Errorf("%q is %+v, and %q is %+v (%v)", text, s, s.String(), again, err)
		}
	})
}
