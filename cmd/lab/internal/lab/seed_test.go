package lab

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/skeema/knownhosts"
	"golang.org/x/crypto/ssh"
)

// TestLabFolderHasSSHKeys checks that the lab's folder has the keys for an SSH client: the hosts' keys are in
// known_hosts, and differ between hosts.
func TestLabFolderHasSSHKeys(t *testing.T) {
	t.Parallel()
	l := testLab(t)
	if err := l.writeFolder(); err != nil {
		t.Fatal(err)
	}
	key, err := os.ReadFile(l.PrivateKey())
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.ParsePrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	public, _ := os.ReadFile(l.PrivateKey() + ".pub")
	if authorized, _, _, _, err := ssh.ParseAuthorizedKey(public); err != nil || string(authorized.Marshal()) != string(signer.PublicKey().Marshal()) {
		t.Error("the hosts accept another key")
	}
	if stat, err := os.Stat(l.PrivateKey()); err != nil || stat.Mode().Perm() != 0o600 {
		t.Errorf("private key: %v, %v", stat.Mode(), err)
	}
	db, err := knownhosts.New(l.KnownHosts())
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, h := range l.Hosts() {
		for _, kind := range []string{"ed25519", "ecdsa"} {
			public := hostKey(t, l, h, kind)
			seen[string(public.Marshal())] = true
			address := net.TCPAddrFromAddrPort(netip.AddrPortFrom(h.Address(), 22))
			if err := db.HostKeyCallback()(address.String(), address, public); err != nil {
				t.Errorf("known_hosts does not know %s of %s: %v", kind, h.Name, err)
			}
		}
	}
	if len(seen) != 2*len(l.Hosts()) {
		t.Errorf("%d different host keys for %d hosts", len(seen), len(l.Hosts()))
	}
	again, err := Open(l.cache, l.Name())
	if err != nil || len(again.Hosts()) != len(l.Hosts()) || fmt.Sprint(again.Hosts()) != fmt.Sprint(l.Hosts()) {
		t.Errorf("opened again: %+v, %v", again, err)
	}
}

func hostKey(t *testing.T, l *Lab, h Host, kind string) ssh.PublicKey {
	t.Helper()
	text, err := os.ReadFile((guest{h, l.layout}).dir("ssh", "ssh_host_"+kind+"_key.pub"))
	if err != nil {
		t.Fatal(err)
	}
	public, _, _, _, err := ssh.ParseAuthorizedKey(text)
	if err != nil {
		t.Fatal(err)
	}
	return public
}

// TestSeedFileKeepsModesOfFolders checks that a folder of the upper layer has the mode of that
// folder in the uppermost layer that has it; otherwise /root would be open to all users.
func TestSeedFileKeepsModesOfFolders(t *testing.T) {
	t.Parallel()
	l := testLab(t)
	g := l.guests()[0]
	for i, mode := range []fs.FileMode{0o700, 0o755} {
		if err := os.MkdirAll(filepath.Join(l.record.Layers[i], "root"), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(g.dir("upper"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := g.seedFile("root/.ssh/authorized_keys", "key\n", 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]fs.FileMode{"root": 0o700, "root/.ssh": 0o755, "root/.ssh/authorized_keys": 0o600} {
		stat, err := os.Stat(g.dir("upper", name))
		if err != nil || stat.Mode().Perm() != want {
			t.Errorf("%s: %v, %v; want %v", name, stat.Mode(), err, want)
		}
	}
}

func TestSeedFiles(t *testing.T) {
	t.Parallel()
	l := testLab(t)
	g := l.guests()[1]
	files := g.seedFiles()
	for name, want := range map[string]string{
		"etc/hostname":    "w1\n",
		"etc/hosts":       "10.77.5.11 cp1\n10.77.5.21 w1\n10.77.5.1 api.x.test\n",
		"etc/resolv.conf": "nameserver 10.77.5.253\n",
	} {
		if !strings.Contains(files[name].text, want) {
			t.Errorf("%s does not say %q:\n%s", name, want, files[name].text)
		}
	}
	if id := files["etc/machine-id"].text; !regexp.MustCompile(`^[0-9a-f]{32}\n$`).MatchString(id) {
		t.Errorf("machine id %q", id)
	}
	if g.seedFiles()["etc/machine-id"] == files["etc/machine-id"] {
		t.Error("machine ids repeat")
	}
	var network struct{ Plugins []map[string]any }
	if err := json.Unmarshal([]byte(files["etc/cni/net.d/10-lab.conflist"].text), &network); err != nil {
		t.Fatal(err)
	}
	if _, masquerades := network.Plugins[0]["ipMasq"]; masquerades || len(network.Plugins) != 2 {
		t.Errorf("network %v", network)
	}
	l.record.Bare = true
	if _, ok := g.seedFiles()["etc/cni/net.d/10-lab.conflist"]; ok {
		t.Error("a bare host has a pod network")
	}
}

func TestRandomUUID(t *testing.T) {
	t.Parallel()
	if id := randomUUID(); !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(id) {
		t.Errorf("got %s", id)
	}
}
