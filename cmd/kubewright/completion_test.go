package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// pressTab asks a shell how a command line goes on. What a shell has of its own
// to read the line is in bash a package, which may be missing: then it is what
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
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("there is no bash here: completion is not tried")
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(examples, "quickstart"))); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string][]string{
		"kubewright pl":                  {"plan"},
		"kubewright etcd sna":            {"snapshot"},
		"kubewright plan -detailed":      {"-detailed-exitcode"},
		"kubewright plan --detailed":     {"--detailed-exitcode"},
		"kubewright -ch":                 {"-chdir"},
		"kubewright plan -target certs":  {"certs"},
		"kubewright plan -target node.w": {`node.worker`, `node.worker["w1"]`, `node.worker["w2"]`},
		"kubewright plan -format=mark":   {"markdown"},
		"kubewright apply -on-error fin": {"finish-node"},
		"kubewright completion z":        {"zsh"},
		"kubewright schema cluster.netw": {"cluster.network", "cluster.network.dns_domain", "cluster.network.pod_subnet", "cluster.network.service_subnet"},
		"kubewright help etcd sta":       {"status"},
		"kubewright plan -nonsense":      nil,
	} {
		cmd := exec.Command("bash", append([]string{"--noprofile", "--norc", "-c", pressTab, "bash"}, strings.Fields(line)...)...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
		var got []string
		for word := range strings.Lines(string(out)) {
			// Behind two spaces a list has what a word means.
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
