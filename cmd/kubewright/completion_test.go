package main

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/creack/pty"

	"github.com/kubewright/kubewright/providers/hosttest"
)

// completed maps command lines to what Tab offers at their end.
var completed = map[string][]string{
	"kubewright pl":                  {"plan"},
	"kubewright etcd sna":            {"snapshot"},
	"kubewright plan -detailed":      {"-detailed-exitcode"},
	"kubewright plan --detailed":     {"--detailed-exitcode"},
	"kubewright -ch":                 {"-chdir"},
	"kubewright plan -target certs":  {"certs", "certs/all", "certs/apiserver", "certs/apiserver-etcd-client", "certs/apiserver-kubelet-client", "certs/ca", "certs/etcd-ca", "certs/etcd-healthcheck-client", "certs/etcd-peer", "certs/etcd-server", "certs/front-proxy-ca", "certs/front-proxy-client", "certs/sa"},
	"kubewright plan -target node.w": {`node.worker`, `node.worker["w1"]`, `node.worker["w2"]`},
	"kubewright plan -format=mark":   {"markdown"},
	"kubewright apply -on-error fin": {"finish-node"},
	"kubewright completion z":        {"zsh"},
	"kubewright schema cluster.netw": {"cluster.network", "cluster.network.dns_domain", "cluster.network.pod_subnet", "cluster.network.service_subnet"},
	"kubewright help etcd sta":       {"status"},
	"kubewright plan -nonsense":      nil,
}

// shell finds a shell to press Tab in; a shell named in KUBEWRIGHT_SHELLS must be installed.
func shell(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	switch {
	case err == nil:
	case slices.Contains(strings.Fields(os.Getenv("KUBEWRIGHT_SHELLS")), name):
		t.Fatalf("KUBEWRIGHT_SHELLS: %v", err)
	default:
		t.Skipf("%s is not installed: its completion is not tested. If KUBEWRIGHT_SHELLS names it, this test fails without it.", name)
	}
	return path
}

// quickstartFolder returns a configuration whose addresses can be completed.
func quickstartFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(examples, "quickstart"))); err != nil {
		t.Fatal(err)
	}
	return dir
}

// pressTab asks a shell for the completions of a command line. In bash the helpers that split
// the line belong to the bash-completion package, which may be missing; a stand-in does what
// that package does with a line without quotes.
const pressTab = `
_get_comp_words_by_ref() {
  words=("${COMP_WORDS[@]}"); cword=$COMP_CWORD; cur=${words[cword]}; prev=${words[cword-1]}
}
for f in /usr/share/bash-completion/bash_completion /etc/bash_completion; do
  if [ -r "$f" ]; then source "$f"; break; fi
done
compopt() { :; } # only Tab itself may call it
kubewright() { kubewright-process "$@"; }
source <(kubewright completion bash)
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}; COMP_TYPE=9
__start_kubewright
printf '%s\n' "${COMPREPLY[@]}"
`

