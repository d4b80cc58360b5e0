package backups

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/apply"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/session"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/workspace"
	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/atrest"
	"github.com/kubewright/kubewright/config/backup"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/maintenance"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/providers/snapshots"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/safefile"
)

// Restore brings a cluster back from a backup. The snapshot in it is a file of a folder of its own
// while the command runs; certificates and keys stay in memory.
func Restore(ctx context.Context, a *workspace.Workspace, o session.Options, by apply.Approval, file string, args []string) error {
	folder, err := os.MkdirTemp("", "kubewright-restore-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	b, err := openBackup(a, a.Named(file), filepath.Join(folder, backup.SnapshotFile))
	if err != nil {
		return console.Failure(diag.Diagnostics{diag.Errorf("Backup cannot be used", "%s: %v. Nothing was changed.", file, err)})
	}
	return apply.CarryOut(ctx, a, o, by, "etcd restore", func(s *session.Session) {
		s.Leaseless = true
		s.Command = "etcd restore -from-backup=" + state.ShellWord(file) + " " + state.ShellWords(args...)
		s.Planner = func(v *topology.Fleet, header planner.Plan, options planner.Options) (topology.Result, diag.Diagnostics) {
			c, which := session.ArgumentCluster(v.Config, args)
			if which == nil {
				which = firstOf(checkBackup(c, b, filepath.Base(file)), checkEncryption(c, b, filepath.Base(file)), attachBackup(c, b, filepath.Base(file)))
			}
			if which != nil {
				return topology.Result{}, diag.Diagnostics{which}
			}
			s.Typed, s.Observed = c.Label, v
			s.Restores = maintenance.EtcdRestore{Cluster: c.Label, Artifact: backup.SnapshotFile, SHA256: b.SnapshotSHA256, Folder: folder}
			return maintenance.RestoreBackup(v, header, options, c)
		}
	})
}

// openBackup decrypts and verifies a backup, and writes its snapshot to a file.
func openBackup(a *workspace.Workspace, file, snapshot string) (backup.Archive, error) {
	f, err := safefile.Open(file)
	if err != nil {
		return backup.Archive{}, err
	}
	defer f.Close()
	r, err := a.DecryptStream(f)
	if err != nil {
		return backup.Archive{}, err
	}
	out, err := safefile.Create(snapshot, 0o600)
	if err != nil {
		return backup.Archive{}, err
	}
	b, err := backup.Read(r, out)
	if closed := out.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return backup.Archive{}, err
	}
	if _, err := snapshots.Verify(snapshot); err != nil {
		return backup.Archive{}, err
	}
	return b, nil
}

// firstOf returns the first finding there is.
func firstOf(findings ...*diag.Diagnostic) *diag.Diagnostic {
	for _, d := range findings {
		if d != nil {
			return d
		}
	}
	return nil
}

// checkBackup refuses a backup that is not of the cluster.
func checkBackup(c *config.Cluster, b backup.Archive, name string) *diag.Diagnostic {
	if c.Etcd.External != nil {
		return diag.Errorf("Etcd is external", "The etcd of cluster %q is not on its control planes, and is restored where it runs.", c.Label).At(c.Source)
	}
	if b.Cluster != c.Label {
		return diag.Errorf("Backup is of another cluster", "%s is of cluster %q, and this is cluster %q. Use a backup of this cluster; if the cluster had that label before, give it back.", name, b.Cluster, c.Label).At(c.Source)
	}
	return nil
}

