package pg_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/kubewright/kubewright/state/backend"
	"github.com/kubewright/kubewright/state/backend/pg"
)

func opened(t *testing.T, connect string) *pg.Backend {
	t.Helper()
	b, err := pg.New(backend.Settings{"conn_str": connect, "schema_name": "s", "name": "n"})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// curious returns a server without TLS that asks for the password in clear text. The channel
// delivers what it received, an empty text for nothing.
func curious(t *testing.T) (host, port string, got <-chan string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	passwords := make(chan string, 10)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { passwords <- ask(c) }()
		}
	}()
	host, port, err = net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return host, port, passwords
}

func ask(c net.Conn) string {
	defer c.Close()
	b := pgproto3.NewBackend(c, c)
	m, err := b.ReceiveStartupMessage()
	if _, encrypted := m.(*pgproto3.SSLRequest); encrypted {
		if _, err := c.Write([]byte("N")); err != nil {
			return ""
		}
		_, err = b.ReceiveStartupMessage()
	}
	if err != nil {
		return ""
	}
	b.Send(&pgproto3.AuthenticationCleartextPassword{})
	if b.Flush() != nil || b.SetAuthType(pgproto3.AuthTypeCleartextPassword) != nil {
		return ""
	}
	answer, err := b.Receive()
	if password, ok := answer.(*pgproto3.PasswordMessage); ok && err == nil {
		return password.Password
	}
	return ""
}

// TestPasswordIsNeverSentInClearText checks that a password is never sent in clear text without TLS, whatever the
// server asks for and the connection string says.
func TestPasswordIsNeverSentInClearText(t *testing.T) {
	t.Parallel()
	for name, more := range map[string]string{
		"as it is": "", "prefer": " sslmode=prefer", "allow": " sslmode=allow", "disable": " sslmode=disable",
		"wanted": " sslmode=disable require_auth=password", "wanted, with another": " sslmode=disable require_auth=password,scram-sha-256",
		"others not wanted": " sslmode=disable require_auth=!md5",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			host, port, got := curious(t)
			_, err := opened(t, fmt.Sprintf("host=%s port=%s user=ann password=top-secret dbname=d%s", host, port, more)).Read(t.Context())
			if password := <-got; password != "" || err == nil || strings.Contains(err.Error(), "top-secret") {
				t.Errorf("it got %q, error = %v", password, err)
			}
			if err != nil && !strings.Contains(err.Error(), "the server asks for the password in clear text over a connection without TLS, and did not get it: use sslmode=verify-full, or have the server ask for scram-sha-256 (pg_hba.conf)") {
				t.Errorf("error = %v", err)
			}
		})
	}
	host, port, got := curious(t)
	_, err := opened(t, fmt.Sprintf("host=%s port=%s user=ann password=top-secret dbname=d sslmode=require", host, port)).Read(t.Context())
	if password := <-got; password != "" || err == nil || !strings.Contains(err.Error(), "switch TLS on at the server (ssl = on); on a private network, sslmode=disable does without") {
		t.Errorf("it got %q, error = %v", password, err)
	}
}

// TestInsecureConnectionIsReportedOnce checks that exposed or unverified connections are reported once, when the database is
// first contacted.
func TestInsecureConnectionIsReportedOnce(t *testing.T) {
	t.Parallel()
	for connect, want := range map[string]string{
		"host=db.invalid user=ann dbname=d":                     "Database is not verified: The certificate of PostgreSQL at db.invalid:5432 is not checked",
		"host=db.invalid user=ann dbname=d sslmode=prefer":      "Database is not verified",
		"host=db.invalid user=ann dbname=d sslmode=disable":     "Database is used without encryption: The connection to PostgreSQL at db.invalid:5432 has no TLS (sslmode=disable)",
		"host=db.invalid user=ann dbname=d sslmode=verify-full": "",
		"host=127.0.0.1 port=1 user=ann dbname=d":               "",
		"host=/run/nowhere user=ann dbname=d":                   "",
	} {
		b, said := opened(t, connect), ""
		b.OnNote(func(n backend.Note) { said += n.Title + ": " + n.Text })
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for range 2 {
			_, _ = b.Read(ctx)
		}
		if (said == "") != (want == "") || !strings.HasPrefix(said, want) || strings.Count(said, "Database is") > 1 {
			t.Errorf("%s: %q", connect, said)
		}
	}
}

