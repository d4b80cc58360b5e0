// Package pg keeps a state as a row of PostgreSQL. Its lock is an advisory lock of a connection:
// the server frees it when the connection ends, for example with the process, so no stale lock
// remains. A table beside the states names the holder, for users.
//
// A write changes the row only if it still has the version that was read and, under a lock, only
// while the table names this run as the holder.
package pg

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/backend"
)

// Backend is a state in a database.
type Backend struct {
	config       *pgconn.Config
	connect      string
	schema, name string
	secrets      *state.Redactor
	backend.Notes
	// open holds the notes about data that is exposed on the network.
	open []backend.Note

	// mu guards the connection, which carries one statement at a time.
	mu   sync.Mutex
	conn *pgconn.PgConn
	held string
}

var _ backend.Backend = (*Backend)(nil)

// connectTime bounds connecting to the server.
const connectTime = 30 * time.Second

// maxName is the maximum length of a name in bytes (NAMEDATALEN in PostgreSQL's manual, less
// one). The server truncates longer names, so that two of them could collide.
const maxName = 63

// New returns the backend with these settings. It contacts nothing.
func New(s backend.Settings) (*Backend, error) {
	config, err := pgconn.ParseConfig(s["conn_str"])
	if err != nil || misread(s["conn_str"]) {
		// The library's error contains the string, and the string may contain a password.
		return nil, errors.New("conn_str of the backend \"pg\" cannot be understood: it is as in postgres://user@db.example.com/states, or host=/run/postgresql dbname=states; the password goes into PGPASSWORD or ~/.pgpass (in an address what is special in it would have to be written with %)")
	}
	if err := s.Need("pg", "schema_name", "name"); err != nil {
		return nil, err
	}
	if len(s["schema_name"]) > maxName {
		return nil, fmt.Errorf("schema_name of the backend \"pg\" has %d bytes, and PostgreSQL heeds the first %d only: give a shorter one", len(s["schema_name"]), maxName)
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectTime
	}
	config.RuntimeParams["application_name"] = "kubewright"
	config.MaxProtocolMessageBodyLen = backend.MaxState + maxRest
	secure(config)
	limit(config)
	return &Backend{
		config: config, connect: s["conn_str"], schema: s["schema_name"], name: s["name"], open: open(config),
		secrets: state.NewRedactor(backend.BasicSecrets(config.User, config.Password)),
	}, nil
}

// maxRest is the space for everything in a message except the state, with a margin, in bytes.
const maxRest = 1 << 20

// misread reports whether a /, ? or # in a password has ended the host of an address too early:
// user and password would be taken for host and port, which are shown.
func misread(connect string) bool {
	u, err := url.Parse(connect)
	switch {
	case err != nil || u.Host == "":
		return false
	case u.Fragment != "": // a fragment has no meaning for a database
		return true
	case u.User != nil:
		return false
	}
	query, _, at := strings.Cut(u.RawQuery, "@")
	return strings.Contains(u.Path, "@") || at && !strings.Contains(query, "=")
}

// String returns the row with its database.
func (b *Backend) String() string {
	return fmt.Sprintf("row %q of %s.states in database %s at %s", b.name, b.schema, cmp.Or(b.config.Database, b.config.User), net.JoinHostPort(b.config.Host, strconv.Itoa(int(b.config.Port))))
}

func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// sql fills in the schema.
func (b *Backend) sql(text string) string {
	return strings.ReplaceAll(text, "{schema}", quoted(b.schema))
}

// fail turns an error of the server into one with a remedy.
func (b *Backend) fail(ctx context.Context, op string, err error) error {
	e := &backend.Error{Op: op, Place: b.String(), Err: backend.Hide(backend.Cause(ctx, err), b.secrets), Remedy: remedy(err)}
	if server, ok := errors.AsType[*pgconn.PgError](err); ok {
		e.Err = backend.Hide(fmt.Errorf("%s (SQLSTATE %s)", server.Message, server.Code), b.secrets)
		switch {
		case strings.HasPrefix(server.Code, "28"), server.Code == insufficientPrivilege:
			e.Kind = backend.ErrRefused
			e.Remedy = "give a user that may make the schema " + b.schema + " or use it; the password goes into PGPASSWORD or ~/.pgpass"
		case server.Code == "3D000":
			e.Remedy = "make the database: createdb " + b.config.Database
		}
	}
	return e
}

// SQLSTATE codes (PostgreSQL's manual, appendix A).
const (
	insufficientPrivilege = "42501"
	undefinedTable        = "42P01"
	undefinedSchema       = "3F000"
	uniqueViolation       = "23505"
	duplicateSchema       = "42P06"
	duplicateTable        = "42P07"
	duplicateObject       = "42710" // the type of a table's rows
)

