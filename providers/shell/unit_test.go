package shell_test

import (
	"os"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers/hosttest"
)

// systemctlWith returns a systemctl that writes down what it is asked to do, and for which a unit is
// in a state once it was started.
func systemctlWith(root, state string) string {
	return "#!/bin/sh\ncase $* in\n" +
		"show*) if [ -e " + root + "/started ]; then echo " + state + "; else echo inactive; fi ;;\n" +
		"status*) echo 'app.service: Unable to locate executable' ;;\n" +
		"*' start '* | *' restart '*) : >" + root + "/started; echo \"$*\" >>" + root + "/calls ;;\n" +
		"*) echo \"$*\" >>" + root + "/calls ;;\nesac\n"
}

// TestUnitThatEndsAtOnceFails checks that a start with Verify fails with the unit's own messages if the
// unit does not stay active, although systemctl succeeds, and that others are not verified.
func TestUnitThatEndsAtOnceFails(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]string{"active": "", "failed": "Unable to locate executable", "'activating auto-restart'": "Unable to locate executable"} {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			h, root, _ := newHost(t)
			if err := os.MkdirAll(root+"/usr/local/bin", 0o755); err != nil {
				t.Fatal(err)
			}
			hosttest.WriteProgram(t, root+"/usr/local/bin/systemctl", systemctlWith(root, state))
			_, err := perform(t, h, planner.Unit{Unit: "app.service", Action: "restart", Verify: true})
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q in it", err, want)
			}
			if _, err := perform(t, h, planner.Unit{Unit: "app.service", Action: "restart"}); err != nil {
				t.Errorf("without Verify: %v", err)
			}
		})
	}
}

// TestDaemonReloadChangesNoUnit checks that systemd reads its files again, each time, and that no unit
// is touched.
func TestDaemonReloadChangesNoUnit(t *testing.T) {
	t.Parallel()
	h, root, _ := newHost(t)
	if err := os.MkdirAll(root+"/usr/local/bin", 0o755); err != nil {
		t.Fatal(err)
	}
	hosttest.WriteProgram(t, root+"/usr/local/bin/systemctl", systemctlWith(root, "active"))
	for range 2 {
		out, err := perform(t, h, planner.Unit{Unit: "app.service", Action: planner.DaemonReload})
		if err != nil || !out[0].Changed {
			t.Errorf("%v, %v", out, err)
		}
	}
	if calls, err := os.ReadFile(root + "/calls"); err != nil || string(calls) != "daemon-reload\ndaemon-reload\n" {
		t.Errorf("%q, %v", calls, err)
	}
}
