package backups

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/session"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/listing"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/workspace"
	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/atrest"
	"github.com/kubewright/kubewright/config/backup"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/engine/hosts"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/maintenance"
	"github.com/kubewright/kubewright/planner/phases/encryption"
	"github.com/kubewright/kubewright/planner/resolve"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/providers/rehearsal"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/safefile"
)

// Rehearse brings a backup back for a moment on a host, beside everything that runs there, and prints what
// it holds. on names the host; empty stands for a control plane of the cluster.
func Rehearse(ctx context.Context, a *workspace.Workspace, o session.Options, file, on string, args []string) error {
	folder, err := os.MkdirTemp("", "kubewright-rehearse-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	snapshot := filepath.Join(folder, backup.SnapshotFile)
	b, err := openBackup(a, a.Named(file), snapshot)
	if err != nil {
		return console.Failure(diag.Diagnostics{diag.Errorf("Backup cannot be used", "%s: %v.", file, err)})
	}
	s, err := session.OpenToPrint(ctx, a, o)
	if err != nil {
		return err
	}
	defer s.Close()
	r := rehearsing{session: s, backup: b, name: filepath.Base(file), snapshot: snapshot, json: o.JSON}
	if diags := r.choose(ctx, args, on); diags.HasErrors() {
		return console.Failure(diags)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	start := s.Now()
	report, err := r.run(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return console.Failure(diag.Diagnostics{diag.Errorf("Backup was not brought back", "%s, on %s: %v. Nothing of it is left on the host.", r.name, r.on, err).At(r.cluster.Source)})
	}
	found, out := r.judge(report), r.result(report)
	out.TookSeconds = int64(s.Now().Sub(start).Round(time.Second) / time.Second)
	if !found.HasErrors() {
		a.Print(found)
	}
	show := func() error { return listing.Rehearsal(a.Stdout, out, a.Options()) }
	if o.JSON {
		show = func() error { return listing.RehearsalJSON(a.Stdout, out) }
	}
	if err := errors.Join(show(), s.Hosts.World.Save()); err != nil {
		return err
	}
	if found.HasErrors() {
		return console.Failure(found)
	}
	return nil
}

// rehearsing is a rehearsal under way.
type rehearsing struct {
	session  *session.Session
	backup   backup.Archive
	name     string // the file's
	snapshot string
	json     bool

	cluster *config.Cluster
	on      state.Target
	fleet   *topology.Fleet
	// secret is the Secret that was decrypted, and how it is stored.
	secret    rehearsal.Opened
	decrypted bool
}

// choose finds the cluster and the host, and refuses a backup that no restore would accept. A difference
// in the encryption is a warning: the block can be written as it was.
func (r *rehearsing) choose(ctx context.Context, args []string, on string) diag.Diagnostics {
	s := r.session
	c, which := session.ArgumentCluster(s.Config, args)
	if which == nil {
		which = checkBackup(c, r.backup, r.name)
	}
	if which != nil {
		return diag.Diagnostics{which}
	}
	r.cluster = c
	differs := checkEncryption(c, r.backup, r.name)
	if d := attachBackup(c, r.backup, r.name); d != nil {
		return diag.Diagnostics{d}
	}
	var named []state.Target
	if on != "" {
		targets, _, unknown := s.NodesNamed([]string{on})
		if unknown.HasErrors() {
			return unknown
		}
		named = targets
	}
	s.Hosts.Keep(func(m *hosts.Member) bool {
		return slices.Contains(named, m.Target) || len(named) == 0 && m.Plane && m.Cluster == c.Label
	})
	r.fleet = resolve.NewFleet(s.Observe(ctx))
	if d := maintenance.RefuseOtherCA(r.fleet, c); d != nil {
		return diag.Diagnostics{d}
	}
	if differs != nil {
		differs.Severity = diag.Warning
		s.Print(diag.Diagnostics{differs})
	}
	return r.chooseHost(len(named) > 0)
}

// chooseHost takes the first host that answers and whose etcd does not lead, or else one that leads.
func (r *rehearsing) chooseHost(named bool) diag.Diagnostics {
	var why string
	leads := map[state.Target]bool{}
	if c := r.fleet.ClusterOf(state.ClusterTarget(r.cluster.Label)); c != nil && c.Report != nil {
		for _, n := range c.ControlPlanes() {
			leads[n.Target] = slices.ContainsFunc(c.Report.Members, func(m state.EtcdMember) bool { return m.Leader && slices.Contains(m.PeerURLs, n.PeerURL()) })
		}
	}
	for _, m := range r.session.Hosts.Members {
		u, silent := r.fleet.Unobserved[m.Target]
		switch {
		case silent:
			why += fmt.Sprintf("\n  %s: %s", m.Target, u.Reason)
		case r.on.IsZero() || leads[r.on]:
			r.on = m.Target
		}
	}
	switch {
	case !r.on.IsZero():
		return nil
	case named:
		return diag.Diagnostics{diag.Errorf("Host does not answer", "The backup cannot be tried there:\n%s", why)}
	}
	return diag.Diagnostics{diag.Errorf("No host to rehearse on", "A backup is tried on a control plane of cluster %q, and none answers:\n%s\n\nName another node that has containerd with etcd's image, or etcd itself: -on=NODE", r.cluster.Label, why).At(r.cluster.Source)}
}

// run has the host bring the snapshot back.
func (r *rehearsing) run(ctx context.Context) (*rehearsal.Report, error) {
	s, n := r.session, r.fleet.Find(r.on)
	planes := r.fleet.ClusterOf(state.ClusterTarget(r.cluster.Label)).ControlPlanes()
	if n == nil || len(planes) == 0 {
		return nil, fmt.Errorf("internal error: %s is no node of this run", r.on)
	}
	host, err := s.Hosts.Host(ctx, r.on)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(r.snapshot)
	if err != nil {
		return nil, err
	}
	said := ""
	return host.Rehearse(ctx, rehearsal.Request{
		Size: info.Size(), SHA256: r.backup.SnapshotSHA256, Open: func() (io.ReadCloser, error) { return safefile.Open(r.snapshot) },
		Image: kubeadm.EtcdImage(planes[0].Input()), Socket: n.RuntimeSocket(), Prefix: encryption.Registry(r.cluster),
		Hear: func(what string) {
			if what != said && !r.json {
				said = what
				_ = listing.Rehearsing(s.Stdout, r.on.String(), what, s.Options())
			}
		},
	})
}

// judge decrypts the Secret, and says what is wrong with what was brought back.
func (r *rehearsing) judge(report *rehearsal.Report) diag.Diagnostics {
	if report.Keys() == 0 {
		return diag.Diagnostics{diag.Errorf("Backup is empty", "%s was brought back, and its etcd holds no key.", r.name).At(r.cluster.Source)}
	}
	if report.Secret == nil {
		return nil
	}
	var keys atrest.File
	path := encryptionKeys(r.backup, r.cluster.Certificates.Dir)
	if path != "" {
		var err error
		if keys, err = atrest.Parse(r.backup.Content[path]); err != nil {
			return diag.Diagnostics{diag.Errorf("Backup is incomplete", "The file %s in %s cannot be read: %v.", path, r.name, err).At(r.cluster.Source)}
		}
	}
	secret, err := report.Secret.Open(keys)
	r.secret, r.decrypted = secret, err == nil
	switch {
	case err == nil:
		return nil
	case errors.Is(err, rehearsal.ErrPlugin):
		return diag.Diagnostics{diag.Warningf("Secrets were not decrypted", "%s in %s is encrypted, and %v: nothing could be decrypted here. The plugin with its key has to be there when the cluster is restored.", report.Secret.Key, r.name, err).At(r.cluster.Source)}
	case path == "" && errors.Is(err, rehearsal.ErrKey):
		return diag.Diagnostics{diag.Errorf("Secrets cannot be decrypted", "%s in %s cannot be decrypted: %v, and the backup holds no keys. No API server could read the restored objects. "+
			"See whether the API servers still encrypt (--encryption-provider-config), and take another backup, which takes the keys along.", report.Secret.Key, r.name, err).At(r.cluster.Source)}
	}
	return diag.Diagnostics{diag.Errorf("Secrets cannot be decrypted", "%s in %s cannot be decrypted: %v. The keys of the backup are in %s, and no API server could read the restored objects with them. Take another backup.", report.Secret.Key, r.name, err, path).At(r.cluster.Source)}
}

// result returns the rehearsal for output.
func (r *rehearsing) result(report *rehearsal.Report) listing.RehearsalResult {
	m := r.backup.Manifest
	out := listing.RehearsalResult{
		Cluster: r.cluster.Label, Backup: r.name, On: r.on.String(), Taken: m.Time.UTC(), TakenOn: m.Node, AgeSeconds: int64(max(0, r.session.Hosts.World.Clock().Now().Sub(m.Time)) / time.Second),
		Holds: m.Holds(), Kubernetes: m.Kubernetes, Etcd: report.Etcd, Revision: report.Revision, Keys: report.Keys(), Resources: report.Resources(),
	}
	if report.Secret != nil {
		out.Secret = &listing.RehearsedSecret{Namespace: r.secret.Namespace, Name: r.secret.Name, StoredBy: r.secret.By, Decrypted: r.decrypted}
	}
	return out
}
