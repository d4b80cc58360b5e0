package pg

import (
	"bytes"
	"context"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/kubewright/kubewright/state/backend"
)

// piped returns a backend whose server answers each statement with a function.
func piped(t *testing.T, answer func(b *pgproto3.Backend, sql string)) *Backend {
	t.Helper()
	b, err := New(backend.Settings{"conn_str": "host=127.0.0.1 user=ann dbname=d sslmode=disable", "schema_name": "s", "name": "n"})
	if err != nil {
		t.Fatal(err)
	}
	b.config.LookupFunc = func(context.Context, string) ([]string, error) { return []string{"127.0.0.1"}, nil }
	b.config.DialFunc = func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go serve(server, answer)
		return client, nil
	}
	limit(b.config)
	return b
}

func serve(c net.Conn, answer func(b *pgproto3.Backend, sql string)) {
	defer c.Close()
	b := pgproto3.NewBackend(c, c)
	if _, err := b.ReceiveStartupMessage(); err != nil {
		return
	}
	b.Send(&pgproto3.AuthenticationOk{})
	b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	sql := ""
	for b.Flush() == nil {
		m, err := b.Receive()
		if err != nil {
			return
		}
		switch m := m.(type) {
		case *pgproto3.Query: // the liveness check
			b.Send(&pgproto3.EmptyQueryResponse{})
			b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
		case *pgproto3.Parse:
			sql = m.Query
		case *pgproto3.Sync:
			b.Send(&pgproto3.ParseComplete{})
			b.Send(&pgproto3.BindComplete{})
			answer(b, sql)
			b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
		}
	}
}

// row sends an answer of one row with these values.
func row(b *pgproto3.Backend, values ...[]byte) {
	fields := make([]pgproto3.FieldDescription, len(values))
	for i := range fields {
		fields[i].Name = []byte("c")
	}
	b.Send(&pgproto3.RowDescription{Fields: fields})
	b.Send(&pgproto3.DataRow{Values: values})
	b.Send(&pgproto3.CommandComplete{CommandTag: []byte("SELECT 1")})
}

// TestHostileServerIsLimited checks that every call fails with a clear error, within the time and memory
// limits of a statement, whatever the server answers.
func TestHostileServerIsLimited(t *testing.T) {
	t.Parallel()
	const odd = "the server's answer is not that of PostgreSQL to this statement"
	many := bytes.Repeat([]byte("x"), 1<<20)
	for name, c := range map[string]struct {
		answer func(b *pgproto3.Backend, sql string)
		want   string
	}{
		"no columns":           {func(b *pgproto3.Backend, _ string) { row(b) }, odd},
		"one column":           {func(b *pgproto3.Backend, sql string) { columns(b, sql, 1) }, odd},
		"three columns":        {func(b *pgproto3.Backend, _ string) { row(b, nil, nil, nil) }, odd},
		"two rows":             {twoRows, odd},
		"rows without end":     {endless(&pgproto3.DataRow{Values: [][]byte{{}, {}}}), odd},
		"notices without end":  {endless(&pgproto3.NoticeResponse{Message: string(many)}), "more than 64 MiB"},
		"settings without end": {endless(&pgproto3.ParameterStatus{Name: string(many), Value: "x"}), "more than 64 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answers(t, piped(t, c.answer), c.want)
		})
	}
}

// TestSilentServerFailsStatement checks that a statement fails if its server does not answer in time.
func TestSilentServerFailsStatement(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan struct{})
		answers(t, piped(t, func(*pgproto3.Backend, string) { <-ended }), "the server has not answered within 2m0s")
		close(ended)
		time.Sleep(time.Minute) // until the library has closed the abandoned connection
	})
}

func answers(t *testing.T, b *Backend, want string) {
	t.Helper()
	_, err := b.Read(t.Context())
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("reading: error = %v, want one with %q", err, want)
	}
	if _, err := b.Lock(t.Context(), backend.LockInfo{ID: "r1"}); err == nil {
		t.Error("a lock was taken")
	}
}

// columns answers statements that return rows with n columns.
func columns(b *pgproto3.Backend, sql string, n int) {
	if strings.HasPrefix(sql, "SELECT") {
		row(b, make([][]byte, n)...)
		return
	}
	b.Send(&pgproto3.NoData{})
	b.Send(&pgproto3.CommandComplete{CommandTag: []byte("OK")})
}

func twoRows(b *pgproto3.Backend, _ string) {
	b.Send(&pgproto3.RowDescription{Fields: []pgproto3.FieldDescription{{Name: []byte("a")}, {Name: []byte("b")}}})
	for range 2 {
		b.Send(&pgproto3.DataRow{Values: [][]byte{{}, {}}})
	}
	b.Send(&pgproto3.CommandComplete{CommandTag: []byte("SELECT 2")})
}

// endless returns an answer that repeats a message until the client closes the connection.
func endless(m pgproto3.BackendMessage) func(*pgproto3.Backend, string) {
	return func(b *pgproto3.Backend, _ string) {
		b.Send(&pgproto3.RowDescription{Fields: []pgproto3.FieldDescription{{Name: []byte("a")}, {Name: []byte("b")}}})
		for b.Flush() == nil {
			b.Send(m)
		}
	}
}
