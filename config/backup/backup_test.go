package backup

import (
	"archive/tar"
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"filippo.io/age"
)

// TestMain is the test, or age in it: the script runs the program age, with -R FILE -o FILE.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "age" {
		if err := encrypt(os.Args[2], os.Args[4]); err != nil {
			fmt.Fprintln(os.Stderr, "age: error:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func encrypt(recipients, to string) error {
	if why := os.Getenv("AGE_FAILS"); why != "" {
		_ = os.WriteFile(to, []byte("a part"), 0o600)
		return fmt.Errorf("%s", why)
	}
	f, err := os.Open(recipients)
	if err != nil {
		return err
	}
	list, err := age.ParseRecipients(f)
	if err != nil {
		return err
	}
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	w, err := age.Encrypt(out, list...)
	if err != nil {
		return err
	}
	if _, err := io.Copy(w, os.Stdin); err != nil {
		return err
	}
	return w.Close()
}

// machine is a control plane as the script sees it.
type machine struct {
	t          *testing.T
	root, path string
	env        []string
	key        *age.X25519Identity
	plan       Plan
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{t: t, root: t.TempDir(), key: key}
	m.path = filepath.Join(t.TempDir(), "bin")
	m.plan = Plan{
		Cluster: "prod", Schedule: words["daily"], Keep: 2, Recipients: []string{key.Recipient().String()}, Folder: "/srv/it's backups",
		Certificates: "/etc/kubernetes/pki", EtcdData: "/var/lib/etcd",
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(m.path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(m.path, "age")); err != nil {
		t.Fatal(err)
	}
	m.write("/etc/kubernetes/pki/ca.crt", "ca")
	m.write("/etc/kubernetes/pki/ca.key", "ca key")
	m.write("/etc/kubernetes/pki/sa.key", "sa key")
	m.write("/etc/kubernetes/pki/etcd/ca.key", "etcd key")
	m.write("/etc/kubernetes/manifests/kube-apiserver.yaml", "    - kube-apiserver\n    - --encryption-provider-config=/etc/kubernetes/enc/config.yaml\n    image: registry.k8s.io/kube-apiserver:v1.36.3\n")
	m.write("/etc/kubernetes/enc/config.yaml", "enc")
	m.write("/proc/7/comm", "etcd\n")
	m.write("/proc/7/cmdline", "etcd\x00--name=cp1\x00--data-dir=/var/lib/etcd\x00")
	m.write("/proc/8/comm", "etcd\n")
	m.write("/proc/8/cmdline", "etcd\x00--data-dir=/var/lib/other\x00")
	m.etcd("11", "11", snapshotOf("content of etcd"))
	return m
}

// snapshotOf returns a snapshot with its digest behind it.
func snapshotOf(text string) string {
	b := bytes.Repeat([]byte(text), 100)
	sum := sha256.Sum256(b)
	return string(b) + string(sum[:])
}

// etcd makes an etcdctl that prints a status and saves a snapshot.
func (m *machine) etcd(member, leader, snapshot string) {
	m.write("/snapshot", snapshot)
	m.write("/proc/7/root/usr/local/bin/etcdctl", "#!/bin/sh\ncase \"$*\" in\n"+
		"*'endpoint status'*) echo '[{\"Endpoint\":\"x\",\"Status\":{\"header\":{\"cluster_id\":14841639068965178418,\"member_id\":"+member+",\"revision\":4711,\"raft_term\":2},\"version\":\"3.6.4\",\"dbSize\":20480,\"leader\":"+leader+",\"storageVersion\":\"3.6.0\"}}]' ;;\n"+
		"*'snapshot save'*) for f; do :; done; cp "+m.root+"/snapshot \"$f\" ;;\nesac\n")
	if err := os.Chmod(m.root+"/proc/7/root/usr/local/bin/etcdctl", 0o700); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) write(p, content string) {
	m.t.Helper()
	if err := os.MkdirAll(filepath.Dir(m.root+p), 0o700); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(m.root+p, []byte(content), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

// run runs the script with arguments, and returns what it printed.
func (m *machine) run(args ...string) (string, error) {
	m.t.Helper()
	m.write(ScriptPath, Script)
	m.write(SettingsPath, m.plan.Settings())
	m.write(RecipientsPath, m.plan.RecipientsFile())
	if m.plan.S3.Bucket != "" {
		m.write(S3Path, m.plan.S3File())
	}
	cmd := exec.Command("sh", append([]string{m.root + ScriptPath}, args...)...)
	cmd.Env = append([]string{"PATH=" + m.path + ":/usr/local/bin:/usr/bin:/bin", "KUBEWRIGHT_BACKUP_ROOT=" + m.root}, m.env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// takes runs the script, which has to succeed.
func (m *machine) takes() {
	m.t.Helper()
	if out, err := m.run(); err != nil || !strings.Contains(out, "is complete") {
		m.t.Fatalf("%v\n%s", err, out)
	}
}

// fails runs the script, which has to fail with the text, and to report it.
func (m *machine) fails(text string, args ...string) {
	m.t.Helper()
	out, err := m.run(args...)
	if err == nil || !strings.Contains(out, text) {
		m.t.Fatalf("%v\n%s\nwant an error with %q", err, out, text)
	}
	f, ok := ParseFailure(m.read(FailedPath))
	if !ok || !strings.Contains(f.Error, strings.ReplaceAll(text, `"`, "")) {
		m.t.Errorf("reported: %+v, want %q", f, text)
	}
	if _, err := os.Stat(m.root + "/var/lib/kubewright/backup/work"); err == nil {
		m.t.Error("the work folder is left")
	}
}

func (m *machine) read(p string) []byte {
	m.t.Helper()
	b, err := os.ReadFile(m.root + p)
	if err != nil {
		m.t.Fatal(err)
	}
	return b
}

func (m *machine) list(dir string) []string {
	m.t.Helper()
	entries, err := os.ReadDir(m.root + dir)
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// opened decrypts an archive, and returns the content of its files.
func (m *machine) opened(b []byte) map[string]string {
	m.t.Helper()
	r, err := age.Decrypt(bytes.NewReader(b), m.key)
	if err != nil {
		m.t.Fatal(err)
	}
	out := map[string]string{}
	for archive := tar.NewReader(r); ; {
		h, err := archive.Next()
		if err == io.EOF {
			return out
		}
		if err != nil {
			m.t.Fatal(err)
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			m.t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			out[h.Name] = string(content)
		}
	}
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func TestScriptTakesABackup(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.takes()
	last, err := ParseDescription(m.read(LastPath))
	if err != nil {
		t.Fatal(err)
	}
	b := m.read(m.plan.Folder + "/" + last.Name)
	if last.SHA256 != digest(b) || last.Size != int64(len(b)) {
		t.Errorf("described as %+v, is %d bytes of %s", last, len(b), digest(b))
	}
	if bytes.Contains(b, []byte("content of etcd")) || bytes.Contains(b, []byte("ca key")) {
		t.Error("the backup is not encrypted")
	}
	files := m.opened(b)
	if files["snapshot.db"] != snapshotOf("content of etcd") || files["files/etc/kubernetes/pki/etcd/ca.key"] != "etcd key" || files["files/etc/kubernetes/enc/config.yaml"] != "enc" {
		t.Errorf("the archive holds %q", files)
	}
	for f, sum := range last.Manifest.Files {
		name := f
		if f != SnapshotFile {
			name = FilesFolder + f
		}
		if got := digest([]byte(files[name])); got != sum {
			t.Errorf("%s: %s, the manifest has %s", f, got, sum)
		}
	}
	got := last.Manifest
	if got.EtcdID() != "cdf818194e3a8c32" || got.Revision != 4711 || got.Kubernetes != "1.36.3" || got.Etcd != "3.6.4" || !slices.Equal(got.Recipients, m.plan.Recipients) {
		t.Errorf("manifest %+v", got)
	}
	if holds := strings.Join(got.Holds(), ", "); holds != "etcd, PKI, encryption keys" {
		t.Errorf("holds %s", holds)
	}
	if left := m.list("/var/lib/kubewright/backup"); !slices.Equal(left, []string{"index", "last", "lock"}) {
		t.Errorf("left: %q", left)
	}
}

func TestScriptKeepsTheNewest(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	for _, old := range []string{"prod-20260101T000000Z-cp1", "prod-20260102T000000Z-cp2", "prod-eu-20260101T000000Z-cp1", "prod-2-20250101T000000Z-cp1"} {
		m.write(m.plan.Folder+"/"+old+".tar.age", old)
		m.write(m.plan.Folder+"/"+old+".tar.age.json", "{}")
	}
	m.write(m.plan.Folder+"/prod-0-notes.txt", "mine")
	m.takes()
	last, err := ParseDescription(m.read(LastPath))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"prod-0-notes.txt", "prod-2-20250101T000000Z-cp1.tar.age", "prod-2-20250101T000000Z-cp1.tar.age.json", "prod-20260102T000000Z-cp2.tar.age", "prod-20260102T000000Z-cp2.tar.age.json",
		last.Name, last.Name + ".json", "prod-eu-20260101T000000Z-cp1.tar.age", "prod-eu-20260101T000000Z-cp1.tar.age.json",
	}
	if got := m.list(m.plan.Folder); !slices.Equal(got, want) {
		t.Errorf("left: %q\nwant  %q", got, want)
	}
	if index := ParseIndex(m.read(IndexPath)); len(index) != 1 || index[0].Name != last.Name {
		t.Errorf("index %+v", index)
	}
}

// TestScriptLeavesNothingHalfDone checks that an attempt that fails says why, removes what it began,
// keeps what was there, and that the next one completes.
func TestScriptLeavesNothingHalfDone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		breaks, mends func(m *machine)
		text          string
	}{
		"full disk": {
			func(m *machine) { m.env = []string{"AGE_FAILS=write: no space left on device"} },
			func(m *machine) { m.env = nil }, "no space left on device",
		},
		"damaged snapshot": {
			func(m *machine) { m.etcd("11", "11", snapshotOf("content")+"x") },
			func(m *machine) { m.etcd("11", "11", snapshotOf("content")) }, "the snapshot of etcd is damaged",
		},
		"short snapshot": {
			func(m *machine) { m.etcd("11", "11", "short") },
			func(m *machine) { m.etcd("11", "11", snapshotOf("content")) }, "the snapshot of etcd is incomplete: it has 5 bytes",
		},
		"no CA": {
			func(m *machine) { _ = os.Remove(m.root + "/etc/kubernetes/pki/ca.crt") },
			func(m *machine) { m.write("/etc/kubernetes/pki/ca.crt", "ca") }, "there is no /etc/kubernetes/pki/ca.crt",
		},
		"no encryption keys": {
			func(m *machine) { _ = os.Remove(m.root + "/etc/kubernetes/enc/config.yaml") },
			func(m *machine) { m.write("/etc/kubernetes/enc/config.yaml", "enc") }, "encrypts with /etc/kubernetes/enc/config.yaml, and there is no such file",
		},
		"no etcd": {
			func(m *machine) { _ = os.Remove(m.root + "/proc/7/comm") },
			func(m *machine) { m.write("/proc/7/comm", "etcd\n") }, "no etcd with the data in /var/lib/etcd runs here",
		},
		"no age": {
			func(m *machine) { _ = os.Rename(m.path+"/age", m.path+"/away") },
			func(m *machine) { _ = os.Rename(m.path+"/away", m.path+"/age") }, "age is not installed here",
		},
		"no recipient": {
			func(m *machine) { m.plan.Recipients = nil },
			func(m *machine) { m.plan.Recipients = []string{m.key.Recipient().String()} }, "no recipient is in /etc/kubernetes/backup/recipients",
		},
		"no folder": {
			func(m *machine) { m.write("/srv", "a file") },
			func(m *machine) { _ = os.Remove(m.root + "/srv") }, "the folder /srv/it's backups cannot be made",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			before := m.plan.Folder + "/prod-20260101T000000Z-cp1.tar.age"
			if name != "no folder" {
				m.write(before, "earlier")
			}
			c.breaks(m)
			m.fails(c.text)
			if got := m.list(m.plan.Folder); name != "no folder" && !slices.Equal(got, []string{filepath.Base(before)}) {
				t.Errorf("left in the folder: %q", got)
			}
			c.mends(m)
			m.takes()
			if slices.Contains(m.list("/var/lib/kubewright/backup"), "failed") {
				t.Error("the failure is still reported")
			}
		})
	}
}

func TestScriptLeavesTheBackupToTheLeader(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.etcd("11", "12", snapshotOf("content"))
	out, err := m.run()
	if err != nil || !strings.Contains(out, "the etcd of another control plane leads") {
		t.Fatalf("%v\n%s", err, out)
	}
	if got := m.list(m.plan.Folder); len(got) > 0 {
		t.Errorf("taken: %q", got)
	}
}

// bucket stores what is put with the right signature, and answers nothing else.
type bucket struct {
	secret string
	refuse bool
	full   bool
	mu     sync.Mutex
	stored map[string][]byte
}

func (b *bucket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || r.Method != http.MethodPut || b.refuse || !b.signed(r, body) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, "<Error><Code>AccessDenied</Code><Message>Access Denied by the policy</Message></Error>")
		return
	}
	if b.full {
		w.WriteHeader(http.StatusConflict)
		_, _ = io.WriteString(w, "<Error><Code>QuotaExceeded</Code><Message>Quota exceeded for the bucket</Message></Error>")
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stored[r.URL.Path] = body
}

// signed checks the signature of a request (AWS Signature Version 4).
func (b *bucket) signed(r *http.Request, body []byte) bool {
	field := map[string]string{}
	for part := range strings.SplitSeq(strings.TrimPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 "), ",") {
		k, v, _ := strings.Cut(strings.TrimSpace(part), "=")
		field[k] = v
	}
	if r.Header.Get("X-Amz-Content-Sha256") != digest(body) {
		return false
	}
	request := r.Method + "\n" + r.URL.EscapedPath() + "\n\n"
	for h := range strings.SplitSeq(field["SignedHeaders"], ";") {
		value := r.Header.Get(h)
		if h == "host" {
			value = r.Host
		}
		request += h + ":" + value + "\n"
	}
	request += "\n" + field["SignedHeaders"] + "\n" + digest(body)
	_, scope, _ := strings.Cut(field["Credential"], "/")
	key := []byte("AWS4" + b.secret)
	sign := func(text string) []byte {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(text))
		return h.Sum(nil)
	}
	for part := range strings.SplitSeq(scope, "/") {
		key = sign(part)
	}
	return field["Signature"] == hex.EncodeToString(sign("AWS4-HMAC-SHA256\n"+r.Header.Get("X-Amz-Date")+"\n"+scope+"\n"+digest([]byte(request))))
}

// TestScriptPutsIntoABucket checks that a credential suffices that can only put, and what happens when
// the bucket refuses.
func TestScriptPutsIntoABucket(t *testing.T) {
	t.Parallel()
	b := &bucket{secret: `s3"cr\et`, refuse: true, stored: map[string][]byte{}}
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	m := newMachine(t)
	m.plan.Folder, m.plan.S3 = "", S3{Bucket: "backups", Region: "eu-west-1", Endpoint: server.URL, Prefix: "/clusters/", AccessKey: "AKTEST", SecretKey: b.secret}
	m.fails("Access Denied by the policy")
	b.refuse = false
	m.takes()
	last, err := ParseDescription(m.read(LastPath))
	if err != nil {
		t.Fatal(err)
	}
	stored := b.stored["/backups/clusters/"+last.Name]
	if digest(stored) != last.SHA256 || m.opened(stored)["snapshot.db"] == "" || len(b.stored) != 2 {
		t.Errorf("stored: %d objects, %d bytes", len(b.stored), len(stored))
	}
	if d, err := ParseDescription(b.stored["/backups/clusters/"+last.Name+".json"]); err != nil || d.Name != last.Name {
		t.Errorf("%+v, %v", d, err)
	}
	if index := ParseIndex(m.read(IndexPath)); len(index) != 1 {
		t.Errorf("index %+v", index)
	}
}

func TestScriptPutsIntoAFolderAndABucket(t *testing.T) {
	t.Parallel()
	b := &bucket{secret: "secret", stored: map[string][]byte{}}
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	m := newMachine(t)
	m.plan.S3 = S3{Bucket: "backups", Region: "eu-west-1", Endpoint: server.URL, AccessKey: "AKTEST", SecretKey: b.secret}
	m.takes()
	last, err := ParseDescription(m.read(LastPath))
	if err != nil {
		t.Fatal(err)
	}
	if digest(b.stored["/backups/"+last.Name]) != last.SHA256 || digest(m.read(m.plan.Folder+"/"+last.Name)) != last.SHA256 {
		t.Errorf("not in both: %+v", last)
	}
}

func TestDescriptionsOfHostsAreChecked(t *testing.T) {
	t.Parallel()
	sum := strings.Repeat("a", 64)
	good := `{"name":"a-1.tar.age","size":1,"sha256":"` + sum + `","manifest":{"format":1,"cluster":"a","time":"2026-01-01T00:00:00Z","files":{"snapshot.db":"` + sum + `"}}}`
	if _, err := ParseDescription([]byte(good)); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{
		"", "{}", "null", strings.Replace(good, `"format":1`, `"format":2`, 1), strings.Replace(good, "a-1.tar.age", "../a.tar.age", 1),
		strings.Replace(good, `"snapshot.db"`, `"../x"`, 1), strings.Replace(good, `"size":1`, `"size":-1`, 1), strings.Replace(good, sum, "short", 1),
	} {
		if _, err := ParseDescription([]byte(bad)); err == nil {
			t.Errorf("accepted: %s", bad)
		}
	}
	if got := ParseIndex([]byte("x\n" + good + "\n\n")); len(got) != 1 {
		t.Errorf("%+v", got)
	}
}
