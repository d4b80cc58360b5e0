package backups

import (
	"errors"
	"fmt"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/atrest"
	"github.com/kubewright/kubewright/config/backup"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/providers/rehearsal"
)

// TestJudgeSaysWhatIsWrongWithABackup checks what is an error, and that a KMS plugin, which alone can
// decrypt, is a warning.
func TestJudgeSaysWhatIsWrongWithABackup(t *testing.T) {
	t.Parallel()
	stored := func(err error) *rehearsal.Report {
		return &rehearsal.Report{Folders: map[string]int64{"secrets": 1}, Secret: &rehearsal.Stored{Key: "/registry/secrets/a/b", Open: func(atrest.File) (rehearsal.Opened, error) {
			return rehearsal.Opened{By: "x", Namespace: "a", Name: "b"}, err
		}}}
	}
	for want, report := range map[string]*rehearsal.Report{
		"": stored(nil),
		"Error: Backup is empty: b.age was brought back, and its etcd holds no key.": {},
		"Warning: Secrets were not decrypted: /registry/secrets/a/b in b.age is encrypted, and a KMS plugin holds the key: vault: nothing could be decrypted here. The plugin with its key has to be there when the cluster is restored.":       stored(fmt.Errorf("%w: vault", rehearsal.ErrPlugin)),
		"Error: Secrets cannot be decrypted: /registry/secrets/a/b in b.age cannot be decrypted: it is damaged. The keys of the backup are in /etc/enc.yaml, and no API server could read the restored objects with them. Take another backup.": stored(errors.New("it is damaged")),
	} {
		const keys = "kind: EncryptionConfiguration\nresources: [{resources: [secrets], providers: [{identity: {}}]}]\n"
		r := rehearsing{name: "b.age", cluster: &config.Cluster{Label: "prod"}, backup: backup.Archive{
			Manifest: backup.Manifest{Files: map[string]string{backup.SnapshotFile: "x", "etc/enc.yaml": "x"}}, Content: map[string][]byte{"/etc/enc.yaml": []byte(keys)},
		}}
		got := ""
		for _, d := range r.judge(report) {
			got += map[bool]string{true: "Error: ", false: "Warning: "}[d.Severity == diag.Error] + d.Summary + ": " + d.Detail
		}
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if r.decrypted != (want == "") {
			t.Errorf("decrypted %v, %s", r.decrypted, want)
		}
	}
	r := rehearsing{name: "b.age", cluster: &config.Cluster{Label: "prod"}, backup: backup.Archive{Manifest: backup.Manifest{Files: map[string]string{"etc/enc.yaml": "x"}}, Content: map[string][]byte{"/etc/enc.yaml": []byte("nonsense")}}}
	if d := r.judge(stored(nil)); len(d) != 1 || d[0].Detail != "The file /etc/enc.yaml in b.age cannot be read: not an EncryptionConfiguration." {
		t.Errorf("%v", d)
	}
}
