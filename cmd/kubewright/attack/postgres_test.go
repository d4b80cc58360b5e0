package attack

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

// databasePassword is the operator's password for PostgreSQL.
const databasePassword = "the-password-of-the-database"

// database is a PostgreSQL server that keeps one state. A statement that intercept answers does
// not reach the database.
type database struct {
	intercept func(b *pgproto3.Backend, sql string) bool
	// greets answers a login instead of the database.
	greets func(b *pgproto3.Backend)
	// encrypts is its TLS configuration; nil refuses TLS.
	encrypts *tls.Config

	mu    sync.Mutex
	state []byte
	// run is the holder of the lock, info the lock's description.
	run, info string
	// told are the passwords that clients have sent to the server.
	told []string
}

// start serves until the attack ends, and returns the address.
func (d *database) start(a *arena) *net.TCPAddr {
	a.Helper()
	return a.accept(d.serve)
}

// login accepts a client, and returns the connection, which may be encrypted by then.
func (d *database) login(c net.Conn) (net.Conn, *pgproto3.Backend) {
	b := pgproto3.NewBackend(c, c)
	m, err := b.ReceiveStartupMessage()
	if _, asks := m.(*pgproto3.SSLRequest); asks && err == nil {
		if d.encrypts == nil {
			_, _ = c.Write([]byte("N"))
		} else {
			_, _ = c.Write([]byte("S"))
			c = tls.Server(c, d.encrypts)
			b = pgproto3.NewBackend(c, c)
		}
		_, err = b.ReceiveStartupMessage()
	}
	if err != nil {
		return c, nil
	}
	if d.greets != nil {
		d.greets(b)
		return c, nil
	}
	b.Send(&pgproto3.AuthenticationOk{})
	b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	return c, b
}

// asksPassword requests the password in plain text, and records it.
func (d *database) asksPassword(b *pgproto3.Backend) {
	b.Send(&pgproto3.AuthenticationCleartextPassword{})
	if b.Flush() != nil || b.SetAuthType(pgproto3.AuthTypeCleartextPassword) != nil {
		return
	}
	if m, err := b.Receive(); err == nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.told = append(d.told, fmt.Sprintf("%+v", m))
	}
}

func (d *database) serve(c net.Conn) {
	c, b := d.login(c)
	defer func() { _ = c.Close() }()
	if b == nil {
		return
	}
	sql, values := "", [][]byte(nil)
	for b.Flush() == nil {
		m, err := b.Receive()
		if err != nil {
			return
		}
		switch m := m.(type) {
		case *pgproto3.Query: // a liveness check of the client
			b.Send(&pgproto3.EmptyQueryResponse{})
			b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
		case *pgproto3.Parse:
			sql = m.Query
		case *pgproto3.Bind:
			values = values[:0]
			for _, v := range m.Parameters {
				values = append(values, bytes.Clone(v))
			}
		case *pgproto3.Sync:
			b.Send(&pgproto3.ParseComplete{})
			b.Send(&pgproto3.BindComplete{})
			if d.intercept == nil || !d.intercept(b, sql) {
				d.answer(b, sql, values)
			}
			b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
		}
	}
}

// answer executes one of the backend's statements.
func (d *database) answer(b *pgproto3.Backend, sql string, values [][]byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	done := func() {
		b.Send(&pgproto3.NoData{})
		b.Send(&pgproto3.CommandComplete{CommandTag: []byte("OK")})
	}
	switch {
	case strings.HasPrefix(sql, "SELECT data") && d.state != nil:
		sendRows(b, [][]byte{d.state, []byte("1")})
	case strings.HasPrefix(sql, "SELECT data"):
		sendRows(b)
	case strings.HasPrefix(sql, "SELECT pg_try_advisory_lock"), strings.HasPrefix(sql, "SELECT pg_advisory_unlock"):
		sendRows(b, [][]byte{[]byte("true")})
	case strings.HasPrefix(sql, `INSERT INTO "s".locks`):
		d.run, d.info = string(values[1]), string(values[2])
		done()
	case strings.HasPrefix(sql, "SELECT 1 FROM") && len(values) > 1 && d.run == string(values[1]):
		sendRows(b, [][]byte{[]byte("1")})
	case strings.HasPrefix(sql, "INSERT"), strings.HasPrefix(sql, "UPDATE"):
		d.state = values[3]
		sendRows(b, [][]byte{values[0]})
	case strings.HasPrefix(sql, "SELECT pid") && d.run != "":
		sendRows(b, [][]byte{[]byte("7")})
	case strings.HasPrefix(sql, "SELECT info"):
		sendRows(b, [][]byte{[]byte(d.info)})
	case strings.HasPrefix(sql, "SELECT"):
		sendRows(b)
	case strings.HasPrefix(sql, "DELETE"):
		d.run = ""
		done()
	default:
		done()
	}
}

