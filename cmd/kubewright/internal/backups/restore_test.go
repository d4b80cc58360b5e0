package backups

import (
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/backup"
)

// TestAttachRefuses checks that a backup is refused that lacks what the cluster needs, with the reason
// and what to do.
func TestAttachRefuses(t *testing.T) {
	t.Parallel()
	sum := strings.Repeat("a", 64)
	for want, b := range map[string]backup.Archive{
		"Backup is incomplete: b.age does not hold /etc/kubernetes/pki/ca.crt, which cluster \"prod\" needs. If the CA is managed outside kubewright, provide it in the certificates block, as it was when the cluster was bootstrapped.": {
			Manifest: backup.Manifest{Cluster: "prod", Files: map[string]string{backup.SnapshotFile: sum}},
		},
		"Encryption keys are not in the configuration: b.age was taken while API objects were encrypted with keys in /etc/enc.yaml, and no file block of cluster \"prod\" has that file: no API server could read the restored objects. " +
			"Take it out of the backup (age -d -i IDENTITY b.age | tar -xO files/etc/enc.yaml), and write a file block with it. If the cluster had an encryption block, write that one again instead.": {
			Manifest: backup.Manifest{Cluster: "prod", Files: map[string]string{backup.SnapshotFile: sum, "etc/enc.yaml": sum}},
		},
	} {
		c := &config.Cluster{Label: "prod", Certificates: config.Certificates{Dir: "/etc/kubernetes/pki"}}
		d := firstOf(checkBackup(c, b, "b.age"), checkEncryption(c, b, "b.age"), attachBackup(c, b, "b.age"))
		if d == nil || d.Summary+": "+d.Detail != want {
			t.Errorf("%+v\nwant %s", d, want)
		}
	}
}
