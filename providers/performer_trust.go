package providers

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// rootCA checks that pods of every namespace get the certificates in a file.
func (w waiting) rootCA(ctx context.Context, a API) error {
	host, err := w.host(ctx)
	if err != nil {
		return err
	}
	report, err := host.Observe(ctx, state.Query{Files: []state.FileQuery{{Path: w.want.Name, Read: state.ReadCertificate}}})
	if err != nil {
		return err
	}
	var want []string
	for _, c := range report.Files[w.want.Name].Certificates {
		want = append(want, c.KeyDigest)
	}
	if len(want) == 0 {
		return fmt.Errorf("there is no certificate in %s", w.want.Name)
	}
	published, err := a.RootCAs(ctx)
	if err != nil {
		return err
	}
	for _, namespace := range slices.Sorted(maps.Keys(published)) {
		if !slices.Equal(published[namespace], want) {
			return fmt.Errorf("ConfigMap kube-root-ca.crt of namespace %s does not hold what is in %s", Sanitize(namespace, 64), w.want.Name)
		}
	}
	return nil
}

// forget has connections through a node reopened when next needed, after the files were
// written that authenticate the cluster and the client. A connection in use stays open; it
// is closed with the others.
func (p *Performer) forget(t state.Target, ops []planner.Operation) {
	seat, err := p.Seat(t)
	if err != nil {
		return // nothing goes through it
	}
	folder := cmp.Or(seat.Folder, CertificatesFolder)
	for _, op := range ops {
		for _, path := range planner.Overwrites(op) {
			switch path {
			case adminConf, superAdminConf:
				discard(p, &p.apis, t)
			case folder + "/etcd/ca.crt", folder + "/etcd/healthcheck-client.crt":
				discard(p, &p.etcds, t)
			}
		}
	}
}

// The files with which connections are opened.
const (
	adminConf      = "/etc/kubernetes/admin.conf"
	superAdminConf = "/etc/kubernetes/super-admin.conf"
)

// discard takes a node's connection out of use.
func discard[T interface{ Close() error }](p *Performer, all *map[state.Target]*opened[T], t state.Target) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if o := (*all)[t]; o != nil {
		p.discarded = append(p.discarded, o.close)
		delete(*all, t)
	}
}
