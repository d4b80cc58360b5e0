//go:build e2e

package pg_test

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/kubewright/kubewright/state/backend"
	"github.com/kubewright/kubewright/state/backend/backendtest"
	"github.com/kubewright/kubewright/state/backend/pg"
	"github.com/kubewright/kubewright/state/backend/pg/pgtest"
)

func open(t *testing.T, s backend.Settings) *pg.Backend {
	t.Helper()
	b, err := pg.New(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// sql runs statements without the backend, as the database's operator would.
func sql(t *testing.T, s pgtest.Server, text string) {
	t.Helper()
	conn, err := pgconn.Connect(t.Context(), s.Connect(pgtest.Superuser, pgtest.Password, "postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), text).ReadAll(); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

func TestPostgreSQL(t *testing.T) {
	s := pgtest.Start(t)
	for name, test := range map[string]func(*testing.T, pgtest.Server){
		"conformance": testConformance, "a connection that is cut": testCut, "a connection that is ended": testEnded, "a process that is gone": testGone,
		"a user with few rights": testFewRights, "refusals": testRefusals, "two rows": testTwoRows,
	} {
		t.Run(name, func(t *testing.T) { test(t, s) })
	}
}

func testConformance(t *testing.T, s pgtest.Server) {
	places := atomic.Int64{}
	backendtest.Test(t, backendtest.Options{New: func(t *testing.T) func() backend.Backend {
		schema := fmt.Sprintf(`States "of" place %d`, places.Add(1))
		return func() backend.Backend { return open(t, s.Settings(schema)) }
	}})
}

// testEnded checks that a new connection is made if the server has ended an idle one.
func testEnded(t *testing.T, s pgtest.Server) {
	b := open(t, s.Settings("ended"))
	if err := b.Write(t.Context(), nil, backend.Object{Data: []byte("one")}); err != nil {
		t.Fatal(err)
	}
	sql(t, s, `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'kubewright'`)
	if o, err := b.Read(t.Context()); err != nil || string(o.Data) != "one" {
		t.Errorf("%+v, %v", o, err)
	}
}

const cut = `SELECT pg_terminate_backend(pid, 5000) FROM pg_locks WHERE locktype = 'advisory'`

// testCut checks that a lock whose connection was cut is taken again, unless another run was
// faster.
func testCut(t *testing.T, s pgtest.Server) {
	ann, bob := open(t, s.Settings("cut")), open(t, s.Settings("cut"))
	held, err := ann.Lock(t.Context(), backendtest.Info("r1"))
	if err != nil {
		t.Fatal(err)
	}
	sql(t, s, cut)
	if err := held.Confirm(t.Context()); err != nil {
		t.Errorf("no other run came: %v", err)
	}
	if _, err := bob.Lock(t.Context(), backendtest.Info("r2")); !errors.Is(err, backend.ErrLocked) {
		t.Errorf("a lock that was taken again: error = %v", err)
	}
	sql(t, s, cut)
	other, err := bob.Lock(t.Context(), backendtest.Info("r2"))
	if err != nil {
		t.Fatal(err)
	}
	if err := held.Confirm(t.Context()); !errors.Is(err, backend.ErrLost) || !strings.Contains(err.Error(), "r2") {
		t.Errorf("another run came: error = %v", err)
	}
	if err := ann.Write(t.Context(), nil, backend.Object{Data: []byte("late")}); !errors.Is(err, backend.ErrLost) {
		t.Errorf("a write after the lock was lost: error = %v", err)
	}
	if err := errors.Join(held.Release(t.Context()), other.Confirm(t.Context()), other.Release(t.Context())); err != nil {
		t.Error(err)
	}
}

// testGone checks that the row that a killed run leaves in the table blocks no other run.
func testGone(t *testing.T, s pgtest.Server) {
	gone, bob := open(t, s.Settings("gone")), open(t, s.Settings("gone"))
	if _, err := gone.Lock(t.Context(), backendtest.Info("r1")); err != nil {
		t.Fatal(err)
	}
	sql(t, s, cut)
	if holder, err := bob.Holder(t.Context()); holder != nil || err != nil {
		t.Errorf("holder: %+v, %v", holder, err)
	}
	held, err := bob.Lock(t.Context(), backendtest.Info("r2"))
	if err != nil {
		t.Fatal(err)
	}
	if err := held.Release(t.Context()); err != nil {
		t.Error(err)
	}
}

// testFewRights checks that a user that may not create schemas uses an existing one, with or
// without tables.
func testFewRights(t *testing.T, s pgtest.Server) {
	sql(t, s, `CREATE ROLE tenant LOGIN PASSWORD 'a-secret'; CREATE SCHEMA tenant AUTHORIZATION tenant; CREATE SCHEMA others`)
	settings := s.Settings("tenant")
	settings["conn_str"] = s.Connect("tenant", "a-secret", "postgres")
	b := open(t, settings)
	held, err := b.Lock(t.Context(), backendtest.Info("r1"))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Write(t.Context(), nil, backend.Object{Data: []byte("one")}); err != nil {
		t.Error(err)
	}
	if err := held.Release(t.Context()); err != nil {
		t.Error(err)
	}
	settings["schema_name"] = "others"
	err = open(t, settings).Write(t.Context(), nil, backend.Object{Data: []byte("one")})
	if !errors.Is(err, backend.ErrRefused) || !strings.Contains(err.Error(), "others") {
		t.Errorf("the schema of others: error = %v", err)
	}
}

// testRefusals checks that each refusal says what to do, and contains no password.
func testRefusals(t *testing.T, s pgtest.Server) {
	for name, c := range map[string]struct {
		connect string
		kind    error
		want    string
	}{
		"wrong password": {s.Connect(pgtest.Superuser, "a-wrong-secret", "postgres"), backend.ErrRefused, "give a user that may make the schema refusals or use it; the password goes into PGPASSWORD or ~/.pgpass"},
		"no database":    {s.Connect(pgtest.Superuser, pgtest.Password, "states"), nil, "make the database: createdb states"},
		"unreachable":    {"host=" + s.Dir + "/none user=ann password=a-secret", nil, "can be reached"},
	} {
		settings := s.Settings("refusals")
		settings["conn_str"] = c.connect
		b := open(t, settings)
		_, readErr := b.Read(t.Context())
		_, lockErr := b.Lock(t.Context(), backendtest.Info("r1"))
		for _, err := range []error{readErr, lockErr, b.Write(t.Context(), nil, backend.Object{Data: []byte("one")})} {
			if err == nil || !strings.Contains(err.Error(), c.want) || c.kind != nil && !errors.Is(err, c.kind) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s: error = %v, want one with %q", name, err, c.want)
			}
		}
	}
	if _, err := pg.New(backend.Settings{"conn_str": "postgres://ann:a-secret@db:port/x", "schema_name": "s", "name": "n"}); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("an invalid connection string: error = %v", err)
	}
}

// TestLongSchemaNameIsRefused checks that a long schema name is refused: PostgreSQL would truncate it, so two
// states would share one row under different locks.
func TestLongSchemaNameIsRefused(t *testing.T) {
	s := backend.Settings{"conn_str": "host=/run/postgresql", "name": "n", "schema_name": strings.Repeat("s", 63)}
	open(t, s)
	s["schema_name"] += "s"
	if _, err := pg.New(s); err == nil || !strings.Contains(err.Error(), "64 bytes") {
		t.Errorf("error = %v", err)
	}
}

// testTwoRows checks that two states in one schema are independent, and so are their locks.
func testTwoRows(t *testing.T, s pgtest.Server) {
	prod, staging := s.Settings("rows"), s.Settings("rows")
	staging["name"] = "staging"
	for _, settings := range []backend.Settings{prod, staging} {
		b := open(t, settings)
		held, err := b.Lock(t.Context(), backendtest.Info(settings["name"]))
		if err != nil {
			t.Fatal(err)
		}
		defer held.Release(t.Context())
		if err := b.Write(t.Context(), nil, backend.Object{Data: []byte(settings["name"])}); err != nil {
			t.Error(err)
		}
	}
	for _, settings := range []backend.Settings{prod, staging} {
		if o, err := open(t, settings).Read(t.Context()); err != nil || o == nil || string(o.Data) != settings["name"] {
			t.Errorf("%s: %+v, %v", settings["name"], o, err)
		}
	}
}
