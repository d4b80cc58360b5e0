package planjson_test

import (
	"io"
	"testing"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/planjson"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/viewtest"
)

func TestPlanJSON(t *testing.T) {
	for _, name := range []string{"example", "replace", "drift", "empty"} {
		viewtest.Golden(t, name+".json", viewtest.Printed(t, func(w io.Writer) error {
			return planjson.Write(w, viewtest.Load(t, name), ui.Options{Recorded: ui.Recorded{Durations: viewtest.Durations()}})
		}))
	}
}
