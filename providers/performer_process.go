package providers

import (
	"context"
	"fmt"
	"net/url"

	"github.com/kubewright/kubewright/state"
)

// process checks that a process runs and has read the current version of its files.
func (w waiting) process(ctx context.Context) error {
	host, err := w.host(ctx)
	if err != nil {
		return err
	}
	q := state.Query{Processes: []state.Process{w.want.Process}}
	for _, f := range w.want.Files {
		q.Files = append(q.Files, state.FileQuery{Path: f})
	}
	report, err := host.Observe(ctx, q)
	if err != nil {
		return err
	}
	if _, runs := report.Started[w.want.Process.Name]; !runs {
		return fmt.Errorf("%s does not run", w.want.Process.Name)
	}
	for _, f := range w.want.Files {
		if report.Outdated(w.want.Process.Name, f) {
			return fmt.Errorf("%s still runs as it was before %s was written", w.want.Process.Name, f)
		}
	}
	return nil
}

// served checks that the server shows the certificate in the file.
func (w waiting) served(ctx context.Context) error {
	host, err := w.host(ctx)
	if err != nil {
		return err
	}
	u, err := url.Parse(w.want.URL)
	if err != nil {
		return err
	}
	report, err := host.Observe(ctx, state.Query{Files: []state.FileQuery{{Path: w.want.Name, Read: state.ReadCertificate}}})
	if err != nil {
		return err
	}
	f := report.Files[w.want.Name]
	if len(f.Certificates) == 0 {
		return fmt.Errorf("there is no certificate in %s", w.want.Name)
	}
	served, err := host.ServedCertificate(ctx, u.Host)
	if err != nil {
		return err
	}
	if want := f.Certificates[0]; served.Serial != want.Serial || served.KeyDigest != want.KeyDigest {
		return fmt.Errorf("%s shows the certificate with serial %s, and %s has serial %s", w.want.URL, Sanitize(served.Serial, 64), w.want.Name, want.Serial)
	}
	return nil
}