// sendRows answers a statement.
func sendRows(b *pgproto3.Backend, all ...[][]byte) {
	columns := 1
	if len(all) > 0 {
		columns = len(all[0])
	}
	fields := make([]pgproto3.FieldDescription, columns)
	for i := range fields {
		fields[i].Name = []byte("c")
	}
	b.Send(&pgproto3.RowDescription{Fields: fields})
	for _, values := range all {
		b.Send(&pgproto3.DataRow{Values: values})
	}
	b.Send(&pgproto3.CommandComplete{CommandTag: []byte("OK")})
}

// kept configures simulated hosts with a state in the database.
func (d *database) kept(a *arena, more string) {
	a.Helper()
	at := d.start(a)
	a.write("main.hcl", fmt.Sprintf("kubewright {\n  backend \"pg\" {\n    conn_str = \"host=127.0.0.1 port=%d user=ann dbname=states %s\"\n    schema_name = \"s\"\n    name = \"n\"\n  }\n}\n", at.Port, more)+simulated)
	a.Cleanup(func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if told := strings.Join(d.told, " "); strings.Contains(told, databasePassword) {
			a.Errorf("the server received the password: %s", told)
		}
	})
}

// plain disables TLS in a connection string.
const plain = "sslmode=disable"

// onStatement returns an intercept that answers the statements with a prefix.
func onStatement(prefix string, answer func(b *pgproto3.Backend)) func(*pgproto3.Backend, string) bool {
	return func(b *pgproto3.Backend, sql string) bool {
		if !strings.HasPrefix(sql, prefix) {
			return false
		}
		answer(b)
		return true
	}
}

// repeated sends a message until the client closes the connection.
func repeated(m pgproto3.BackendMessage) func(*pgproto3.Backend) {
	return func(b *pgproto3.Backend) {
		b.Send(&pgproto3.RowDescription{Fields: []pgproto3.FieldDescription{{Name: []byte("a")}, {Name: []byte("b")}}})
		for b.Flush() == nil {
			b.Send(m)
		}
	}
}

// fromDatabase returns an attack by a database. It holds if the command ends with an error.
func fromDatabase(name, more string, d *database, args ...string) attack {
	return attack{name: name, run: func(a *arena) {
		a.memory = 512 << 20
		d.kept(a, more)
		a.refused(a.kubewright(args...))
	}}
}

// collects returns an attack by a server that tries to get the operator's password.
func collects(name, more string, env ...string) attack {
	return attack{name: name, run: func(a *arena) {
		d := &database{}
		d.greets = d.asksPassword
		if strings.Contains(more, "verify") {
			cert, key := newAuthority(a).issue(a, pkix.Name{CommonName: "db"}, x509.ExtKeyUsageServerAuth)
			pair, err := tls.X509KeyPair(cert, key)
			a.must(err)
			d.encrypts = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
		}
		d.kept(a, more)
		a.env = append(a.env, env...)
		a.env = append(a.env, "KUBEWRIGHT_LOG=trace", "KUBEWRIGHT_LOG_PATH="+a.path("log"))
		o := a.kubewright("plan", "-input=false")
		a.refused(o)
		log, _ := os.ReadFile(a.path("log"))
		if strings.Contains(o.text()+string(log), databasePassword) {
			a.Error("the output or the log contains the password")
		}
	}}
}

// taken answers like a database whose lock another run has acquired meanwhile.
func taken(b *pgproto3.Backend, sql string) bool {
	return onStatement(`INSERT INTO "s".states`, func(b *pgproto3.Backend) { sendRows(b) })(b, sql) ||
		onStatement("SELECT info", func(b *pgproto3.Backend) { sendRows(b, [][]byte{[]byte(`{"ID":"another"}`)}) })(b, sql)
}

