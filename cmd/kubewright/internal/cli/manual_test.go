package cli

import (
	"strings"
	"testing"
	"time"
)

// TestManualHasEveryCommandAndFlag checks that each command has a page with its flags as a user
// writes them.
func TestManualHasEveryCommandAndFlag(t *testing.T) {
	t.Parallel()
	pages := Manual("1.2.3", time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC))
	for _, cmd := range everyCommand(commandLine()) {
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".1"
		page, there := pages[name]
		if !there {
			t.Errorf("%s has no page", cmd.CommandPath())
			continue
		}
		if head := `"1" "January 2026" "kubewright 1.2.3" "kubewright manual"`; !strings.Contains(page, head) {
			t.Errorf("%s does not begin with version and date:\n%.200s", name, page)
		}
		for _, flag := range flagNames(cmd.LocalNonPersistentFlags()) {
			if f := cmd.Flags().Lookup(flag); f != nil && f.Hidden {
				continue
			}
			if !strings.Contains(page, "**-"+strings.ReplaceAll(flag, "_", `\_`)) {
				t.Errorf("%s does not describe -%s", name, flag)
			}
		}
		if strings.Contains(page, "**--") {
			t.Errorf("%s shows a flag with two dashes", name)
		}
	}
	if len(pages) != len(everyCommand(commandLine())) {
		t.Errorf("%d pages for %d commands", len(pages), len(everyCommand(commandLine())))
	}
}

// TestCompletionsForEveryShell checks the scripts that packages install.
func TestCompletionsForEveryShell(t *testing.T) {
	t.Parallel()
	scripts, err := Completions()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range shells {
		if !strings.Contains(string(scripts[s.name]), "kubewright") {
			t.Errorf("no script for %s", s.name)
		}
	}
}
