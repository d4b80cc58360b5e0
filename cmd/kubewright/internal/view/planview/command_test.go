package planview_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/planview"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/viewtest"
)

// TestSavedPlanNameIsQuoted checks that the command that applies a saved plan quotes its file name
// for a shell, and a plain one as Terraform prints it.
func TestSavedPlanNameIsQuoted(t *testing.T) {
	for path, want := range map[string]string{
		"plan.kwplan":        `kubewright apply -chdir=prod "plan.kwplan"`,
		"my plan.kwplan":     `kubewright apply -chdir=prod 'my plan.kwplan'`,
		"$HOME/`id`'s \"x\"": `kubewright apply -chdir=prod '$HOME/` + "`id`" + `'\''s "x"'`,
	} {
		var b bytes.Buffer
		if err := planview.Saved(&b, path, viewtest.UpdatePlan(), ui.Options{GivenAgain: []string{"chdir=prod"}}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), "\n    "+want+"\n") {
			t.Errorf("%s is applied by\n%s\nwant %s", path, b.String(), want)
		}
	}
}
