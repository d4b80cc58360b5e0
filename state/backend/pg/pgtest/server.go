//go:build e2e

// Package pgtest starts a PostgreSQL server for tests.
package pgtest

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/kubewright/kubewright/state/backend"
)

const (
	// Superuser is the user who may do everything, and Password its password.
	Superuser = "operator"
	Password  = "a-secret-of-the-test"
)

// Server is a PostgreSQL server of a test that listens only on a unix socket.
type Server struct {
	// Dir is the directory of the socket.
	Dir string
}

// Connect returns a connection string for a database.
func (s Server) Connect(user, pass, database string) string {
	return "host=" + s.Dir + " user=" + user + " password=" + pass + " dbname=" + database
}

// Settings returns the settings of a backend whose state is in this schema.
func (s Server) Settings(schema string) backend.Settings {
	return backend.Settings{"conn_str": s.Connect(Superuser, Password, "postgres"), "schema_name": schema, "name": "prod"}
}

// program finds a program of PostgreSQL on the PATH or where Debian installs it.
func program(t *testing.T, name string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if err != nil || len(found) == 0 {
		t.Fatalf("PostgreSQL's %s is neither on the PATH nor in /usr/lib/postgresql/*/bin: install it (apt-get install postgresql)", name)
	}
	return found[len(found)-1]
}

// unprivileged returns the user that PostgreSQL runs as, because it refuses to run as root; nil
// for the user who runs the test.
func unprivileged(t *testing.T, dir string) *syscall.Credential {
	t.Helper()
	if os.Getuid() != 0 {
		return nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		u, err = user.Lookup("nobody")
	}
	if err != nil {
		t.Fatalf("PostgreSQL does not run as root, and there is no user postgres or nobody: %v", err)
	}
	uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
	gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
	if uidErr != nil || gidErr != nil {
		t.Fatalf("user %s has uid %q and gid %q", u.Username, u.Uid, u.Gid)
	}
	if err := os.Chown(dir, int(uid), int(gid)); err != nil {
		t.Fatal(err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

// Start initializes a database cluster and starts its server, which stops with the test.
func Start(t *testing.T) Server {
	t.Helper()
	// t.TempDir's names are too long for a socket.
	dir, err := os.MkdirTemp("", "kw-pg")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	who := unprivileged(t, dir)
	data, secret := filepath.Join(dir, "data"), filepath.Join(dir, "password")
	if err := os.WriteFile(secret, []byte(Password+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	command := func(name string, args ...string) *exec.Cmd {
		c := exec.Command(program(t, name), args...)
		c.Dir, c.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
		c.SysProcAttr = &syscall.SysProcAttr{Credential: who, Pdeathsig: syscall.SIGQUIT}
		return c
	}
	runtime.LockOSThread() // Pdeathsig fires when the thread ends
	t.Cleanup(runtime.UnlockOSThread)
	if out, err := command("initdb", "-D", data, "-A", "scram-sha-256", "-U", Superuser, "--pwfile", secret, "-E", "UTF8", "--no-sync").CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	serve(t, command("postgres", "-D", data, "-k", dir, "-c", "listen_addresses=", "-c", "fsync=off", "-c", "shared_buffers=16MB"))
	return Server{dir}
}

// serve starts the server and waits until it accepts connections.
func serve(t *testing.T, c *exec.Cmd) {
	t.Helper()
	log, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGQUIT) // immediate shutdown: its data is not needed
		<-read
		_ = c.Wait()
	})
	said := strings.Builder{}
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		said.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), "ready to accept connections") {
			go func() {
				defer close(read)
				_, _ = io.Copy(io.Discard, log)
			}()
			return
		}
	}
	close(read)
	t.Fatalf("PostgreSQL exited before it accepted connections:\n%s", said.String())
}
