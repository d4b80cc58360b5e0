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

// recheck evaluates the gates of a step again within the step. It keeps what it has to
// restore if they no longer hold.
type recheck struct {
	*work
	// kept are manifests that the step has removed and not yet written again.
	kept []keptFile
}

// before evaluates the gates of a step again before a group of its operations stops etcd or
// the API server, if another group came first: that may have taken minutes, in which
// another member can have failed. On failure, whatever the step has stopped so far starts
// again, unchanged.
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

// keep remembers, in memory, the manifests that a group removes until the step writes them
// again, since the gates are evaluated in between.
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

// written returns how the step writes a file; nil if it does not.
func (w *recheck) written(p string) *planner.WriteFile {
	for _, op := range w.step.Operations {
		if write, ok := op.(planner.WriteFile); ok && write.Path == p {
			return &write
		}
	}
	return nil
}

// startAgain restores the removed manifests, and describes the state in which the node is
// left.
func (w *recheck) startAgain(ctx context.Context) string {
	const continues = "The same command continues from there"
	if len(w.kept) == 0 {
		return "Nothing is stopped here. " + continues
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
		return fmt.Sprintf("Etcd keeps running here; %s was stopped for this step and could not be started again (%v). %s, and starts it", stopped, err, continues)
	}
	return fmt.Sprintf("Etcd keeps running here; %s was stopped for this step and starts again as it was. %s", stopped, continues)
}
