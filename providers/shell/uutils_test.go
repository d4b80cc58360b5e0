package shell_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/hosttest"
	"github.com/kubewright/kubewright/state"
)

// uutilsStats are variants of stat as in uutils: errors have their number, the time of the
// last status change is in whole seconds, and in older releases that of the content as
// well.
var uutilsStats = map[string]string{
	"uutils 0.2":    "s/%.9Z/%Z/",
	"uutils 0.0.17": "s/%.9\\([YZ]\\)/%\\1/g",
}

// uutilsHost returns a host with such a stat.
func uutilsHost(t *testing.T, format string) (h providers.Host, root string) {
	t.Helper()
	h, root, _ = newHost(t)
	if err := os.MkdirAll(root+"/usr/local/bin", 0o755); err != nil {
		t.Fatal(err)
	}
	hosttest.WriteProgram(t, root+"/usr/local/bin/stat", `#!/bin/sh
for a do
	shift
	case $a in *%*) a=$(printf '%s\n' "$a" | sed '`+format+`') ;; esac
	set -- "$@" "$a"
done
exec 3>&1
/usr/bin/stat "$@" 2>&1 >&3 | sed -e 's/No such file or directory$/& (os error 2)/' -e 's/Not a directory$/& (os error 20)/' -e 's/symbolic links$/& (os error 40)/' >&2
`)
	return h, root
}

// TestUutilsStatIsUnderstood checks that a host with uutils' stat is observed like one with GNU's: absent
// files are absent, unreadable ones are not, and times are as precise as stat prints them.
func TestUutilsStatIsUnderstood(t *testing.T) {
	t.Parallel()
	for name, format := range uutilsStats {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, root := uutilsHost(t, format)
			put(t, root+"/etc/file", "x")
			written := time.Unix(1_700_000_000, 250e6)
			if err := os.Chtimes(root+"/etc/file", written, written); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink("loop", root+"/etc/loop"); err != nil {
				t.Fatal(err)
			}
			r, err := h.Observe(t.Context(), state.Query{Files: []state.FileQuery{{Path: "/etc/file"}, {Path: "/etc/nothing"}, {Path: "/etc/file/below"}}})
			if err != nil {
				t.Fatal(err)
			}
			if !r.Files["/etc/file"].Exists || r.Files["/etc/nothing"].Exists || r.Files["/etc/file/below"].Exists {
				t.Errorf("seen: %+v", r.Files)
			}
			if format == uutilsStats["uutils 0.0.17"] {
				written = written.Truncate(time.Second)
			}
			if got := r.Files["/etc/file"].Modified; !got.Equal(written) {
				t.Errorf("written at %v, want %v", got, written)
			}
			_, err = h.Observe(t.Context(), state.Query{Files: []state.FileQuery{{Path: "/etc/loop/below"}}})
			says(t, "a folder that cannot be read", err, "cannot tell whether files are there")
		})
	}
}

// TestUutilsRestartWithinOneSecond checks that a process started in the same second as its file was
// written, in whole seconds, is ended, since it may not have read the new content.
func TestUutilsRestartWithinOneSecond(t *testing.T) {
	t.Parallel()
	h, root := uutilsHost(t, uutilsStats["uutils 0.0.17"])
	put(t, root+"/etc/kubernetes/kw.conf", "old")
	const name = "kw-test-of-seconds"
	argument := filepath.Base(root) + "/kw.conf"
	own := start(t, name, argument)
	restart := func() bool {
		t.Helper()
		out, err := h.Perform(t.Context(), providers.Batch{Operations: []planner.Operation{
			planner.RestartProcess{Process: state.Process{Name: name, Argument: argument}, Files: []string{"/etc/kubernetes/kw.conf"}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		return out[0].Changed
	}
	at := func(written time.Time) {
		t.Helper()
		if err := os.Chtimes(root+"/etc/kubernetes/kw.conf", written, written); err != nil {
			t.Fatal(err)
		}
	}
	at(time.Now().Add(-time.Minute))
	if restart() {
		t.Error("ended a process that is newer than the file")
	}
	// The second began before the process, and ends after it.
	r, err := h.Observe(t.Context(), state.Query{Processes: []state.Process{{Name: name, Argument: argument}}})
	if err != nil {
		t.Fatal(err)
	}
	at(r.Started[name].Truncate(time.Second))
	if !restart() {
		t.Error("kept a process that may be older than the file")
	}
	if err := own.Wait(); err == nil {
		t.Error("the process ended by itself")
	}
}