// attachBackup gives a cluster what the backup holds of it.
func attachBackup(c *config.Cluster, b backup.Archive, name string) *diag.Diagnostic {
	given, dir := c.Certificates.Given(), c.Certificates.Dir
	needed := []string{dir + "/sa.key", dir + "/sa.pub"}
	for block, base := range map[string]string{"ca": "/ca", "front_proxy_ca": "/front-proxy-ca", "etcd_ca": "/etcd/ca"} {
		if _, is := given[block]; !is {
			needed = append(needed, dir+base+".crt", dir+base+".key")
		}
	}
	slices.Sort(needed)
	for _, p := range needed {
		if len(b.Content[p]) == 0 {
			return diag.Errorf("Backup is incomplete", "%s does not hold %s, which cluster %q needs. If the CA is managed outside kubewright, provide it in the certificates block, as it was when the cluster was bootstrapped.", name, p, c.Label).At(c.Source)
		}
	}
	block, _ := pem.Decode(b.Content[dir+"/ca.crt"])
	if block == nil {
		return diag.Errorf("Backup is incomplete", "The CA in %s, %s/ca.crt, is no certificate.", name, dir).At(c.Source)
	}
	ca, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return diag.Errorf("Backup is incomplete", "The CA in %s, %s/ca.crt, cannot be read: %v.", name, dir, err).At(c.Source)
	}
	c.Restored = &config.Restored{Backup: name, Snapshot: backup.SnapshotFile, SHA256: b.SnapshotSHA256, CA: state.KeyDigest(ca), Files: map[string]state.Secret{}}
	for p, content := range b.Content {
		c.Restored.Files[p] = state.NewSecret(content)
	}
	return nil
}

// checkEncryption refuses a restore after which no API server could read what is in etcd: objects are
// stored under the keys of the backup, or under none.
func checkEncryption(c *config.Cluster, b backup.Archive, name string) *diag.Diagnostic {
	switch p := encryptionKeys(b, c.Certificates.Dir); {
	case p == "" && c.AtRest != nil:
		return diag.Errorf("Backup is not encrypted at rest", "%s was taken while objects in etcd were not encrypted, and the encryption block of cluster %q begins with encrypted ones: no API server could read the restored objects. "+
			"Restore without the block, and add it afterwards.", name, c.Label).At(c.AtRest.Source)
	case p == atrest.Path && c.AtRest != nil:
		file, err := atrest.Parse(b.Content[p])
		if err != nil {
			return diag.Errorf("Backup is incomplete", "The file %s in %s cannot be read: %v.", p, name, err).At(c.AtRest.Source)
		}
		if chains := file.Info().Chains; len(chains) != len(c.AtRest.Resources) || slices.ContainsFunc(c.AtRest.Resources, func(r string) bool { return !slices.Equal(chains[r], []string{c.AtRest.ID()}) }) {
			return diag.Errorf("Encryption differs from the backup", "%s was taken while objects in etcd were encrypted in this way, by resource, and the encryption block of cluster %q asks for something else:\n\n%s\n\n"+
				"Write the block as it was, restore, and change it afterwards. If a change was under way then, use a backup from before it or after it.", name, c.Label, chainsText(chains)).At(c.AtRest.Source)
		}
	case p != "" && !slices.ContainsFunc(c.Files, func(f config.File) bool { return f.Path == p }):
		return diag.Errorf("Encryption keys are not in the configuration", "%s was taken while API objects were encrypted with keys in %s, and no file block of cluster %q has that file: no API server could read the restored objects. "+
			"Take it out of the backup (age -d -i IDENTITY %[1]s | tar -xO %[4]s), and write a file block with it. If the cluster had an encryption block, write that one again instead.", name, p, c.Label, backup.FilesFolder+strings.TrimPrefix(p, "/")).At(c.Source)
	}
	return nil
}

// chainsText returns the providers of each resource, one that encrypts first.
func chainsText(chains map[string][]string) string {
	var lines []string
	for _, r := range slices.Sorted(maps.Keys(chains)) {
		lines = append(lines, "  "+r+": "+strings.Join(chains[r], ", "))
	}
	return strings.Join(lines, "\n")
}

// encryptionKeys returns the path of the keys that API objects are encrypted with; empty if the backup
// holds none. All else in it are certificates and keys of the folder pki.
func encryptionKeys(b backup.Archive, pki string) string {
	for _, p := range b.Paths() {
		if !strings.HasPrefix(p, pki+"/") || !slices.Contains([]string{".crt", ".key", ".pub"}, path.Ext(p)) {
			return p
		}
	}
	return ""
}
