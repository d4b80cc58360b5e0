package command

import (
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/cmd/lab/internal/build"
)

func TestDoubleDashes(t *testing.T) {
	t.Parallel()
	got := doubleDashes([]string{"build", "-kubernetes", "v1.36.3", "--only=kubeadm", "-h", "--", "-long", "x"})
	want := []string{"build", "--kubernetes", "v1.36.3", "--only=kubeadm", "-h", "--", "-long", "x"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestMistakesAreErrors(t *testing.T) {
	t.Setenv(build.CacheVariable, t.TempDir())
	for args, want := range map[string]string{
		"build -kubernetes v1.2.3": "known versions",
		"build -only kubedam":      "no such program",
		"exec cp1":                 "requires at least 2",
		"exec cp1 -- true":         "not up",
		"listing cp1":              "not up",
		"host kill cp1":            "not up",
		"-lab ../x down":           "not a lab's name",
		"nosuch":                   "unknown command",
	} {
		err := Run(t.Context(), strings.Fields(args))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("lab %s: got %v, want an error with %q", args, err, want)
		}
	}
}

func TestStatusWithoutLabs(t *testing.T) {
	t.Setenv(build.CacheVariable, t.TempDir())
	if err := Run(t.Context(), []string{"status", "-json"}); err != nil {
		t.Error(err)
	}
}