// TestCompletionInBash presses Tab.
func TestCompletionInBash(t *testing.T) {
	t.Parallel()
	bash, dir := shell(t, "bash"), quickstartFolder(t)
	for line, want := range completed {
		cmd := exec.Command(bash, append([]string{"--noprofile", "--norc", "-c", pressTab, "bash"}, strings.Fields(line)...)...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
		var got []string
		for word := range strings.Lines(string(out)) {
			// In a list two spaces separate a word from its description.
			if word, _, _ = strings.Cut(strings.TrimSpace(word), "  "); word != "" {
				got = append(got, strings.ReplaceAll(word, `\`, ""))
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s<Tab>: got %q, want %q", line, got, want)
		}
	}
}

// zshStart has zsh report what Tab did: the resulting line and all that was offered.
// What completions add goes through compadd; with -O, -A or -D nothing is added.
const zshStart = `
PROMPT= RPROMPT=
unset zle_bracketed_paste
autoload -Uz compinit && compinit -u -D
source <(kubewright completion zsh)
typeset -ga offered
compadd() {
  if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then builtin compadd "$@"; return; fi
  local -a hits; builtin compadd -A hits "$@"; offered+=("${hits[@]}")
  builtin compadd "$@"
}
press() {
  offered=(); zle expand-or-complete
  print -u3 -r -- "$BUFFER"$'\t'"${(pj:\t:)offered}"
  BUFFER=
}
zle -N press; bindkey '^I' press
zle-line-init() { print -u3 ready }
zle -N zle-line-init
`

// fishStart has fish report the same at Ctrl-X, after a Tab has completed.
const fishStart = `
function fish_greeting; end
function fish_prompt; end
kubewright completion fish | source
function said --on-event fish_prompt; echo ready >&3; end
bind \t 'set -g offered (complete -C (commandline -c) | string replace -r "\t.*" ""); commandline -f complete'
bind \cx 'string join \t -- (commandline) $offered >&3; commandline -r ""'
`

// TestCompletionInZsh presses Tab in a terminal.
func TestCompletionInZsh(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	write(t, filepath.Join(home, ".zshrc"), zshStart)
	newTypist(t, home, shell(t, "zsh"), "-d", "-i").presses("\t")
}

// TestCompletionInFish presses Tab in a terminal.
func TestCompletionInFish(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	// If this folder is missing, fish fills it in the background from all manual pages.
	if err := os.MkdirAll(filepath.Join(home, "fish", "generated_completions"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(home, "fish", "config.fish"), fishStart)
	newTypist(t, home, shell(t, "fish"), "-i").presses("\t\x18")
}

// typist types into a shell on a terminal; the shell reports on file descriptor 3 what the
// keys did.
type typist struct {
	*testing.T
	master *os.File
	said   *bufio.Reader

	mu     sync.Mutex
	screen bytes.Buffer
}

// newTypist starts a shell in a folder with a configuration; home has its own files.
func newTypist(t *testing.T, home, shell string, args ...string) *typist {
	t.Helper()
	command := filepath.Join(home, "kubewright")
	hosttest.WriteProgram(t, command, "#!/bin/sh\nexec kubewright-process \"$@\"\n")
	said, saying, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(shell, args...)
	cmd.Dir = quickstartFolder(t)
	cmd.Env = append(os.Environ(), "PATH="+home+string(filepath.ListSeparator)+os.Getenv("PATH"), "HOME="+home, "ZDOTDIR="+home,
		"XDG_CONFIG_HOME="+home, "XDG_DATA_HOME="+home, "TERM=dumb", "LC_ALL=C.UTF-8")
	cmd.ExtraFiles = []*os.File{saying}
	c := &typist{T: t, said: bufio.NewReader(said)}
	if c.master, err = pty.StartWithAttrs(cmd, &pty.Winsize{Rows: 40, Cols: 200}, &syscall.SysProcAttr{Setsid: true, Setctty: true}); err != nil {
		t.Fatal(err)
	}
	saying.Close()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		c.master.Close()
		said.Close()
	})
	go func() { _, _ = io.Copy(c, c.master) }()
	if line := c.hears(); line != "ready" {
		t.Fatalf("the shell says %q", line)
	}
	return c
}

// Write implements io.Writer: what the shell shows helps when a test has failed.
func (c *typist) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.screen.Write(b)
}

// hears waits for a line from the shell.
func (c *typist) hears() string {
	c.Helper()
	line, err := c.said.ReadString('\n')
	if err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.Fatalf("%v:\n%s", err, c.screen.String())
	}
	return strings.TrimSuffix(line, "\n")
}

// presses types each command line and a key, and checks what is offered; if only one word is
// offered, the line must end with it.
func (c *typist) presses(key string) {
	c.Helper()
	for line, want := range completed {
		if _, err := io.WriteString(c.master, line+key); err != nil {
			c.Fatal(err)
		}
		got := strings.Split(strings.ReplaceAll(c.hears(), `\`, ""), "\t")
		whole, offered := strings.TrimSpace(got[0]), slices.DeleteFunc(got[1:], func(word string) bool { return word == "" })
		for i, word := range offered { // fish offers a flag with its value
			if _, value, ok := strings.Cut(word, "="); ok && strings.Contains(line, "=") {
				offered[i] = value
			}
		}
		slices.Sort(offered)
		if !slices.Equal(offered, want) {
			c.Errorf("%s<Tab>: got %q, want %q", line, offered, want)
		}
		if len(want) == 1 && !strings.HasSuffix(whole, want[0]) {
			c.Errorf("%s<Tab>: the line is %q, and should end with %q", line, whole, want[0])
		}
	}
}
