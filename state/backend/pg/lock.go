package pg

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/kubewright/kubewright/state/backend"
)

// lock has a connection of its own: the server frees the lock when it ends.
type lock struct {
	b    *Backend
	info backend.LockInfo

	mu   sync.Mutex
	conn *pgconn.PgConn
}

func (b *Backend) locked(holder *backend.LockInfo) error {
	e := &backend.LockedError{Path: "the lock of " + b.String(), Remote: true}
	if holder != nil {
		e.Info = *holder
	}
	return e
}

// Lock implements backend.Backend.
func (b *Backend) Lock(ctx context.Context, info backend.LockInfo) (backend.Lock, error) {
	const op = "lock state"
	if err := b.ensure(ctx); err != nil {
		return nil, b.fail(ctx, op, err)
	}
	conn, free, err := b.take(ctx)
	if err != nil {
		return nil, b.fail(ctx, op, err)
	}
	if !free {
		holder, err := b.Holder(ctx)
		if err != nil {
			return nil, err
		}
		return nil, b.locked(holder)
	}
	text, err := json.Marshal(info)
	if err == nil {
		_, err = run(ctx, conn, b.sql(`INSERT INTO {schema}.locks (name, run, info) VALUES ($1, $2, $3) ON CONFLICT (name) DO UPDATE SET run = $2, info = $3`), b.name, info.ID, string(text))
	}
	if err != nil {
		_ = conn.Close(ctx)
		return nil, b.fail(ctx, op, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held = info.ID
	return &lock{b: b, info: info, conn: conn}, nil
}

// take tries to take the advisory lock on a new connection. Without the lock it returns no
// connection.
func (b *Backend) take(ctx context.Context) (*pgconn.PgConn, bool, error) {
	conn, err := b.dial(ctx)
	if err != nil {
		return nil, false, err
	}
	found, err := run(ctx, conn, `SELECT pg_try_advisory_lock($1::bigint)::text`, b.key())
	got, err := single(found, err, 1)
	if err == nil && string(got[0]) == "true" {
		return conn, true, nil
	}
	_ = conn.Close(ctx)
	return nil, false, err
}

// session returns the server process that holds the lock; empty when it is free.
func (b *Backend) session(ctx context.Context) (string, error) {
	found, err := b.exec(ctx, `SELECT pid::text FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1
		AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
		AND ((classid::bigint << 32) | objid::bigint) = $1::bigint`, b.key())
	if err != nil || len(found) == 0 {
		return "", err
	}
	pid, err := single(found, nil, 1)
	if err != nil {
		return "", err
	}
	return string(pid[0]), nil
}

// Holder implements backend.Backend.
func (b *Backend) Holder(ctx context.Context) (*backend.LockInfo, error) {
	const op = "read the lock"
	pid, err := b.session(ctx)
	if err != nil {
		return nil, b.fail(ctx, op, err)
	}
	if pid == "" {
		return nil, nil
	}
	info := &backend.LockInfo{}
	found, err := b.exec(ctx, `SELECT info FROM {schema}.locks WHERE name = $1`, b.name)
	if err != nil {
		return nil, b.fail(ctx, op, err)
	}
	if said, err := single(found, nil, 1); err == nil {
		_ = json.Unmarshal(said[0], info) // unreadable info leaves the holder unnamed
	}
	info.Certain = true
	return info, nil
}

// endTime is how long the server may take to end a session, in milliseconds.
const endTime = "5000"

// ForceUnlock implements backend.Backend: it ends the holder's connection.
func (b *Backend) ForceUnlock(ctx context.Context, id string) error {
	holder, err := b.Holder(ctx)
	if err != nil || holder == nil {
		return err
	}
	if holder.ID != id {
		return b.locked(holder)
	}
	if _, err = b.exec(ctx, `DELETE FROM {schema}.locks WHERE name = $1 AND run = $2`, b.name, id); err == nil {
		var pid string
		if pid, err = b.session(ctx); err == nil && pid != "" {
			_, err = b.exec(ctx, `SELECT pg_terminate_backend($1::int, `+endTime+`)`, pid)
		}
	}
	if err != nil {
		return b.fail(ctx, "unlock state", err)
	}
	return nil
}

// Confirm implements backend.Lock. After a server restart or a broken connection it takes the
// lock again, if no other run had it meanwhile.
func (l *lock) Confirm(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	const mine = `SELECT 1 FROM {schema}.locks WHERE name = $1 AND run = $2`
	var found rows
	var err error
	if l.conn != nil && !l.conn.IsClosed() {
		if found, err = run(ctx, l.conn, l.b.sql(mine), l.b.name, l.info.ID); err == nil && len(found) == 1 {
			return nil
		}
		_ = l.conn.Close(ctx)
	}
	conn, free, err := l.b.take(ctx)
	if err != nil {
		return l.b.fail(ctx, "read the lock", err)
	}
	if !free {
		holder, err := l.b.Holder(ctx)
		if err != nil {
			return err
		}
		return backend.Lost(l.b.String(), holder)
	}
	found, err = run(ctx, conn, l.b.sql(mine), l.b.name, l.info.ID)
	if err == nil && len(found) == 1 {
		l.conn = conn
		return nil
	}
	_ = conn.Close(ctx)
	if err != nil {
		return l.b.fail(ctx, "read the lock", err)
	}
	return backend.Lost(l.b.String(), nil)
}

// Release implements backend.Lock.
func (l *lock) Release(ctx context.Context) error {
	l.b.mu.Lock()
	l.b.held = ""
	l.b.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn == nil || l.conn.IsClosed() {
		return nil // and the lock with it
	}
	_, err := run(ctx, l.conn, l.b.sql(`DELETE FROM {schema}.locks WHERE name = $1 AND run = $2`), l.b.name, l.info.ID)
	// An answer to the unlock proves that the lock is free; a closed connection does not.
	if err == nil {
		_, err = run(ctx, l.conn, `SELECT pg_advisory_unlock($1::bigint)::text`, l.b.key())
	}
	_ = l.conn.Close(ctx)
	if err != nil {
		return l.b.fail(ctx, "unlock state", err)
	}
	return nil
}
