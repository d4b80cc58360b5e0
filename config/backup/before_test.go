package backup

import (
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// before and a risk are the arguments with which a plan has the script take a backup.
const before = "before"

// TestScriptTakesABackupBeforeARisk checks that a plan gets its backup whichever etcd leads, that it says what
// for, and that a plan that continues finds it.
func TestScriptTakesABackupBeforeARisk(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.etcd("11", "12", snapshotOf("content of etcd"))
	take := func(want string, args ...string) Description {
		t.Helper()
		out, err := m.run(append([]string{before}, args...)...)
		if err != nil || !strings.HasSuffix(strings.TrimSpace(out), want) {
			t.Fatalf("%v\n%s", err, out)
		}
		d, err := ParseDescription(m.read(LastPath))
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	d := take("_before.tar.age is complete", "a member is removed")
	if d.Manifest.Before != "a member is removed" || d.SHA256 != digest(m.read(m.plan.Folder+"/"+d.Name)) {
		t.Errorf("%+v", d)
	}
	if files := m.opened(m.read(m.plan.Folder + "/" + d.Name)); !strings.Contains(files[ManifestFile], `"before":"a member is removed"`) {
		t.Errorf("manifest %s", files[ManifestFile])
	}
	since := d.Manifest.Time.Format("20060102150405")
	if again := take(d.Name+" is there already", "a member is removed", since); again.Name != d.Name {
		t.Errorf("taken again: %s", again.Name)
	}
	if other := take("is complete", "a version changes", since); other.Manifest.Before != "a version changes" {
		t.Error("a backup before another risk counts")
	}
	if d = take("is complete", "a version changes", "29990101000000"); d.Manifest.Before != "a version changes" {
		t.Errorf("an older backup counts: %+v", d)
	}
	if err := syscall.Unlink(m.root + m.plan.Folder + "/" + d.Name); err != nil {
		t.Fatal(err)
	}
	take("is complete", "a version changes", since)
}

// TestScriptKeepsTheKindsApart checks that backups before risks do not push out those of the timer, and
// the other way round.
func TestScriptKeepsTheKindsApart(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	for _, old := range []string{
		"prod-20260101T000000Z-cp1", "prod-20260102T000000Z-cp1", "prod-20260103T000000Z-cp1_before", "prod-20260104T000000Z-cp1_before", "prod-20260105T000000Z-cp1_before",
	} {
		m.write(m.plan.Folder+"/"+old+".tar.age", old)
	}
	if out, err := m.run(before, "a member is removed"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	last, err := ParseDescription(m.read(LastPath))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"prod-20260101T000000Z-cp1.tar.age", "prod-20260102T000000Z-cp1.tar.age", "prod-20260105T000000Z-cp1_before.tar.age", last.Name, last.Name + ".json"}
	if got := m.list(m.plan.Folder); !slices.Equal(got, want) {
		t.Errorf("left: %q\nwant  %q", got, want)
	}
	m.takes()
	timers, err := ParseDescription(m.read(LastPath))
	if err != nil || timers.Manifest.Before != "" {
		t.Fatalf("%+v, %v", timers, err)
	}
	want = []string{"prod-20260102T000000Z-cp1.tar.age", "prod-20260105T000000Z-cp1_before.tar.age", timers.Name, timers.Name + ".json", last.Name, last.Name + ".json"}
	slices.Sort(want)
	if got := m.list(m.plan.Folder); !slices.Equal(got, want) {
		t.Errorf("left: %q\nwant  %q", got, want)
	}
}

// TestScriptFailsBeforeARisk checks what stands against a backup before a risk alone.
func TestScriptFailsBeforeARisk(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.etcd("11", "0", snapshotOf("content"))
	m.fails("the etcd of this host knows no leader", before, "a member is removed")
	m.etcd("11", "12", snapshotOf("content"))
	m.env = []string{"KUBEWRIGHT_BACKUP_WAIT=0"}
	lock, err := syscall.Open(filepath.Join(m.root, "var/lib/kubewright/backup/lock"), syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(lock)
	if err := syscall.Flock(lock, syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	m.fails("another backup has been running here for 20 minutes", before, "a member is removed")
	if out, err := m.run(); err != nil || !strings.Contains(out, "another backup runs") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestScriptListsBothKindsOfABucket checks that a host lists as many of each kind as it keeps.
func TestScriptListsBothKindsOfABucket(t *testing.T) {
	t.Parallel()
	b := &bucket{secret: "secret", stored: map[string][]byte{}}
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	m := newMachine(t)
	m.plan.Folder, m.plan.S3, m.plan.Keep = "", S3{Bucket: "backups", Region: "eu-west-1", Endpoint: server.URL, AccessKey: "AKTEST", SecretKey: b.secret}, 1
	m.takes()
	for range 2 {
		if out, err := m.run(before, "a version changes"); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	index := ParseIndex(m.read(IndexPath))
	if len(index) != 2 || index[0].Manifest.Before != "" || index[1].Manifest.Before != "a version changes" {
		t.Errorf("index %+v", index)
	}
	b.full = true
	m.fails("Quota exceeded", before, "a version changes")
}
