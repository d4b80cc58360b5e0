package shell_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/hosttest"
	"github.com/kubewright/kubewright/providers/local"
	"github.com/kubewright/kubewright/providers/shell"
	"github.com/kubewright/kubewright/state"
)

// spy is this machine as a transport that records its traffic.
type spy struct {
	local.Machine
	mu       sync.Mutex
	commands []string
	stdout   bytes.Buffer
	// tamper, if set, changes the answer to the nth command.
	tamper func(n int, answer string) string
}

func (s *spy) Exec(ctx context.Context, command string, stdin io.Reader, stdout, stderr io.Writer) (int, error) {
	s.mu.Lock()
	s.commands = append(s.commands, command)
	n := len(s.commands)
	s.mu.Unlock()
	if s.tamper == nil {
		return s.Machine.Exec(ctx, command, stdin, io.MultiWriter(stdout, &s.stdout), stderr)
	}
	var answer strings.Builder
	exit, err := s.Machine.Exec(ctx, command, stdin, &answer, stderr)
	_, _ = io.WriteString(stdout, s.tamper(n, answer.String()))
	return exit, err
}

// newHost returns a host whose files are below root.
func newHost(t *testing.T) (h *shell.Host, root string, s *spy) {
	t.Helper()
	root = t.TempDir()
	if err := errors.Join(os.Chmod(root, 0o755), os.Mkdir(root+"/etc", 0o755)); err != nil {
		t.Fatal(err)
	}
	s = &spy{}
	return shell.New("cp1", s, shell.Options{Root: root, Unprivileged: true}), root, s
}

func put(t *testing.T, path, content string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o600)); err != nil {
		t.Fatal(err)
	}
}

func write(path, content string) planner.WriteFile {
	return planner.WriteFile{Path: path, Mode: "0600", Content: planner.Content{Inline: content}}
}

func perform(t *testing.T, h *shell.Host, ops ...planner.Operation) ([]providers.Outcome, error) {
	t.Helper()
	return h.Perform(t.Context(), providers.Batch{Token: 1, Operations: ops})
}

