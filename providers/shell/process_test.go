package shell_test

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/hosttest"
	"github.com/kubewright/kubewright/state"
)

// start runs a program of that name with an argument, until the test ends.
func start(t *testing.T, name, argument string) *exec.Cmd {
	t.Helper()
	program := filepath.Join(t.TempDir(), name)
	hosttest.WriteProgram(t, program, "#!/bin/sh\nread line\n")
	cmd := exec.Command(program, argument)
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd
}

// TestProcessRestartFindsItsProcess checks that of several processes with one name the one with the argument is
// found, and ended; and only if a file is newer than it.
func TestProcessRestartFindsItsProcess(t *testing.T) {
	t.Parallel()
	h, root, _ := newHost(t)
	put(t, root+"/etc/kubernetes/kw.conf", "old")
	const name = "kw-test-component-with-a-long-name"
	before := time.Now()
	own := start(t, name, "--kubeconfig=/etc/kubernetes/"+filepath.Base(root)+"/kw.conf")
	other := start(t, name, "--kubeconfig=/somewhere/else")
	process := state.Process{Name: name, Argument: "/etc/kubernetes/" + filepath.Base(root) + "/kw.conf"}
	query := state.Query{
		Processes: []state.Process{process, {Name: "kw-no-such", Argument: "x"}},
		Files:     []state.FileQuery{{Path: "/etc/kubernetes/kw.conf"}},
	}
	r, err := h.Observe(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Started) != 1 || r.Started[name].Before(before.Add(-time.Second)) || r.Started[name].After(time.Now().Add(time.Second)) || r.Outdated(name, "/etc/kubernetes/kw.conf") {
		t.Errorf("started are %v, the file was written %v", r.Started, r.Files["/etc/kubernetes/kw.conf"].Modified)
	}
	restart := providers.Batch{Operations: []planner.Operation{planner.RestartProcess{Process: process, Files: []string{"/etc/kubernetes/kw.conf"}}}}
	if outcomes, err := h.Perform(t.Context(), restart); err != nil || outcomes[0].Changed {
		t.Fatalf("ended a process that is newer than the file: %v, %v", outcomes, err)
	}
	later := time.Now().Add(time.Minute)
	if err := os.Chtimes(root+"/etc/kubernetes/kw.conf", later, later); err != nil {
		t.Fatal(err)
	}
	if r, err = h.Observe(t.Context(), query); err != nil || !r.Outdated(name, "/etc/kubernetes/kw.conf") {
		t.Errorf("%v: the file is newer, but that was not detected", err)
	}
	if outcomes, err := h.Perform(t.Context(), restart); err != nil || !outcomes[0].Changed {
		t.Fatalf("did not end the process: %v, %v", outcomes, err)
	}
	if err := own.Wait(); err == nil {
		t.Error("the process ended by itself")
	}
	if err := other.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("another process of that name was ended: %v", err)
	}
}

func TestServedCertificate(t *testing.T) {
	t.Parallel()
	web := httptest.NewTLSServer(nil)
	defer web.Close()
	h, _, _ := newHost(t)
	c, err := h.ServedCertificate(t.Context(), web.Listener.Addr().String())
	if want := state.CertificateInfoOf(web.Certificate()); err != nil || c.Serial != want.Serial || c.KeyDigest != want.KeyDigest {
		t.Errorf("saw %+v, %v", c, err)
	}
	plain := httptest.NewServer(nil)
	defer plain.Close()
	_, err = h.ServedCertificate(t.Context(), plain.Listener.Addr().String())
	says(t, "no TLS", err, "cannot see the certificate at "+plain.Listener.Addr().String())
}
