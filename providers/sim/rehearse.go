package sim

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/kubewright/kubewright/providers/rehearsal"
	"github.com/kubewright/kubewright/providers/sim/apiserver"
	"github.com/kubewright/kubewright/providers/sim/etcd"
)

// Rehearse returns what is in a snapshot of a simulated etcd. It leaves nothing on the host.
func (h *Host) Rehearse(ctx context.Context, q rehearsal.Request) (*rehearsal.Report, error) {
	h.w.mu.Lock()
	defer h.w.mu.Unlock()
	m := h.machine()
	var r *rehearsal.Report
	err := h.w.read(ctx, m, "rehearse", "", func() error {
		fail := func(err error) error { return m.CommandError("bring the snapshot back", 1, err.Error()) }
		if m.Conditions.DiskFull {
			return fail(errors.New("there is no room for it: /var/lib/kubewright has 0 MiB left. Make room there, or name another host with -on"))
		}
		f, err := q.Open()
		if err != nil {
			return fmt.Errorf("cannot read the snapshot: %w", err)
		}
		defer f.Close()
		b, err := io.ReadAll(f)
		if err != nil {
			return fmt.Errorf("cannot read the snapshot: %w", err)
		}
		if sum := sha256.Sum256(b); hex.EncodeToString(sum[:]) != q.SHA256 {
			return fail(errors.New("the snapshot did not arrive whole"))
		}
		c, err := etcd.ReadSnapshot(b)
		if err != nil {
			return fail(fmt.Errorf("etcd's data cannot be made from the snapshot: %w", err))
		}
		if q.Hear != nil {
			q.Hear("starting etcd")
		}
		r = apiserver.Rehearsed(c)
		return nil
	})
	return r, err
}
