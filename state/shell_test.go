package state

import (
	"os/exec"
	"testing"
)

// TestShellWordIsQuoted passes words to a shell and checks what it reads.
func TestShellWordIsQuoted(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no shell here")
	}
	for _, s := range []string{
		"", "plain", "a/b-c_d.e@f:g=h,i", "two words", "it's", `"quoted"`, "$HOME", "`id`", "a\nb", "*", "~", "~root", "#x", "!", "a;b", "{a,b}", "\\",
		`node.worker["o'brien"]`, NodeKeyTarget("worker", `o'brien "$HOME"`).String(), "-n", "ä",
	} {
		out, err := exec.Command(sh, "-c", "printf %s "+ShellWord(s)).CombinedOutput()
		if err != nil || string(out) != s {
			t.Errorf("ShellWord(%q) = %s, and a shell reads %q: %v", s, ShellWord(s), out, err)
		}
	}
	if got := ShellWords("etcd", "restore", "a b.db", "prod"); got != "etcd restore 'a b.db' prod" {
		t.Errorf("the words are %s", got)
	}
}
