package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/providers/hosttest"
)

// unrun are the reasons why a block of commands is not run: the mark is "not run: REASON".
var unrun = map[string]string{
	"needs the network":                "downloads from sites of other projects",
	"needs a real host":                "logs in to a host, or runs there",
	"needs kubectl and a real cluster": "runs kubectl",
	"names files of the reader":        "names keys that only the reader has",
	"needs the files of a release":     "installs or verifies what make release writes",
	"builds the program":               "compiles, as the tests have done already",
	"has a test of its own":            "TestConftest runs it",
	"an example that a test parses":    "TestHelpHasDescriptionAndExamples parses each",
}

// A mark says how a block is run: "run: FIXTURE" in a folder of its own, which the commands
// after "first:" prepare; "run by: SCRIPT" by a script that has the same commands.
var runMark = regexp.MustCompile(`^run: ([a-z ]+?)(?:; first: (.*))?$`)

// yes answers what kubewright would ask on a terminal.
const yes = "#!/bin/sh\ncase \"$1\" in apply|destroy) set -- \"$@\" -auto-approve ;; esac\nexec kubewright-process \"$@\"\n"

// TestDocsShellBlocks runs the commands of the pages on simulated hosts.
func TestDocsShellBlocks(t *testing.T) {
	t.Parallel()
	s := newDocShell(t)
	used := map[string]bool{}
	var tutorial []docBlock
	for _, b := range docBlocks(t) {
		if strings.HasPrefix(b.page, "tutorial/") {
			tutorial = append(tutorial, b)
		}
		if b.language != "sh" {
			continue
		}
		reason, _ := strings.CutPrefix(b.mark, "not run: ")
		used[reason] = true
		if strings.HasPrefix(b.mark, "run: tutorial") {
			continue
		}
		t.Run(fmt.Sprintf("%s:%d", b.page, b.line), func(t *testing.T) {
			t.Parallel()
			if err := s.check(t, b); err != nil {
				t.Error(err)
			}
		})
	}
	for _, reason := range slices.Sorted(maps.Keys(unrun)) {
		if !used[reason] {
			t.Errorf("no block has the mark %q", "not run: "+reason)
		}
	}
	t.Run("tutorial", func(t *testing.T) {
		t.Parallel()
		s.follow(t, tutorial)
	})
}

// docShell runs blocks. It has a folder with the programs, and one with an applied configuration.
type docShell struct {
	programs, demo string
	scripts        map[string]string
}

