package pg

import (
	"net"
	"testing"
)

// TestMeteredConnectionEndsAtItsLimit checks that a connection fails as soon as the server has
// sent more than it may.
func TestMeteredConnectionEndsAtItsLimit(t *testing.T) {
	t.Parallel()
	here, there := net.Pipe()
	t.Cleanup(func() { _, _ = here.Close(), there.Close() })
	go func() { _, _ = there.Write(make([]byte, 10)) }()
	m := &metered{Conn: here}
	m.left.Store(12)
	if n, err := m.Read(make([]byte, 10)); n != 10 || err != nil {
		t.Fatalf("got %d bytes, %v", n, err)
	}
	go func() { _, _ = there.Write(make([]byte, 3)) }()
	if _, err := m.Read(make([]byte, 10)); err == nil || err.Error() != "the server sends more than a state can have" {
		t.Errorf("beyond the limit: %v", err)
	}
}
