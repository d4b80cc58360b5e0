package state_test

import (
	"testing"

	"github.com/kubewright/kubewright/state"
)

// TestOwnersAreComparedAsTheyAreWanted checks that an owner is shown with IDs where IDs are wanted.
func TestOwnersAreComparedAsTheyAreWanted(t *testing.T) {
	t.Parallel()
	f := state.FileReport{Owner: "UNKNOWN:adm", OwnerIDs: "65532:4"}
	for wanted, want := range map[string]string{"root:root": "UNKNOWN:adm", "65532:65532": "65532:4", "65532:adm": "65532:adm", "app:4": "UNKNOWN:4", "": "UNKNOWN:adm"} {
		if got := f.OwnerAs(wanted); got != want {
			t.Errorf("wanted %q: %q, want %q", wanted, got, want)
		}
	}
	if got := (state.FileReport{Owner: "root:root"}).OwnerAs("0:0"); got != "root:root" {
		t.Errorf("without IDs: %q", got)
	}
}
