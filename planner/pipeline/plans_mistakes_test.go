package pipeline_test

import (
	"strings"
	"testing"
)

// TestPlanFilesRefuseMistakes checks that a file with something that the tests of plans do not know is
// refused, and not tested in part.
func TestPlanFilesRefuseMistakes(t *testing.T) {
	t.Parallel()
	const comment = "It shows something.\n\ncovers: bootstrap\n\n"
	for text, want := range map[string]string{
		comment + "-- main.hcl --\nx\n-- steps --\nx\n":      `unknown section "steps"`,
		comment + "-- main.hcl --\nx\n-- files --\nx\n":      `unknown section "files"`,
		comment + "-- main.hcl --\nx\n-- main.hcl --\ny\n":   `section "main.hcl" is there twice`,
		comment + "-- edits --\ncp1: power off\n":            "there is no configuration",
		"It shows something.\n\n-- main.hcl --\nx\n":         "the comment has 1 sentences",
		"covers: bootstrap\n\n-- main.hcl --\nx\n":           "the comment has 0 sentences",
		"A. B. C. D. E.\n\ncovers: x\n\n-- main.hcl --\nx\n": "the comment has 5 sentences",
	} {
		if _, err := parsePlanCase("x", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	for text, want := range map[string]string{
		"-lock-timeout=5s":       "there is no such option",
		"-allow-unreachable=yes": "there is no such option",
		"-target":                "there is no such option",
		"-target=nowhere":        "neither an address",
		"-replace=x/y":           "x/y",
		"-skip-phase=coffee":     "the phase cannot be skipped",
	} {
		if _, err := parsePlanOptions(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("option %q: %v, want %q", text, err, want)
		}
	}
	for _, text := range []string{"hide", "hide everything", "show steps", "omit steps *", "show impact *"} {
		if _, err := parsePlanFilter(text); err == nil || !strings.Contains(err.Error(), "is not written") {
			t.Errorf("filter %q is accepted", text)
		}
	}
}

// TestPlanEditsRefuseMistakes checks that an edit that cannot be made is refused.
func TestPlanEditsRefuseMistakes(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"cp1 power off":                          "is not written SUBJECT: EDIT",
		"cp9: power off":                         `there is no node "cp9"`,
		"cp1: power maybe":                       "is not on, off or reboot",
		"all: explode":                           "unknown verb",
		"time: yesterday":                        "is no duration",
		"etcd: remove cp9":                       "it is not written remove NODE",
		"state: forget node.cp9":                 "neither lost nor forget with a recorded node",
		"state: found":                           "neither lost nor forget with a recorded node",
		"run: stops at node.cp1/etcd":            "it is not written stops after STEP",
		`run: stops after node.cp["cp1"]/coffee`: "the run did not stop there",
	} {
		o := founded(t, 1, 0)
		if err := (planEdit{o: o}).apply(line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", line, err, want)
		}
	}
}

// TestPlanFilterHides checks which parts a filter leaves out.
func TestPlanFilterHides(t *testing.T) {
	t.Parallel()
	f, err := parsePlanFilter("# comment\nshow steps node.cp* *etcd\nhide steps *reset\nhide gates\nhide needs a b")
	if err != nil {
		t.Fatal(err)
	}
	for part, names := range map[string]map[string]bool{
		"steps":      {"node.cp1/certs": true, "node.w1/etcd": true, "node.w1/certs": false, "node.cp1/reset": false},
		"gates":      {"etcd-quorum": false},
		"needs":      {"a": false, "ab": true, "b": false},
		"operations": {"write_file": true},
	} {
		for name, want := range names {
			if got := f.shows(part, name); got != want {
				t.Errorf("%s %s: %v, want %v", part, name, got, want)
			}
		}
	}
}
