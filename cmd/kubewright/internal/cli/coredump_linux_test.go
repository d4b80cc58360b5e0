package cli

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"golang.org/x/sys/unix"
)

// dumpableChild makes a child process of this test print whether it may be dumped.
const dumpableChild = "KUBEWRIGHT_DUMPABLE_CHILD"

// TestProcessIsNotDumpable checks that a process with the system's environment is not dumped, whatever
// its limit, unless it asks to be.
func TestProcessIsNotDumpable(t *testing.T) {
	if os.Getenv(dumpableChild) != "" {
		console.System(nil)
		dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
		fmt.Printf("dumpable=%d %v.\n", dumpable, err)
		return
	}
	t.Parallel()
	for trace, want := range map[string]string{"single": "dumpable=0 <nil>.", "crash": "dumpable=1 <nil>."} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestProcessIsNotDumpable$")
		cmd.Env = append(os.Environ(), dumpableChild+"=1", "GOTRACEBACK="+trace)
		out, err := cmd.Output()
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("GOTRACEBACK=%s: got %v, want %s\n%s", trace, err, want, out)
		}
	}
}