func code(err error) string {
	if server, ok := errors.AsType[*pgconn.PgError](err); ok {
		return server.Code
	}
	return ""
}

// exec runs one statement on the connection. It connects first if there is no connection, or if
// the existing one is broken.
func (b *Backend) exec(ctx context.Context, text string, args ...any) (rows, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.conn != nil && ping(ctx, b.conn) != nil { // the server has ended it, or was restarted
		_ = b.conn.Close(ctx)
		b.conn = nil
	}
	if b.conn == nil {
		conn, err := b.dial(ctx)
		if err != nil {
			return nil, err
		}
		b.conn = conn
	}
	return run(ctx, b.conn, b.sql(text), args...)
}

// ensure creates schema and tables. Several runs may do so at once, and a user without the
// privilege to create them uses the existing ones.
func (b *Backend) ensure(ctx context.Context) error {
	var refused error
	for _, text := range []string{
		`CREATE SCHEMA IF NOT EXISTS {schema}`,
		`CREATE TABLE IF NOT EXISTS {schema}.states (name text PRIMARY KEY, version bigint NOT NULL, lineage text NOT NULL, serial bigint NOT NULL, written timestamptz NOT NULL DEFAULT now(), data bytea NOT NULL)`,
		`CREATE TABLE IF NOT EXISTS {schema}.locks (name text PRIMARY KEY, run text NOT NULL, info text NOT NULL)`,
	} {
		_, err := b.exec(ctx, text)
		switch code(err) {
		case uniqueViolation, duplicateSchema, duplicateTable, duplicateObject:
		case insufficientPrivilege:
			refused = cmp.Or(refused, err)
		case undefinedSchema: // the user may not create it
			return cmp.Or(refused, err)
		default:
			if err != nil {
				return err
			}
		}
	}
	if refused == nil {
		return nil
	}
	if _, err := b.exec(ctx, `SELECT 1 FROM {schema}.states, {schema}.locks LIMIT 0`); err != nil {
		return refused
	}
	return nil
}

// Read implements backend.Backend.
func (b *Backend) Read(ctx context.Context) (*backend.Object, error) {
	found, err := b.exec(ctx, `SELECT data, version::text FROM {schema}.states WHERE name = $1`, b.name)
	if c := code(err); c == undefinedTable || c == undefinedSchema {
		return nil, nil
	}
	if errors.As(err, new(*pgproto3.ExceededMaxBodyLenErr)) || errors.Is(err, errTooMuch) {
		return nil, backend.TooLarge("read state", b.String())
	}
	if err == nil && len(found) == 0 {
		return nil, nil
	}
	row, err := single(found, err, 2)
	if err != nil {
		return nil, b.fail(ctx, "read state", err)
	}
	if len(row[0]) > backend.MaxState {
		return nil, backend.TooLarge("read state", b.String())
	}
	return &backend.Object{Data: row[0], Version: string(row[1])}, nil
}

// Write implements backend.Backend.
func (b *Backend) Write(ctx context.Context, old *backend.Object, next backend.Object) error {
	const op = "write state"
	if err := b.ensure(ctx); err != nil {
		return b.fail(ctx, op, err)
	}
	b.mu.Lock()
	held := b.held
	b.mu.Unlock()
	// A version is never used twice, even if a row was removed and recreated.
	const mine = ` ($5 = '' OR EXISTS (SELECT 1 FROM {schema}.locks WHERE name = $1 AND run = $5)) `
	args := []any{b.name, next.Lineage, next.Serial, next.Data, held}
	text := `INSERT INTO {schema}.states (name, version, lineage, serial, data)
		SELECT $1::text, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, $2::text, $3::bigint, $4::bytea WHERE` + mine + `ON CONFLICT DO NOTHING RETURNING name`
	if old != nil {
		text = `UPDATE {schema}.states SET version = version + 1, lineage = $2, serial = $3, data = $4, written = now()
			WHERE name = $1 AND version = $6::bigint AND` + mine + `RETURNING name`
		args = append(args, old.Version)
	}
	done, err := b.exec(ctx, text, args...)
	if err != nil {
		return b.fail(ctx, op, err)
	}
	if len(done) == 1 {
		return nil
	}
	if held != "" {
		holder, err := b.Holder(ctx)
		if err != nil {
			return err
		}
		if holder == nil || holder.ID != held {
			return backend.Lost(b.String(), holder)
		}
	}
	return backend.Moved(b.String())
}

// key returns the number of the advisory lock, the same for all runs that use this row.
func (b *Backend) key() int64 {
	sum := sha256.Sum256([]byte("kubewright\x00" + b.schema + "\x00" + b.name))
	return int64(binary.BigEndian.Uint64(sum[:8]))
}