// TestPasswordIsConfinedToNamedServers checks that a password of this machine only goes to servers that this machine
// names.
func TestPasswordIsConfinedToNamedServers(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	exact, any := file("exact", "db.example.com:5432:d:ann:top-secret\n"), file("any", "*:*:*:*:top-secret\n")
	services := file("services", "[prod]\nhost=db.example.com\nuser=ann\ndbname=d\npassword=top-secret\n")
	sure := backend.Given{From: map[string]backend.Source{"conn_str": {By: "KUBEWRIGHT_PG_CONN_STR"}}}
	const one, evil = "host=db.example.com user=ann dbname=d", "host=evil.example.net user=ann dbname=d"
	for name, c := range map[string]struct {
		connect string
		env     map[string]string
		given   backend.Given
		want    string
	}{
		"no password":                       {evil, nil, backend.Given{}, ""},
		"its own password":                  {evil + " password=mine", map[string]string{"PGPASSWORD": "top-secret"}, backend.Given{}, ""},
		"the environment's string":          {evil, map[string]string{"PGPASSWORD": "top-secret"}, sure, ""},
		"a file's string":                   {evil, map[string]string{"PGPASSWORD": "top-secret"}, backend.Given{From: map[string]backend.Source{"conn_str": {By: "x", File: true}}}, "evil.example.net:5432"},
		"PGPASSWORD":                        {evil, map[string]string{"PGPASSWORD": "top-secret"}, backend.Given{}, "conn_str of the configuration alone names the server evil.example.net:5432, and anyone who changes the configuration could collect the password there. Nothing was sent; if that server is right, name it in the environment as well: PGHOST=evil.example.net PGPORT=5432"},
		"PGPASSWORD, an address":            {"postgres://ann@evil.example.net/d", map[string]string{"PGPASSWORD": "top-secret"}, backend.Given{}, "evil.example.net:5432"},
		"PGPASSWORD, a query":               {"postgres:///d?host=evil.example.net&user=ann", map[string]string{"PGPASSWORD": "top-secret"}, backend.Given{}, "evil.example.net:5432"},
		"PGPASSWORD, many":                  {"postgres://ann@db.example.com:5432,evil.example.net:5432/d", map[string]string{"PGPASSWORD": "top-secret", "PGHOST": "db.example.com"}, backend.Given{}, "evil.example.net:5432"},
		"PGPASSWORD, this machine":          {"host=127.0.0.1 port=5499 user=ann dbname=d", map[string]string{"PGPASSWORD": "top-secret"}, backend.Given{}, "127.0.0.1:5499"},
		"PGHOST names it":                   {one, map[string]string{"PGPASSWORD": "top-secret", "PGHOST": "db.example.com"}, backend.Given{}, ""},
		"PGHOST names another":              {evil, map[string]string{"PGPASSWORD": "top-secret", "PGHOST": "db.example.com"}, backend.Given{}, "evil.example.net:5432"},
		"PGHOST with another port":          {one + " port=5499", map[string]string{"PGPASSWORD": "top-secret", "PGHOST": "db.example.com"}, backend.Given{}, "db.example.com:5499"},
		"PGHOST alone":                      {"user=ann dbname=d", map[string]string{"PGPASSWORD": "top-secret", "PGHOST": "db.example.com"}, backend.Given{}, ""},
		"a port of PGHOST's":                {"port=5499 user=ann dbname=d", map[string]string{"PGPASSWORD": "top-secret", "PGHOST": "db.example.com"}, backend.Given{}, "db.example.com:5499"},
		"a line for the host":               {one, map[string]string{"PGPASSFILE": exact}, backend.Given{}, ""},
		"a line for another":                {evil, map[string]string{"PGPASSFILE": exact}, backend.Given{}, ""},
		"a line for any host":               {evil, map[string]string{"PGPASSFILE": any}, backend.Given{}, "evil.example.net:5432"},
		"a line for the first of two":       {"host=db.example.com,evil.example.net user=ann dbname=d", map[string]string{"PGPASSFILE": exact}, backend.Given{}, "evil.example.net:5432"},
		"a password file of its own":        {evil + " passfile=" + any, nil, backend.Given{}, "passfile of conn_str names a file with passwords, and anyone"},
		"a service":                         {"service=prod", map[string]string{"PGSERVICEFILE": services}, backend.Given{}, ""},
		"a service, and another server":     {"service=prod " + evil, map[string]string{"PGSERVICEFILE": services}, backend.Given{}, "conn_str names a service, which has a password, and a server"},
		"PGSERVICE, and another server":     {evil, map[string]string{"PGSERVICEFILE": services, "PGSERVICE": "prod"}, backend.Given{}, "evil.example.net:5432"},
		"a service in a file of its own":    {"service=prod servicefile=" + services, nil, backend.Given{}, "name that file in the environment, as PGSERVICEFILE"},
		"a service, written with an escape": {"postgres://evil.example.net/d?s%65rvice=prod", map[string]string{"PGSERVICEFILE": services}, backend.Given{}, "names a service"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, name := range []string{"PGHOST", "PGPORT", "PGPASSWORD", "PGSERVICE", "PGSERVICEFILE", "PGSSLMODE"} {
				t.Setenv(name, "")
			}
			t.Setenv("PGPASSFILE", filepath.Join(dir, "absent"))
			for name, value := range c.env {
				t.Setenv(name, value)
			}
			err := opened(t, c.connect).Confined(c.given)
			if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "top-secret")) {
				t.Errorf("error = %v, want %q", err, c.want)
			}
		})
	}
}
