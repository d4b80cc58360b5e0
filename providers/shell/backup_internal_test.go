package shell

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
)

// backupScript stands for the script of a backup block: it records how it is called, and ends as the file says.
const backupScript = `echo "$KUBEWRIGHT_BACKUP_ROOT" "$@" >"$KUBEWRIGHT_BACKUP_ROOT/called"
cat "$KUBEWRIGHT_BACKUP_ROOT/says"
exit "$(cat "$KUBEWRIGHT_BACKUP_ROOT/code")"
`

// TestBackupRunsThePlannedScript checks that only the script that was planned is run, with which arguments,
// and that its last line is the result.
func TestBackupRunsThePlannedScript(t *testing.T) {
	t.Parallel()
	sum := sha256.Sum256([]byte(backupScript))
	for name, c := range map[string]struct {
		script, says, code string
		want               string
	}{
		"taken":            {backupScript, "kubewright-backup: prod-1_before.tar.age is complete", "0", "prod-1_before.tar.age\n…done changed"},
		"there already":    {backupScript, "kubewright-backup: prod-1_before.tar.age is there already", "0", "prod-1_before.tar.age\n…done same"},
		"refused":          {backupScript, "kubewright-backup: the bucket did not take it: Access Denied", "1", "failed 1: kubewright-backup: the bucket did not take it: Access Denied"},
		"no result":        {backupScript, "kubewright-backup: the etcd of another control plane leads", "0", "failed 1: ROOT/etc/kubernetes/backup/backup.sh has ended without a backup: the etcd of another control plane leads"},
		"another script":   {"echo hello\n", "", "", "failed 1: ROOT/etc/kubernetes/backup/backup.sh has changed since the plan was made, and is not run. Run kubewright apply, which writes it again"},
		"there is no such": {"", "", "", "failed 1: there is no ROOT/etc/kubernetes/backup/backup.sh, which takes backups. Apply the backup block first, or go on without a backup and a snapshot: -skip-phase=etcd-snapshot"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			path := "/etc/kubernetes/backup/backup.sh"
			for p, content := range map[string]string{path: c.script, "/says": c.says + "\n", "/code": c.code, "/var/lib/x": ""} {
				if p == path && content == "" {
					continue
				}
				if err := os.MkdirAll(filepath.Dir(root+p), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(root+p, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			op := planner.TakeBackup{Script: path, SHA256: hex.EncodeToString(sum[:]), Before: "a member is removed", Since: 1772442000}
			body, err := (&compiler{root: root, batch: providers.Batch{Token: 1, Lineage: "l", Operations: []planner.Operation{op}}}).script()
			if err != nil {
				t.Fatal(err)
			}
			sh := exec.Command("sh", "-c", "kw_n="+testNonce+"\n"+preludeScript+body)
			sh.Env = []string{"PATH=/usr/bin:/bin"}
			var stderr strings.Builder
			sh.Stderr = &stderr
			out, err := sh.Output()
			if err != nil {
				t.Fatalf("%v: %s", err, stderr.String())
			}
			got := string(out)
			if want, last, ok := strings.Cut(c.want, ": "); ok && strings.HasPrefix(want, "failed") {
				if !strings.Contains(got, want) || !strings.HasSuffix(strings.ReplaceAll(stderr.String(), root, "ROOT"), last+"\n") {
					t.Errorf("got %s%s\nwant %s", got, stderr.String(), c.want)
				}
				return
			}
			name, word, _ := strings.Cut(c.want, "…")
			if !strings.Contains(got, name) || !strings.Contains(got, word) {
				t.Errorf("got %s%s\nwant %s", got, stderr.String(), c.want)
			}
			if called, err := os.ReadFile(root + "/called"); err != nil || string(called) != root+" before a member is removed 20260302090000\n" {
				t.Errorf("called with %q, %v", called, err)
			}
		})
	}
}

// TestBackupRiskIsNoCommand checks which texts are refused as the name of a risk, before anything is sent.
func TestBackupRiskIsNoCommand(t *testing.T) {
	t.Parallel()
	good := planner.TakeBackup{Script: "/etc/x", SHA256: strings.Repeat("a", 64), Before: "the hosts of cluster.prod-1 are reset"}
	if _, err := (&compiler{}).takeBackup(good); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"", `a"b`, "a\nb", "$(reboot)", "-x", "a'b", strings.Repeat("a", 200)} {
		op := good
		op.Before = bad
		if _, err := (&compiler{}).takeBackup(op); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}
