package providers

import (
	"context"
	"fmt"
	"net/url"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// lookProcess looks whether a process runs and has read files as they are now.
func (w *work) lookProcess(ctx context.Context, op planner.Wait) error {
	host, err := w.host(ctx)
	if err != nil {
		return err
	}
	q := state.Query{Processes: []state.Process{op.Process}}
	for _, f := range op.Files {
		q.Files = append(q.Files, state.FileQuery{Path: f})
	}
	report, err := host.Observe(ctx, q)
	if err != nil {
		return err
	}
	if _, runs := report.Started[op.Process.Name]; !runs {
		return fmt.Errorf("%s does not run", op.Process.Name)
	}
	for _, f := range op.Files {
		if report.Outdated(op.Process.Name, f) {
			return fmt.Errorf("%s still runs as it was before %s was written", op.Process.Name, f)
		}
	}
	return nil
}

// lookServed looks whether the certificate in a file is the one that is shown on the wire.
func (w *work) lookServed(ctx context.Context, op planner.Wait) error {
	host, err := w.host(ctx)
	if err != nil {
		return err
	}
	u, err := url.Parse(op.URL)
	if err != nil {
		return err
	}
	report, err := host.Observe(ctx, state.Query{Files: []state.FileQuery{{Path: op.Name, Read: state.ReadCertificate}}})
	if err != nil {
		return err
	}
	f := report.Files[op.Name]
	if len(f.Certificates) == 0 {
		return fmt.Errorf("there is no certificate in %s", op.Name)
	}
	served, err := host.ServedCertificate(ctx, u.Host)
	if err != nil {
		return err
	}
	if want := f.Certificates[0]; served.Serial != want.Serial || served.KeyDigest != want.KeyDigest {
		return fmt.Errorf("%s shows the certificate with serial %s, and %s has serial %s", op.URL, Sanitize(served.Serial, 64), op.Name, want.Serial)
	}
	return nil
}