// TestEachCallIsOneCommand checks that each call is one command, and always the same one.
func TestEachCallIsOneCommand(t *testing.T) {
	t.Parallel()
	h, root, s := newHost(t)
	put(t, root+"/etc/a", "a")
	_, err := h.Observe(t.Context(), state.Query{Files: []state.FileQuery{{Path: "/etc/a", Read: state.ReadContent}}, Units: []string{"x.service"}, Images: true, Preflight: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := perform(t, h, write("/etc/b", "secret-content"), write("/etc/c", "c"), planner.RemovePath{Path: "/etc/kubernetes/x"}); err != nil {
		t.Fatal(err)
	}
	if len(s.commands) != 2 || s.commands[0] != shell.CommandLine || s.commands[1] != shell.CommandLine {
		t.Errorf("commands: %q", s.commands)
	}
}

// TestSymlinksAreNotFollowed checks that a link in the target's place is replaced, and that
// one on the way to it is trusted only if only root could have made it.
func TestSymlinksAreNotFollowed(t *testing.T) {
	t.Parallel()
	h, root, _ := newHost(t)
	shadow := root + "/shadow"
	put(t, shadow, "untouched")
	if err := os.Symlink(shadow, root+"/etc/link"); err != nil {
		t.Fatal(err)
	}
	if _, err := perform(t, h, write("/etc/link", "mine")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(root + "/etc/link"); err != nil || info.Mode().Type() != 0 {
		t.Errorf("the link still exists: %v, %v", info, err)
	}

	// Removing a link removes the link itself; emptying one is refused.
	put(t, root+"/data/precious", "x")
	for _, op := range []planner.RemovePath{{Path: "/etc/kubernetes/dir"}, {Path: "/etc/kubernetes/dir", ContentsOnly: true}} {
		if err := os.MkdirAll(root+"/etc/kubernetes", 0o755); err != nil {
			t.Fatal(err)
		}
		_ = os.Symlink(root+"/data", root+"/etc/kubernetes/dir")
		_, err := perform(t, h, op)
		if op.ContentsOnly {
			says(t, op, err, "/etc/kubernetes/dir is a link, and through a link nothing is emptied: mount the folder there instead (mount --bind), and try again")
		} else if err != nil {
			t.Errorf("%+v: %v", op, err)
		}
	}
	for _, path := range []string{"/data/precious", "/shadow"} {
		if _, err := os.Stat(root + path); err != nil {
			t.Error(err)
		}
	}
	if b, _ := os.ReadFile(shadow); string(b) != "untouched" {
		t.Errorf("the link's target holds %q", b)
	}

	// A folder that is root's own link to another place is used.
	if err := os.Symlink(root+"/data", root+"/etc/moved"); err != nil {
		t.Fatal(err)
	}
	if _, err := perform(t, h, write("/etc/moved/new", "x"), planner.EnsureDirectory{Path: "/etc/moved", Mode: "0700"}); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(root + "/data"); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
}

// TestUnsafeFoldersAreRefused checks that nothing is written where others could interfere.
func TestUnsafeFoldersAreRefused(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(root string) error{
		"world-writable":       func(root string) error { return os.Chmod(root+"/etc/x", 0o777) },
		"sticky":               func(root string) error { return os.Chmod(root+"/etc/x", 0o1777) },
		"world-writable above": func(root string) error { return os.Chmod(root+"/etc", 0o757) },
		"another user's":       func(root string) error { return os.Chown(root+"/etc/x", 12345, 0) },
		"group of another user's": func(root string) error {
			return errors.Join(os.Chown(root+"/etc/x", 0, 12345), os.Chmod(root+"/etc/x", 0o775))
		},
		"link to an unsafe one": func(root string) error {
			return errors.Join(os.Mkdir(root+"/open", 0o755), os.Chmod(root+"/open", 0o777), os.Mkdir(root+"/open/x", 0o755),
				os.Remove(root+"/etc/x"), os.Symlink(root+"/open/x", root+"/etc/x"))
		},
		"file in the way": func(root string) error {
			return errors.Join(os.Remove(root+"/etc/x"), os.WriteFile(root+"/etc/x", nil, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, root, _ := newHost(t)
			if err := os.Mkdir(root+"/etc/x", 0o755); err != nil {
				t.Fatal(err)
			}
			if err := prepare(root); errors.Is(err, os.ErrPermission) {
				t.Skip(err)
			} else if err != nil {
				t.Fatal(err)
			}
			for _, op := range []planner.Operation{
				write("/etc/x/file", "x"), write("/etc/x/new/file", "x"), planner.EnsureDirectory{Path: "/etc/x/dir", Mode: "0700"},
			} {
				_, err := perform(t, h, op)
				var command *providers.CommandError
				if !errors.As(err, &command) {
					t.Errorf("%s: got %v, want a CommandError", op.Summary(), err)
				}
			}
			if left, _ := os.ReadDir(root + "/etc/x"); len(left) != 0 {
				t.Errorf("%v was made", left)
			}
		})
	}
}

// TestKeysStayOnTheHost checks that only the public parts of certificates and kubeconfigs
// are requested; the answer holds no key even if one is in the same file.
func TestKeysStayOnTheHost(t *testing.T) {
	t.Parallel()
	h, root, s := newHost(t)
	cert, key := certificate(t)
	put(t, root+"/etc/both.pem", string(key)+string(cert)+string(key))
	enc := base64.StdEncoding.EncodeToString
	kubeconfig := fmt.Sprintf(`apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: %s
    server: https://10.0.0.1:6443
  name: kubernetes
contexts:
- context:
    cluster: kubernetes
    user: kubernetes-admin
  name: kubernetes-admin@kubernetes
current-context: kubernetes-admin@kubernetes
kind: Config
preferences: {}
users:
- name: kubernetes-admin
  user:
    client-certificate-data: %s
    client-key-data: %s
    token: top-secret-token
`, enc(cert), enc(cert), enc(key))
	put(t, root+"/etc/admin.conf", kubeconfig)
	flow := fmt.Sprintf(`{"users":[{"name":"a","user":{"client-key-data":"%s"}}]}`, enc(key))
	put(t, root+"/etc/flow.conf", flow+"\nusers: "+flow+"\n")
	put(t, root+"/etc/folded.conf", "users:\n- user:\n    client-key-data: >-\n      "+enc(key)+"\n")
	q := state.Query{Files: []state.FileQuery{
		{Path: "/etc/both.pem", Read: state.ReadCertificate},
		{Path: "/etc/admin.conf", Read: state.ReadKubeconfig},
		{Path: "/etc/flow.conf", Read: state.ReadKubeconfig},
		{Path: "/etc/folded.conf", Read: state.ReadKubeconfig},
	}}
	r, err := h.Observe(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	if f := r.Files["/etc/both.pem"]; len(f.Certificates) != 1 || f.Certificates[0].CommonName != "kubernetes" || f.Certificates[0].IssuerKeyDigest == "" || f.Content != nil {
		t.Errorf("certificate: %+v", f)
	}
	k := r.Files["/etc/admin.conf"].Kubeconfig
	if k == nil || k.Server != "https://10.0.0.1:6443" || k.Client == nil || !k.Token || len(k.CAs) != 1 {
		t.Errorf("kubeconfig: %+v, %s", k, r.Files["/etc/admin.conf"].Invalid)
	}
	said := strings.ReplaceAll(s.stdout.String(), "\n", "")
	for _, secret := range []string{enc(key)[40:80], strings.Split(string(key), "\n")[1], "top-secret-token"} {
		if strings.Contains(said, secret) {
			t.Errorf("%q left the host", secret)
		}
	}
}

// TestKubeconfigOfAnIPv6Server checks that the brackets of an IPv6 server are not taken for
// the beginning of a list.
func TestKubeconfigOfAnIPv6Server(t *testing.T) {
	t.Parallel()
	h, root, _ := newHost(t)
	const text = "apiVersion: v1\nclusters:\n- cluster:\n    server: %s\n  name: kubernetes\ncontexts:\n- context:\n    cluster: kubernetes\n    user: a\n" +
		"  name: a@kubernetes\ncurrent-context: a@kubernetes\nkind: Config\nusers:\n- name: a\n  user: {}\n"
	for name, server := range map[string]string{"plain": "https://[fd00:77::b]:6443", "quoted": `"https://[fd00:77::b]:6443"`} {
		put(t, root+"/etc/"+name+".conf", fmt.Sprintf(text, server))
		r, err := h.Observe(t.Context(), state.Query{Files: []state.FileQuery{{Path: "/etc/" + name + ".conf", Read: state.ReadKubeconfig}}})
		if err != nil {
			t.Fatal(err)
		}
		f := r.Files["/etc/"+name+".conf"]
		if f.Kubeconfig == nil || f.Kubeconfig.Server != "https://[fd00:77::b]:6443" {
			t.Errorf("%s: %+v, %s", name, f.Kubeconfig, f.Invalid)
		}
	}
}

// certificate makes a CA as kubeadm does, and its key, in PEM.
func certificate(t *testing.T) (cert, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "kubernetes"}, DNSNames: []string{"kubernetes"},
		NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
}

func TestHTTPStatusTrustsTheClustersCA(t *testing.T) {
	t.Parallel()
	web := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/elsewhere", http.StatusFound)
	}))
	web.Config.ErrorLog = log.New(io.Discard, "", 0)
	web.StartTLS()
	defer web.Close()
	h, root, _ := newHost(t)
	if status, err := h.HTTPStatus(t.Context(), web.URL, ""); err != nil || status != http.StatusFound {
		t.Errorf("insecure: %d, %v", status, err)
	}
	if _, err := h.HTTPStatus(t.Context(), web.URL, "/etc/kubernetes/pki/ca.crt"); err == nil {
		t.Error("trusted without a CA")
	}
	put(t, root+"/etc/kubernetes/pki/ca.crt", "no certificate")
	_, err := h.HTTPStatus(t.Context(), web.URL, "/etc/kubernetes/pki/ca.crt")
	says(t, "a CA without a certificate", err, "cannot verify TLS: cp1 has no certificate in /etc/kubernetes/pki/ca.crt")
	other, _ := certificate(t)
	put(t, root+"/etc/kubernetes/pki/ca.crt", string(other))
	if _, err := h.HTTPStatus(t.Context(), web.URL, "/etc/kubernetes/pki/ca.crt"); err == nil {
		t.Error("trusted by another CA")
	}
	h, root, _ = newHost(t)
	put(t, root+"/etc/kubernetes/pki/ca.crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw})))
	if status, err := h.HTTPStatus(t.Context(), web.URL, "/etc/kubernetes/pki/ca.crt"); err != nil || status != http.StatusFound {
		t.Errorf("verified: %d, %v", status, err)
	}
}

// TestPipeDoesNotBlockObservation checks that a pipe does not block the observation.
func TestPipeDoesNotBlockObservation(t *testing.T) {
	t.Parallel()
	h, root, _ := newHost(t)
	if err := syscall.Mkfifo(root+"/etc/pipe", 0o600); err != nil {
		t.Fatal(err)
	}
	put(t, root+"/etc/large", strings.Repeat("x", 1<<20+1))
	if err := os.Symlink("nowhere", root+"/etc/dangling"); err != nil {
		t.Fatal(err)
	}
	var q state.Query
	put(t, root+"/srv/keys/ca.key", "key")
	for _, link := range [][2]string{{"ca.key", "../srv/../srv/keys/ca.key"}, {"twice", "ca.key"}, {"folder", "/"}} {
		if err := os.Symlink(link[1], root+"/etc/"+link[0]); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"/etc/pipe", "/etc/large", "/etc", "/etc/dangling", "/etc/ca.key", "/etc/twice", "/etc/folder"} {
		q.Files = append(q.Files, state.FileQuery{Path: path, Read: state.ReadContent})
	}
	r, err := h.Observe(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	if f := r.Files["/etc/pipe"]; f.Type != "other" || f.Content != nil {
		t.Errorf("pipe: %+v", f)
	}
	if f := r.Files["/etc/large"]; f.Content != nil || f.SHA256 == "" || f.Invalid == "" {
		t.Errorf("large: %+v", f)
	}
	if f := r.Files["/etc"]; f.Type != "directory" || f.Entries != 6 {
		t.Errorf("folder: %+v", f)
	}
	if f := r.Files["/etc/dangling"]; f.Type != "link" || f.Link != "nowhere" || !f.Exists || f.Target != "" {
		t.Errorf("dangling link: %+v", f)
	}
	if f := r.Files["/etc/folder"]; f.Type != "link" || f.Target != "" {
		t.Errorf("link to a folder: %+v", f)
	}
	info, err := os.Stat(root + "/srv/keys/ca.key")
	if err != nil {
		t.Fatal(err)
	}
	mode := fmt.Sprintf("%04o", info.Mode().Perm())
	for _, path := range []string{"/etc/ca.key", "/etc/twice"} {
		if f := r.Files[path]; f.Type != "link" || f.Target != "/srv/keys/ca.key" || f.TargetMode != mode || f.TargetOwner != r.Files["/etc/large"].Owner {
			t.Errorf("link to a file: %+v", f)
		}
	}
}

// says checks that an error contains a text.
func says(t *testing.T, what any, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("%#v: error %v, want one that says %q", what, err, text)
	}
}

func TestInvalidQueriesAreRefused(t *testing.T) {
	t.Parallel()
	h, _, s := newHost(t)
	for _, test := range []struct {
		query state.Query
		text  string
	}{
		{state.Query{Files: []state.FileQuery{{Path: "relative"}}}, `path "relative" is not absolute`},
		{state.Query{Files: []state.FileQuery{{Path: "/a/../b"}}}, `path "/a/../b" is not in its shortest form`},
		{state.Query{Files: []state.FileQuery{{Path: "/a\nb"}}}, `path "/a\nb" contains '\n'`},
		{state.Query{Files: []state.FileQuery{{Path: `/a\b`}}}, `path "/a\\b" contains '\\'`},
		{state.Query{Files: []state.FileQuery{{Path: "/a", Read: "everything"}}}, "internal error"},
		{state.Query{Globs: []string{"*"}}, `pattern "*" is not absolute`},
		{state.Query{Units: []string{"--now"}}, `unit "--now" is not a plain name`},
		{state.Query{Units: []string{"a b"}}, `unit "a b" is not a plain name`},
		{state.Query{Sysctls: []string{"a;b"}}, `"a;b" is not a plain name`},
		{state.Query{Modules: []string{""}}, `"" is not a plain name`},
		{state.Query{Commands: []string{"$(id)"}}, `"$(id)" is not a plain name`},
		{state.Query{Secrets: []string{"x"}}, `path "x" is not absolute`},
		{state.Query{Packages: state.PackageQuery{Names: []string{"kubelet"}, Version: "1 2"}}, `"1 2" is no name or version of a package`},
	} {
		_, err := h.Observe(t.Context(), test.query)
		says(t, test.query, err, test.text)
	}
	if len(s.commands) != 0 {
		t.Errorf("%d commands", len(s.commands))
	}
}

func TestInvalidOperationsAreRefused(t *testing.T) {
	t.Parallel()
	h, _, s := newHost(t)
	none := strings.Repeat("0", 64)
	for _, test := range []struct {
		op   planner.Operation
		text string
	}{
		{write("relative", ""), `path "relative" is not absolute`},
		{write("/a/../b", ""), "is not in its shortest form"},
		{planner.WriteFile{Path: "/etc/a", Mode: "rw"}, `mode "rw" is not octal`},
		{planner.WriteFile{Path: "/etc/a", Mode: "0600", Owner: "root; id"}, `owner "root; id" is not USER:GROUP`},
		{planner.WriteFile{Path: "/etc/a", Mode: "0600", Content: planner.Content{Ref: "nobody:brought"}}, "internal error"},
		{planner.WriteFile{Path: "/etc/a", Mode: "0600", SHA256: none}, "its content has digest e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855, planned was " + none},
		{planner.Unit{Unit: "kubelet", Action: "mask"}, "internal error"},
		{planner.TakeBackup{Script: "/etc/backup.sh", SHA256: strings.Repeat("0", 64), Before: "\"; reboot"}, "names no risk"},
		{planner.Unit{Unit: "-x", Action: "start"}, `unit "-x" is not a plain name`},
		{planner.LoadImage{Image: "--help", Socket: "unix:///run/x"}, `"--help" is no image`},
		{planner.LoadImage{Image: "a", Socket: "tcp://x"}, `path "tcp://x" is not absolute`},
		{planner.SetSysctl{Name: "a b"}, `"a b" is not a plain name`},
		{planner.LoadModule{Module: "-r"}, `"-r" is not a plain name`},
		{planner.RemoveNetwork{Links: []string{"*"}}, `"*" is no pattern of link names`},
		{planner.RemoveProxyRules{Mode: "nftables"}, `"nftables" is no mode of kube-proxy that leaves rules`},
		{planner.Unmount{Below: "/"}, "/ belongs to the whole machine"},
		{planner.Unmount{Below: "/var/lib"}, "/var/lib belongs to the whole machine"},
		{planner.RemovePath{Path: "/etcd"}, "/etcd belongs to the whole machine"},
		{planner.RemovePath{Path: "/etc", ContentsOnly: true}, "/etc belongs to the whole machine"},
		{planner.Unmount{Below: "/var/lib/kubelet", Flags: []string{"MNT_EXPIRE"}}, `umount has no option for "MNT_EXPIRE"`},
		{planner.Cordon{Node: "x"}, "internal error"},
		{planner.RemovePods{Socket: "x"}, `path "x" is not absolute`},
		{planner.Packages{Manager: "apt", Repository: "/etc/x", List: []planner.Package{{Name: "a", Version: "$(id)"}}}, `"a" in version "$(id)" is no package`},
	} {
		out, err := perform(t, h, test.op)
		says(t, test.op, err, test.text)
		if len(out) != 0 {
			t.Errorf("%#v: %v", test.op, out)
		}
	}
	archive := providers.Batch{
		Operations: []planner.Operation{planner.UploadArtifact{Artifact: "a", SHA256: none, Files: []planner.ArtifactFile{{Member: "../x", Path: "/etc/x", Mode: "0600", SHA256: none}}}},
		Artifacts:  map[string]providers.Artifact{"a": {}},
	}
	_, err := h.Perform(t.Context(), archive)
	says(t, "a member outside", err, `"../x" is no plain name in an archive`)
	_, err = h.Perform(t.Context(), providers.Batch{Lineage: "two words"})
	says(t, "lineage of two words", err, `lineage "two words" is no word`)
	if len(s.commands) != 0 {
		t.Errorf("%d commands", len(s.commands))
	}
}

// TestDigestOfUnchangedFileIsReused checks that the digest of a large file is not recomputed while the file
// is the one that was written, and is recomputed otherwise.
func TestDigestOfUnchangedFileIsReused(t *testing.T) {
	t.Parallel()
	h, root, _ := newHost(t)
	content := []byte("a large program")
	sum := sha256.Sum256(content)
	digest := hex.EncodeToString(sum[:])
	path := "/usr/local/bin/with blank"
	b := providers.Batch{
		Operations: []planner.Operation{
			planner.UploadArtifact{Artifact: "a", SHA256: digest, Files: []planner.ArtifactFile{{Path: path, Mode: "0755", SHA256: digest}}}, write("/etc/other", "x"),
		},
		Artifacts: map[string]providers.Artifact{"a": {Size: int64(len(content)), Open: func() (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(content)), nil
		}}},
	}
	if _, err := h.Perform(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	look := func() string {
		t.Helper()
		r, err := h.Observe(t.Context(), state.Query{Files: []state.FileQuery{{Path: path, Read: state.ReadDigest}, {Path: "/etc/other", Read: state.ReadDigest}}})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Files["/etc/other"].SHA256; !strings.HasPrefix(got, "2d711642b726b044") {
			t.Errorf("the other file has digest %s", got)
		}
		return r.Files[path].SHA256
	}
	if got := look(); got != digest {
		t.Errorf("got %s, want %s", got, digest)
	}
	notes, err := os.ReadFile(root + "/var/lib/kubewright/digests")
	if err != nil {
		t.Fatal(err)
	}
	told := strings.Repeat("0", 64)
	put(t, root+"/var/lib/kubewright/digests", strings.Replace(string(notes), digest, told, 1))
	if got := look(); got != told {
		t.Errorf("the file is read although it is known: %s", got)
	}
	for _, mode := range []os.FileMode{0o777, 0o700} {
		if err := os.Chmod(root+"/var/lib/kubewright", mode); err != nil {
			t.Fatal(err)
		}
		if got := look(); (got == digest) != (mode == 0o777) {
			t.Errorf("where the notes are in a folder of mode %o the digest is %s", mode, got)
		}
	}
	// Other content of the same size and with the same modification time.
	info, err := os.Stat(root + path)
	if err != nil {
		t.Fatal(err)
	}
	put(t, root+path, "a large PROGRAM")
	if err := os.Chtimes(root+path, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if got := look(); got == told || got == digest {
		t.Errorf("a changed file has its previous digest: %s", got)
	}
}

// TestNamesWithControlCharactersAreNotReported checks that such names are not reported for a pattern.
func TestNamesWithControlCharactersAreNotReported(t *testing.T) {
	t.Parallel()
	h, root, _ := newHost(t)
	put(t, root+"/etc/kubernetes/x\x1b[1m", "")
	r, err := h.Observe(t.Context(), state.Query{Globs: []string{"/etc/kubernetes/*"}})
	if err != nil || len(r.Files) != 0 {
		t.Errorf("%v, %v: a name with control characters came through", r, err)
	}
}

// TestLeftoversOfKilledBatchAreRemoved checks that the leftovers of a killed batch are removed by the next.
func TestLeftoversOfKilledBatchAreRemoved(t *testing.T) {
	t.Parallel()
	h, root, _ := newHost(t)
	put(t, root+"/etc/.file.kubewright-OLDNONCE", "half")
	put(t, root+"/var/lib/kubewright/part-OLDNONCE", "half")
	if _, err := perform(t, h, write("/etc/file", "whole")); err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{"/etc/.file*", "/var/lib/kubewright/part*"} {
		if left, _ := filepath.Glob(root + pattern); len(left) != 0 {
			t.Errorf("%v is left", left)
		}
	}
}

func TestRunTokenIsStoredOnHost(t *testing.T) {
	t.Parallel()
	h, root, _ := newHost(t)
	if _, err := h.Perform(t.Context(), providers.Batch{Token: 41, Lineage: "b71e", Operations: []planner.Operation{write("/etc/a", "")}}); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(root + "/var/lib/kubewright/token"); err != nil || string(b) != "41 b71e\n" {
		t.Errorf("%q, %v", b, err)
	}
	info, err := os.Stat(root + "/var/lib/kubewright")
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	_, err = h.Perform(t.Context(), providers.Batch{Token: 40, Lineage: "b71e"})
	if !errors.Is(err, providers.ErrSuperseded) {
		t.Errorf("got %v", err)
	}
	says(t, "a lower token", err, "run 41 has begun there, this is run 40")
}

// TestFileChangingDuringReadIsReadAgain checks that a file that changes while it is read is read again, and that
// one that keeps changing is an error, not a mixture of old and new.
func TestFileChangingDuringReadIsReadAgain(t *testing.T) {
	t.Parallel()
	h, root, s := newHost(t)
	put(t, root+"/etc/a", "hello\n")
	q := state.Query{Files: []state.FileQuery{{Path: "/etc/a", Read: state.ReadContent}}}
	moves := 2
	s.tamper = func(n int, answer string) string {
		if n > moves {
			return answer
		}
		return strings.Replace(answer, "5891b5b522d5df08", "0000b5b522d5df08", 1)
	}
	r, err := h.Observe(t.Context(), q)
	if err != nil || string(r.Files["/etc/a"].Content) != "hello\n" || len(s.commands) != 3 {
		t.Errorf("%d commands, %v, %+v", len(s.commands), err, r)
	}
	moves = 100
	_, err = h.Observe(t.Context(), q)
	if !errors.Is(err, providers.ErrProtocol) {
		t.Errorf("got %v", err)
	}
	says(t, "a file that never rests", err, "a file changed while it was being read")
}

// TestEarlierBatchStillRunningIsReported checks the error for a host on which an earlier batch has not ended in
// time.
func TestEarlierBatchStillRunningIsReported(t *testing.T) {
	t.Parallel()
	h, _, s := newHost(t)
	s.tamper = func(_ int, answer string) string {
		before, rest, _ := strings.Cut(answer, " begin\n")
		_, nonce, _ := strings.Cut(before[strings.LastIndex(before, "\n"):], "kubewright ")
		if rest == "" || nonce == "" {
			t.Errorf("the answer does not begin: %q", answer)
		}
		return before + " begin\n\nkubewright " + nonce + " busy\n\nkubewright " + nonce + " end\n"
	}
	out, err := perform(t, h, write("/etc/a", "a"))
	if !errors.Is(err, providers.ErrTimeout) || len(out) != 0 {
		t.Errorf("got %v, %v", out, err)
	}
	says(t, "busy", err, "cannot change cp1: an earlier batch of operations is still at work there")
}

// TestBatchWaitsForBatchOfSameRun checks that the next batch of the same run waits however long a batch
// takes, unless it is cancelled; a batch of another run gives up after lockWait.
func TestBatchWaitsForBatchOfSameRun(t *testing.T) {
	t.Parallel()
	h, root, s := newHost(t)
	other := shell.New("cp1", &spy{}, shell.Options{Root: root, Unprivileged: true})
	for _, host := range []*shell.Host{h, other} {
		host.WaitForLock(500 * time.Millisecond)
	}
	if err := os.MkdirAll(root+"/usr/local/bin", 0o755); err != nil {
		t.Fatal(err)
	}
	hosttest.WriteProgram(t, root+"/usr/local/bin/systemctl", "#!/bin/sh\n: >"+root+"/started\nwhile ! [ -e "+root+"/go-on ]; do sleep 0.02; done\n")
	ended := make(chan error, 2)
	go func() {
		_, err := perform(t, h, planner.Unit{Unit: "kubelet.service", Action: "stop"})
		ended <- err
	}()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(root + "/started"); err == nil {
			break
		} else if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	go func() {
		_, err := perform(t, h, write("/etc/a", "a"))
		ended <- err
	}()
	out, err := perform(t, other, write("/etc/b", "b"))
	if !errors.Is(err, providers.ErrTimeout) || len(out) != 0 {
		t.Errorf("another run: %v, %v", out, err)
	}
	says(t, "another run", err, "cannot change cp1: an earlier batch of operations is still at work there")

	const waiting = "cannot change cp1: an earlier batch of this run is still at work there"
	late, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err = h.Perform(late, providers.Batch{Token: 1, Operations: []planner.Operation{write("/etc/c", "c")}})
	if !errors.Is(err, providers.ErrTimeout) {
		t.Errorf("one without time: %v", err)
	}
	says(t, "one without time", err, waiting)
	off, callOff := context.WithCancel(t.Context())
	callOff()
	_, err = h.Perform(off, providers.Batch{Token: 1, Operations: []planner.Operation{write("/etc/c", "c")}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("one that was called off: %v", err)
	}
	says(t, "one that was called off", err, waiting)
	if s.mu.Lock(); len(s.commands) != 1 {
		t.Errorf("%d commands while the first is at work", len(s.commands))
	}
	s.mu.Unlock()
	time.Sleep(500 * time.Millisecond)
	if len(ended) > 0 {
		t.Error("it has not waited")
	}
	put(t, root+"/go-on", "")
	for range 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// TestInterruptedAnswerKeepsBegunOutcomes checks that wherever an answer to a batch is cut off, the outcomes are
// those of operations that were begun, and the error shows how far the host got.
func TestInterruptedAnswerKeepsBegunOutcomes(t *testing.T) {
	t.Parallel()
	h, _, s := newHost(t)
	whole, cut := 0, -1
	s.tamper = func(_ int, answer string) string {
		whole = len(answer)
		if cut >= 0 {
			return answer[:cut]
		}
		return answer
	}
	ops := []planner.Operation{write("/etc/a", "a"), write("/etc/b", "b")}
	if _, err := perform(t, h, ops...); err != nil {
		t.Fatal(err)
	}
	left := []string{"the login shell runs no commands, exit code 0", "no POSIX shell could be started, exit code 0", "the script ended early with exit code 0"}
	for cut = 0; cut < whole-len("end\n"); cut += 23 {
		out, err := perform(t, h, ops...)
		if err == nil || len(out) > 2 {
			t.Errorf("cut after %d of %d bytes: %v, %v", cut, whole, out, err)
			continue
		}
		left = slices.DeleteFunc(left, func(text string) bool { return strings.Contains(err.Error(), text) })
	}
	if len(left) != 0 {
		t.Errorf("no truncated answer has the error %q", left)
	}
}

// TestUnreadableFileIsNotAbsent checks that an unreadable file is not reported as absent.
func TestUnreadableFileIsNotAbsent(t *testing.T) {
	t.Parallel()
	h, root, _ := newHost(t)
	if err := os.Symlink("loop", root+"/etc/loop"); err != nil {
		t.Fatal(err)
	}
	put(t, root+"/etc/file", "x")
	ask := func(paths ...string) error {
		var q state.Query
		for _, path := range paths {
			q.Files = append(q.Files, state.FileQuery{Path: path})
		}
		_, err := h.Observe(t.Context(), q)
		return err
	}
	if err := ask("/etc/nothing", "/etc/file/below", "/etc/loop", "/nowhere/at/all"); err != nil {
		t.Error(err)
	}
	const want = `cannot tell whether files are there: cannot stat(x?) '\S*/etc/loop/ca.key': Too many levels of symbolic links, and 1 more. See what the kernel's log says of the disk \(dmesg\)`
	if err := ask("/etc/nothing", "/etc/loop/ca.key", "/etc/loop/ca.crt"); err == nil || !regexp.MustCompile(want).MatchString(err.Error()) {
		t.Errorf("got %v, want %s", err, want)
	}
}