func databaseAttacks() []attack {
	plan, apply := []string{"plan", "-input=false"}, []string{"apply", "-auto-approve"}
	read := func(answer func(*pgproto3.Backend)) *database {
		return &database{intercept: onStatement("SELECT data", answer)}
	}
	rows := func(all ...[][]byte) func(*pgproto3.Backend) {
		return func(b *pgproto3.Backend) { sendRows(b, all...) }
	}
	fails := func(text string) func(*pgproto3.Backend) {
		return func(b *pgproto3.Backend) {
			b.Send(&pgproto3.ErrorResponse{Severity: "ERROR", Code: "XX000", Message: text})
		}
	}
	const given = " password=" + databasePassword
	out := []attack{
		collects("password of the environment", plain, "PGPASSWORD="+databasePassword),
		fromDatabase("row without columns", plain, read(rows([][]byte{})), plan...),
	}
	more := []attack{
		fromDatabase("rows without end", plain, read(repeated(&pgproto3.DataRow{Values: [][]byte{{}, {}}})), plan...),
		fromDatabase("lock of another", plain, &database{intercept: taken}, apply...),
		collects("password in clear text, no TLS", plain+given),
		collects("password in clear text, preferred TLS", "sslmode=prefer"+given),
		collects("password in clear text, by request", "sslmode=disable require_auth=password"+given),
		collects("password over unverified TLS", "sslmode=verify-full"+given),
		collects("password without the TLS that is wanted", "sslmode=require"+given),
		fromDatabase("row of one column", plain, read(rows([][]byte{{}})), plan...),
		fromDatabase("two rows", plain, read(rows([][]byte{{}, {}}, [][]byte{{}, {}})), plan...),
		fromDatabase("state of garbage", plain, read(rows([][]byte{[]byte("\x1b[2J::error::x\n"), []byte("1")})), plan...),
		fromDatabase("state of a later version", plain, read(rows([][]byte{[]byte(`{"format_version": 99, "lineage": "x"}`), []byte("1")})), plan...),
		fromDatabase("state of 70 MiB", plain, read(rows([][]byte{make([]byte, 70<<20), []byte("1")})), plan...),
		fromDatabase("large rows without end", plain, read(repeated(&pgproto3.DataRow{Values: [][]byte{make([]byte, 1<<20), {}}})), plan...),
		fromDatabase("notices without end", plain, read(repeated(&pgproto3.NoticeResponse{Message: strings.Repeat("n", 1<<20)})), plan...),
		fromDatabase("settings without end", plain, read(repeated(&pgproto3.ParameterStatus{Name: strings.Repeat("n", 1<<20)})), plan...),
		fromDatabase("settings without end at login", plain, &database{greets: repeated(&pgproto3.ParameterStatus{Name: "n", Value: strings.Repeat("n", 1<<20)})}, plan...),
		fromDatabase("error with escapes", plain, read(fails(noise)), plan...),
		fromDatabase("error of a megabyte", plain, read(fails(strings.Repeat("\x1b[2J", 1<<18))), plan...),
		fromDatabase("lock without an answer", plain, &database{intercept: onStatement("SELECT pg_try", rows())}, apply...),
		fromDatabase("lock without columns", plain, &database{intercept: onStatement("SELECT pg_try", rows([][]byte{}))}, apply...),
		fromDatabase("lock held by escapes", plain, &database{run: "x", info: `{"ID":"\u001b[2J","Who":"\u202e::error::x"}`, intercept: onStatement("SELECT pg_try", rows([][]byte{[]byte("false")}))}, apply...),
		fromDatabase("lock without a holder", plain, &database{intercept: onStatement("SELECT pg_try", rows([][]byte{[]byte("false")}))}, apply...),
		fromDatabase("does not store", plain, &database{intercept: onStatement("INSERT INTO \"s\".states", rows([][]byte{[]byte("n")}))}, apply...),
		fromDatabase("refuses to store", plain, &database{intercept: onStatement("INSERT INTO \"s\".states", rows())}, apply...),
		inTime(10*time.Minute, fromDatabase("silent", plain, read(func(*pgproto3.Backend) { time.Sleep(9 * time.Minute) }), plan...)),
		inTime(10*time.Minute, fromDatabase("silent at login", plain, &database{greets: func(*pgproto3.Backend) { time.Sleep(9 * time.Minute) }}, plan...)),
		inTime(10*time.Minute, fromDatabase("a notice at a time", plain, read(func(b *pgproto3.Backend) {
			for b.Flush() == nil {
				b.Send(&pgproto3.NoticeResponse{Message: "n"})
				time.Sleep(time.Second)
			}
		}), plan...)),
	}
	for i := range more {
		more[i].long = true
	}
	return append(out, more...)
}
