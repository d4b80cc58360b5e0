package ui_test

import (
	"io"
	"testing"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/viewtest"
)

func TestValidateJSON(t *testing.T) {
	viewtest.Golden(t, "validate.json", viewtest.Printed(t, func(w io.Writer) error { return ui.ValidateJSON(w, viewtest.Findings(), viewtest.Source) }))
}
