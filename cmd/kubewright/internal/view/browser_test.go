package view_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// browser finds a Chromium: the one in KUBEWRIGHT_BROWSER, which has to be there then,
// or one of the usual names.
func browser(t *testing.T) string {
	t.Helper()
	if name := os.Getenv("KUBEWRIGHT_BROWSER"); name != "" {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatalf("KUBEWRIGHT_BROWSER: %v", err)
		}
		return path
	}
	for _, name := range []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("no Chromium here: the page is not opened. Install chromium, or name one in KUBEWRIGHT_BROWSER.")
	return ""
}

// open opens a page from a file and returns it as it is when its script has
// run, and what the browser complained about.
func open(t *testing.T, page, anchor string) (dom, complaints string) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "plan.html")
	if err := os.WriteFile(path, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, browser(t), "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
		"--user-data-dir="+filepath.Join(dir, "profile"), "--dump-dom", "file://"+path+anchor)
	var out, log strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &log
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, "CONSOLE") {
			complaints += line
		}
	}
	return out.String(), complaints
}

// TestPageInBrowser opens the page: its script runs though the page allows no
// other, finds every item, and opens the way to the step that a link names.
func TestPageInBrowser(t *testing.T) {
	plan := updatePlan()
	dom, complaints := open(t, planAs(t, plan, "html"), "#s1")
	if complaints != "" {
		t.Errorf("the browser complains:\n%s", complaints)
	}
	if !strings.Contains(dom, fmt.Sprintf(`data-items="%d"`, len(plan.Changes))) {
		t.Errorf("the script has not found the %d items: %s", len(plan.Changes), regexp.MustCompile(`data-items="\d+"`).FindString(dom))
	}
	if !regexp.MustCompile(`<details class="phase" id="s1"[^>]* open=""`).MatchString(dom) || regexp.MustCompile(`<details class="phase" id="s2"[^>]* open=""`).MatchString(dom) {
		t.Error("a link to a step does not open that step alone")
	}
	var scripts []string
	for _, s := range hostile {
		if strings.Contains(s, "pwned()") {
			scripts = append(scripts, s)
		}
	}
	dom, complaints = open(t, planAs(t, hostilePlan(strings.Join(scripts, " ")), "html"), "")
	if complaints != "" || !strings.Contains(dom, "data-items=") {
		t.Errorf("with hostile text the browser complains, or did not run our script:\n%s", complaints)
	}
}
