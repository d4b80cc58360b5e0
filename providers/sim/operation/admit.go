package operation

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/sim/file"
	"github.com/kubewright/kubewright/state"
)

// Admit checks that a batch may change the host, and records its token.
func (do Operations) Admit(ctx context.Context, batch providers.Batch) error {
	if err := do.m.Connected(ctx); err != nil {
		return err
	}
	if do.m.Unreadable != "" {
		return &providers.CommandError{Host: do.m.Address, Command: "prepare " + do.m.Address, ExitCode: 1, Stderr: []string{"cannot read " + do.m.Unreadable}}
	}
	if do.m.Lineage != "" && batch.Lineage != "" && do.m.Lineage != batch.Lineage {
		return &providers.Error{
			Kind: providers.ErrForeign, Do: "change " + do.m.Address,
			Cause: fmt.Errorf("it belongs to the state with lineage %s, this one has %s", do.m.Lineage, batch.Lineage),
		}
	}
	void := batch.Void != 0 && do.m.Token == batch.Void
	if batch.Token < do.m.Token && !void {
		return &providers.Error{
			Kind: providers.ErrSuperseded, Do: "change " + do.m.Address,
			Cause: fmt.Errorf("the host has seen run %d, this is run %d", do.m.Token, batch.Token),
		}
	}
	if batch.Token == do.m.Token && !void && do.m.Run != "" && batch.Run != "" && do.m.Run != batch.Run {
		return &providers.Error{
			Kind: providers.ErrSuperseded, Do: "change " + do.m.Address,
			Cause: fmt.Errorf("another run has begun there that was planned at the same time as this one (both are run %d)", do.m.Token),
		}
	}
	if err := do.expected(batch); err != nil {
		return err
	}
	do.m.Token, do.m.Run = batch.Token, batch.Run
	if do.m.Lineage == "" {
		do.m.Lineage = batch.Lineage
	}
	if do.m.File(ownFolder) == nil {
		do.m.Put(ownFolder, &file.File{Type: file.Directory, Mode: "0700"})
	}
	return nil
}

func (do Operations) mark(op planner.Mark) bool {
	if op.Remove {
		do.m.ForgetMarks()
		do.m.Remove(ownFolder)
		return true
	}
	marks := op.Marks
	changed := do.m.Marks == nil || !equalMarks(*do.m.Marks, marks)
	do.m.Marks = &marks
	return changed
}

// expected returns an error if a file is not as the batch expects it.
func (do Operations) expected(batch providers.Batch) error {
	for _, p := range slices.Sorted(maps.Keys(batch.Expect)) {
		now := "gone"
		if f := do.m.Resolve(file.Clean(p)); f.IsRegular() {
			now = f.SHA256
		}
		if now != batch.Expect[p] {
			return &providers.Error{Kind: providers.ErrMoved, Do: "change " + do.m.Address, Cause: providers.Moved(p, batch.Expect[p], now)}
		}
	}
	return nil
}

// ownFolder is the folder of kubewright's own files on a host.
const ownFolder = "/var/lib/kubewright"

// equalMarks compares everything except the token, which the host records itself.
func equalMarks(a, b state.Marks) bool {
	a.Token, b.Token = 0, 0
	return reflect.DeepEqual(a, b)
}
