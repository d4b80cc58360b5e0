package providers

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// recheck evaluates the gates of a step again within the step. It keeps what it needs to put
// back where they refuse to go on.
type recheck struct {
	*work
	// kept are manifests that the step has removed and not written yet.
	kept []keptFile
}

// before evaluates the gates of a step once more where a group of its operations
// stops etcd or the API server and another came before: that may have waited for
// minutes, in which another member can have gone. What the step has stopped so far
// starts again then, as it was.
func (w *recheck) before(ctx context.Context, g group) error {
	if w.Gates == nil || g.first == 0 || !w.stops(g) {
		return nil
	}
	refused := w.Gates(ctx, w.step)
	if refused == nil || ctx.Err() != nil {
		return refused
	}
	return fmt.Errorf("%w. %s", refused, w.startAgain(ctx))
}

// stops reports whether an operation of the group stops etcd or the API server.
func (w *recheck) stops(g group) bool {
	for i := range g.operations {
		if planner.StopsServing(w.step, g.first+i) {
			return true
		}
	}
	return false
}

// keep remembers, in memory, the manifests that a group removes, until the step writes
// them again: the gates are looked at in between.
func (w *recheck) keep(ctx context.Context, host Host, ops []planner.Operation) error {
	if w.Gates == nil || len(w.step.Gates) == 0 {
		return nil
	}
	var paths []string
	for _, op := range ops {
		switch op := op.(type) {
		case planner.RemovePath:
			if planner.Serves(op.Path) && w.written(op.Path) != nil {
				paths = append(paths, op.Path)
			}
		case planner.WriteFile:
			w.kept = slices.DeleteFunc(w.kept, func(f keptFile) bool { return f.path == op.Path })
		}
	}
	if len(paths) == 0 {
		return nil
	}
	files, err := host.ReadSecrets(ctx, paths)
	for p, content := range files {
		w.kept = append(w.kept, keptFile{p, content})
	}
	return err
}

// keptFile is a file as it was before the step removed it.
type keptFile struct {
	path    string
	content state.Secret
}

// written returns how the step writes a file; nil when it does not.
func (w *recheck) written(p string) *planner.WriteFile {
	for _, op := range w.step.Operations {
		if write, ok := op.(planner.WriteFile); ok && write.Path == p {
			return &write
		}
	}
	return nil
}

// startAgain puts back what was removed, and says how the node is left.
func (w *recheck) startAgain(ctx context.Context) string {
	const goesOn = "The same command goes on from there"
	if len(w.kept) == 0 {
		return "Nothing is stopped here. " + goesOn
	}
	b := Batch{Token: w.run.Token, Run: w.run.ID, Lineage: w.run.Lineage, Void: w.run.Void[w.own()], Contents: map[string]state.Secret{}}
	var names []string
	for _, f := range w.kept {
		as := w.written(f.path)
		ref := "kept:" + f.path
		b.Operations = append(b.Operations, planner.WriteFile{Path: f.path, Mode: as.Mode, Owner: as.Owner, Content: planner.Content{Ref: ref}})
		b.Contents[ref] = f.content
		names = append(names, strings.TrimSuffix(path.Base(f.path), ".yaml"))
	}
	stopped := strings.Join(names, ", ")
	host, err := w.host(ctx)
	if err == nil {
		_, err = host.Perform(ctx, b)
	}
	if err != nil {
		return fmt.Sprintf("Etcd goes on here; %s was stopped for this step and could not be started again (%v). %s, and starts it", stopped, err, goesOn)
	}
	return fmt.Sprintf("Etcd goes on here; %s was stopped for this step and starts again as it was. %s", stopped, goesOn)
}
