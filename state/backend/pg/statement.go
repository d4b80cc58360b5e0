package pg

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/kubewright/kubewright/state/backend"
)

// Limits of one statement. Without them a malicious server could keep a run waiting, or fill the
// memory of this machine.
const (
	// statementTime bounds a statement and its answer.
	statementTime = 2 * time.Minute
	// aliveTime bounds how long a server may take to show that a connection is alive.
	aliveTime = 10 * time.Second
	// maxAnswer bounds the answer to one statement in bytes: rows, notices and everything else.
	maxAnswer = backend.MaxState + 2*maxRest
	// maxRows bounds the rows of an answer. No statement of ours returns more than one.
	maxRows = 8
)

// The failures of an answer that no PostgreSQL server gives.
var (
	errTooMuch    = errors.New("the server sends more than a state can have")
	errUnexpected = errors.New("the server's answer is not that of PostgreSQL to this statement")
)

// metered is a connection that limits the size of the answer to one statement.
type metered struct {
	net.Conn
	// left is how many bytes the server may still send.
	left atomic.Int64
}

func (m *metered) Read(p []byte) (int, error) {
	n, err := m.Conn.Read(p)
	if m.left.Add(-int64(n)) < 0 {
		return 0, errTooMuch
	}
	return n, err
}

// limit meters all connections that are made with a configuration.
func limit(c *pgconn.Config) {
	dial := c.DialFunc
	c.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		m := &metered{Conn: conn}
		m.left.Store(maxRest)
		return m, nil
	}
}

// begin limits time and size of the next answer on a connection.
func begin(ctx context.Context, conn *pgconn.PgConn, limit time.Duration) (context.Context, context.CancelFunc) {
	under := conn.Conn()
	if t, encrypted := under.(*tls.Conn); encrypted {
		under = t.NetConn()
	}
	if m, ok := under.(*metered); ok {
		m.left.Store(maxAnswer)
	}
	return context.WithTimeout(ctx, limit)
}

func ping(ctx context.Context, conn *pgconn.PgConn) error {
	ctx, cancel := begin(ctx, conn, aliveTime)
	defer cancel()
	return conn.Ping(ctx)
}

// rows are the rows of the answer to one statement.
type rows = [][][]byte

// run runs one statement. String and int64 arguments are sent as text, []byte and all results in
// binary.
func run(outer context.Context, conn *pgconn.PgConn, text string, args ...any) (rows, error) {
	ctx, cancel := begin(outer, conn, statementTime)
	defer cancel()
	values, formats := make([][]byte, len(args)), make([]int16, len(args))
	for i, a := range args {
		switch a := a.(type) {
		case []byte:
			values[i], formats[i] = a, 1
		case int64:
			values[i] = strconv.AppendInt(nil, a, 10)
		case string:
			values[i] = []byte(a)
		}
	}
	found, err := read(conn.ExecParams(ctx, text, values, nil, formats, []int16{1}), cancel)
	if err != nil && outer.Err() == nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return nil, fmt.Errorf("the server has not answered within %v", statementTime)
	}
	return found, err
}

// read reads the rows of an answer. cancel ends the statement.
func read(r *pgconn.ResultReader, cancel func()) (rows, error) {
	var out rows
	for r.NextRow() {
		if len(out) == maxRows {
			cancel()
			_, _ = r.Close()
			return nil, errUnexpected
		}
		row := make([][]byte, len(r.Values()))
		for i, v := range r.Values() {
			row[i] = append([]byte{}, v...)
		}
		out = append(out, row)
	}
	_, err := r.Close()
	if err != nil {
		return nil, err
	}
	return out, nil
}

// single returns the only row of an answer, which must have this many columns.
func single(found rows, err error, columns int) ([][]byte, error) {
	switch {
	case err != nil:
		return nil, err
	case len(found) != 1, len(found[0]) != columns:
		return nil, errUnexpected
	}
	return found[0], nil
}