func newDocShell(t *testing.T) *docShell {
	t.Helper()
	s := &docShell{programs: t.TempDir(), demo: t.TempDir(), scripts: scriptTexts(t)}
	hosttest.WriteProgram(t, filepath.Join(s.programs, "kubewright"), yes)
	write(t, filepath.Join(s.demo, "main.hcl"), demoText(t))
	if out, err := s.run(s.demo, "kubewright apply\nkubewright plan -out=plan.kwplan"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return s
}

// run runs commands in a folder, until one fails.
func (s *docShell) run(dir, commands string) (string, error) {
	cmd := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", commands)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + s.programs + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + dir, raceOptions + "=" + noWaiting}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// check runs a block, or checks the reason why it is not run.
func (s *docShell) check(t *testing.T, b docBlock) error {
	t.Helper()
	if reason, ok := strings.CutPrefix(b.mark, "not run: "); ok {
		if unrun[reason] == "" {
			return fmt.Errorf("%q is no reason", reason)
		}
		return nil
	}
	if name, ok := strings.CutPrefix(b.mark, "run by: "); ok {
		return s.hasCommands(b, name)
	}
	m := runMark.FindStringSubmatch(b.mark)
	if m == nil {
		return fmt.Errorf("the block is not marked, or wrongly: %q", b.mark)
	}
	dir := t.TempDir()
	switch m[1] {
	case "demo":
		if err := os.CopyFS(dir, os.DirFS(s.demo)); err != nil {
			return err
		}
	case "checkout":
		if err := os.CopyFS(filepath.Join(dir, "examples"), os.DirFS(examples)); err != nil {
			return err
		}
		b.text = strings.ReplaceAll(b.text, "/tmp/try", filepath.Join(dir, "try"))
	default:
		return fmt.Errorf("there is no fixture %q", m[1])
	}
	if out, err := s.run(dir, m[2]+"\n"+b.text); err != nil {
		return fmt.Errorf("%s: %w\n%s", b.text, err, out)
	}
	return nil
}

// hasCommands checks that a script has each kubewright command of a block.
func (s *docShell) hasCommands(b docBlock, name string) error {
	script, ok := s.scripts[name]
	if !ok {
		return fmt.Errorf("there is no script %q", name)
	}
	found := 0
	for line := range strings.Lines(b.text) {
		if command := bare(line); strings.HasPrefix(command, "kubewright ") {
			found++
			if !slices.ContainsFunc(strings.Split(script, "\n"), func(l string) bool { return strings.HasPrefix(bare(l)+" ", command+" ") }) {
				return fmt.Errorf("the script %s does not run %s", name, command)
			}
		}
	}
	if found == 0 {
		return fmt.Errorf("the block has no command of kubewright")
	}
	return nil
}

// bare returns a command line without prompts, quotes and comments.
func bare(line string) string {
	line, _, _ = strings.Cut(strings.TrimSpace(line), "   #")
	line = strings.TrimPrefix(strings.TrimPrefix(line, "! "), "$ ")
	return strings.TrimSpace(strings.NewReplacer(`'`, "", `"`, "").Replace(line))
}

// follow does what the tutorial says, from its first page to the last, on bare simulated hosts.
func (s *docShell) follow(t *testing.T, blocks []docBlock) {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "kubernetes.asc"), repositoryKey)
	write(t, filepath.Join(dir, "kube-flannel.yml"), networkManifest)
	ran := 0
	for _, b := range blocks {
		m := runMark.FindStringSubmatch(b.mark)
		switch {
		case fileOf(b) != "":
			text := b.text
			if old := regexp.MustCompile(`(?s)connection \{.*?\n\}`); old.MatchString(text) {
				text = old.ReplaceAllString(text, "connection {\n  type = \"sim\"\n}")
			}
			write(t, filepath.Join(dir, fileOf(b)), text)
		case b.language == "hcl":
			s.extend(t, dir, b)
		case b.language == "sh" && m != nil && m[1] == "tutorial":
			if ran == 1 { // the configuration has been validated
				s.bare(t, dir)
			}
			ran++
			if out, err := s.run(dir, m[2]+"\n"+b.text); err != nil {
				t.Fatalf("%s:%d: %v\n%s", b.page, b.line, err, out)
			}
		}
	}
	if ran < 9 {
		t.Errorf("the tutorial ran %d blocks", ran)
	}
	if out, err := s.run(dir, "kubewright state list"); err != nil || strings.TrimSpace(out) != "" {
		t.Errorf("after the tutorial the state has %s (%v)", out, err)
	}
}

// bare makes the hosts of the tutorial machines that have nothing.
func (s *docShell) bare(t *testing.T, dir string) {
	t.Helper()
	for _, host := range []string{"11", "12", "13", "21", "22"} {
		if out, err := s.run(dir, "kubewright sim edit 10.77.0."+host+" profile bare"); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
}

// extend adds a fragment to the file of the tutorial that it belongs to.
func (s *docShell) extend(t *testing.T, dir string, b docBlock) {
	t.Helper()
	within, file := strings.TrimPrefix(b.mark, "fragment: "), "main.hcl"
	if within == "tutorial" {
		within, file = "", "nodes.hcl"
	}
	path := filepath.Join(dir, file)
	base, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text, err := joined(string(base), b.text, within)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, text)
}

// TestDocsShellBlocksAreChecked checks that the check finds a command that fails, a mark that is
// missing, and a reason or a script that does not exist.
func TestDocsShellBlocksAreChecked(t *testing.T) {
	t.Parallel()
	s := newDocShell(t)
	for _, tt := range []struct{ text, mark, want string }{
		{"kubewright plan\n", "run: demo", ""},
		{"kubewright plan -detailed-exitcode\n", "run: demo; first: kubewright sim edit 10.77.0.21 power off", "exit status 6"},
		{"kubewright plan -nonsense\n", "run: demo", "nonsense"},
		{"kubewright plan | grep -q 'Everything is'\n", "run: demo", "exit status 1"},
		{"kubewright plan\n", "", "not marked"},
		{"kubewright plan\n", "run: elsewhere", "no fixture"},
		{"kubewright plan\n", "not run: it would take long", "is no reason"},
		{"kubewright plan -generate-config-out=demo.hcl\n", "run by: import_generates_configuration", ""},
		{"kubewright plan -generate-config-out=other.hcl\n", "run by: import_generates_configuration", "does not run"},
		{"kubewright plan\n", "run by: nothing", "no script"},
	} {
		err := s.check(t, docBlock{language: "sh", text: tt.text, mark: tt.mark})
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s, %s: got %v, want %q", tt.mark, tt.text, err, tt.want)
		}
	}
}
