//go:build e2e

package e2e

import (
	"bytes"
	"encoding/base64"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"
)

// backupBlock has control planes take backups for a RECIPIENT.
const backupBlock = `
  backup {
    schedule   = "hourly"
    keep       = 3
    recipients = ["RECIPIENT"]
    folder     = "/var/backups/kubewright"
  }
`

// TestBackup has real control planes take a backup, decrypts it with age, rehearses it, has another one taken
// before a control plane is removed, gives every host back, and brings the cluster back from the first backup
// alone, without a state: its objects are there again.
func TestBackup(t *testing.T) {
	begin(t)
	s := newSite(t, "e2ebackup", 3, 1)
	s.logIn()
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	identity := filepath.Join(s.dir, "backup.key")
	if err := os.WriteFile(identity, []byte(key.String()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	program := ageProgram(t, s.dir)
	for _, h := range s.planes {
		s.put(h.Name, "/root/age", program, "install -m 755 /root/age /usr/local/bin/age")
	}
	s.extra = strings.ReplaceAll(backupBlock, "RECIPIENT", key.Recipient().String())
	s.configure()
	s.must("apply", "-auto-approve", "-no-color")
	s.wantNoChanges()
	s.kubectl("create", "secret", "generic", "treasure", "--from-literal=where=island")

	file := filepath.Join(s.dir, s.takesBackup())
	s.kubectl("create", "configmap", "later")
	out := s.must("etcd", "backups", "-no-color").out
	wantContains(t, out, "1 backup in /var/backups/kubewright", "etcd, PKI", filepath.Base(file))

	s.rehearses(file, identity)
	s.backsUpBeforeRemoval()
	s.must("destroy", "-auto-approve", "-no-color")
	for _, name := range []string{"kubewright.state.json", "kubewright.journal"} {
		if err := os.RemoveAll(filepath.Join(s.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	s.must("etcd", "restore", "-from-backup="+file, "-age-identity="+identity, "-auto-approve", "-no-color")
	s.must("apply", "-auto-approve", "-no-color")
	s.wantNoChanges()
	if got := s.kubectl("get", "secret", "treasure", "-o", "jsonpath={.data.where}"); got != base64.StdEncoding.EncodeToString([]byte("island")) {
		t.Errorf("the Secret holds %q", got)
	}
	if got := s.kubectl("get", "configmap", "later", "--ignore-not-found"); got != "" {
		t.Errorf("what came after the backup is there: %s", got)
	}
	s.wantCluster()
	s.takesBackup() // of the restored cluster
	if !t.Failed() {
		s.must("destroy", "-auto-approve", "-no-color")
	}
}

// rehearses brings a backup back for a moment beside the cluster: it counts the keys and has the Secret
// decrypted, and leaves nothing.
func (s *site) rehearses(file, identity string) {
	s.t.Helper()
	out := s.must("etcd", "restore", "-rehearse", "-from-backup="+file, "-age-identity="+identity, "-no-color").out
	wantContains(s.t, out, "Backup brought back on", filepath.Base(file), "secrets", "nodes")
	for _, h := range s.planes {
		if left := s.sh(h.Name, "ls -d /var/lib/kubewright/rehears* 2>/dev/null || true"); left != "" {
			s.t.Errorf("%s: the rehearsal has left %s", h.Name, left)
		}
	}
	s.wantNoChanges()
}

// backsUpBeforeRemoval removes a control plane, before which a backup is taken that is decrypted and listed, and
// lets it join again.
func (s *site) backsUpBeforeRemoval() {
	s.t.Helper()
	last := s.planes[2]
	list := func() string { return s.sh(s.planes[0].Name, "ls /var/backups/kubewright") }
	before := list()
	s.planes = s.planes[:2]
	s.configure()
	r := s.must("apply", "-auto-approve", "-no-color")
	wantContains(s.t, r.out, "a backup is taken on", "/etcd-snapshot@backup: backup ", "_before.tar.age is complete", "Apply complete!")
	made := 0
	for name := range strings.FieldsSeq(list()) {
		if strings.HasSuffix(name, "_before.tar.age") && !strings.Contains(before, name) {
			made++
		}
	}
	if made != 1 {
		s.t.Errorf("%d backups were taken before the removal: %s", made, list())
	}
	wantContains(s.t, s.must("etcd", "backups", "-no-color").out, "before a member is removed")
	s.planes = append(s.planes, last)
	s.configure()
	s.must("apply", "-auto-approve", "-no-color")
	s.wantNoChanges()
}

// takesBackup starts the service on every control plane, of which one takes a backup, and fetches it
// into the folder of the operator. It returns its name.
func (s *site) takesBackup() string {
	s.t.Helper()
	names := map[string]string{}
	for _, h := range s.planes {
		before := s.sh(h.Name, "ls /var/backups/kubewright 2>/dev/null || true")
		s.sh(h.Name, "systemctl start kubewright-backup.service || { journalctl -u kubewright-backup -n 20 --no-pager; exit 1; }")
		for name := range strings.FieldsSeq(s.sh(h.Name, "ls /var/backups/kubewright 2>/dev/null || true")) {
			if strings.HasSuffix(name, ".tar.age") && !strings.Contains(before, name) {
				names[name] = h.Name
			}
		}
	}
	if len(names) != 1 {
		s.t.Fatalf("backups of %d control planes: %v", len(s.planes), names)
	}
	for name, on := range names {
		encoded := s.sh(on, "base64 -w0 /var/backups/kubewright/"+name)
		content, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			s.t.Fatal(err)
		}
		if !bytes.HasPrefix(content, []byte("age-encryption.org/v1")) {
			s.t.Errorf("%s is not encrypted", name)
		}
		if err := os.WriteFile(filepath.Join(s.dir, name), content, 0o600); err != nil {
			s.t.Fatal(err)
		}
		return name
	}
	return ""
}

// ageProgram builds the program age, in the version of the library, and returns it.
func ageProgram(t *testing.T, dir string) []byte {
	t.Helper()
	version, err := exec.Command("go", "list", "-m", "-f", "{{.Version}}", "filippo.io/age").Output()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "install", "filippo.io/age/cmd/age@"+strings.TrimSpace(string(version)))
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOBIN="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("cannot build age: %v\n%s", err, out)
	}
	content, err := os.ReadFile(filepath.Join(dir, "age"))
	if err != nil {
		t.Fatal(err)
	}
	return content
}
