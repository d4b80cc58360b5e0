package lab

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/crypto/ssh"
	"golang.org/x/sys/unix"

	"github.com/kubewright/kubewright/cmd/lab/internal/build"
	"github.com/kubewright/kubewright/cmd/lab/internal/disk"
)

// users returns the users of every host that accept the lab's key: root, one with passwordless
// sudo, one with sudo by password, one without sudo.
func users() []string { return []string{"root", "ubuntu", "carol", "dave"} }

// SudoPassword is carol's password.
const SudoPassword = "lab-password"

// writeFolder writes the lab's own files: keys, client configuration for SSH, and the record.
func (l *layout) writeFolder() error {
	if err := os.MkdirAll(l.path("hosts"), 0o755); err != nil {
		return err
	}
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	if err := writeKey(l.PrivateKey(), private, "kubewright-lab"); err != nil {
		return err
	}
	for _, g := range l.guests() {
		if err := g.writeKeys(); err != nil {
			return err
		}
	}
	if err := l.writeKnownHosts(); err != nil {
		return err
	}
	if err := os.WriteFile(l.SSHConfig(), []byte(l.sshConfig()), 0o644); err != nil {
		return err
	}
	text, err := json.MarshalIndent(l.record, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(l.path("lab.json"), append(text, '\n'), 0o644)
}

func (l *layout) sshConfig() string {
	var b strings.Builder
	for _, h := range l.record.Hosts {
		fmt.Fprintf(&b, "Host %s\n  HostName %s\n\n", h.Name, h.Address())
	}
	fmt.Fprintf(&b, "Host *\n  User root\n  IdentityFile %s\n  IdentitiesOnly yes\n  UserKnownHostsFile %s\n", l.PrivateKey(), l.KnownHosts())
	return b.String()
}

// hostKeyKinds are the kinds that SSH clients prefer.
var hostKeyKinds = []string{"ed25519", "ecdsa"}

// writeKeys creates a host's SSH keys in its folder.
func (g guest) writeKeys() error {
	if err := os.MkdirAll(g.dir("ssh"), 0o700); err != nil {
		return err
	}
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	for i, key := range []any{ed, ec} {
		if err := writeKey(g.keyFile(hostKeyKinds[i]), key, "root@"+g.Name); err != nil {
			return err
		}
	}
	return nil
}

func (g guest) keyFile(kind string) string {
	return g.dir("ssh", "ssh_host_"+kind+"_key")
}

// writeKnownHosts writes the hosts' keys for SSH clients.
func (l *layout) writeKnownHosts() error {
	var known strings.Builder
	for _, g := range l.guests() {
		for _, kind := range hostKeyKinds {
			public, err := os.ReadFile(g.keyFile(kind) + ".pub")
			if err != nil {
				return err
			}
			fmt.Fprintf(&known, "%s,%s %s", g.Name, joinAddresses(g.Addresses), public)
		}
	}
	return os.WriteFile(l.KnownHosts(), []byte(known.String()), 0o644)
}

// writeKey writes a private key and, beside it, its public key.
func writeKey(file string, private any, comment string) error {
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		return err
	}
	block, err := ssh.MarshalPrivateKey(private, comment)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
		return err
	}
	public := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(signer.PublicKey())))
	return os.WriteFile(file+".pub", []byte(public+" "+comment+"\n"), 0o644)
}

// seed fills a new host's folder: the files that distinguish it from other hosts, in the upper
// layer of its overlay, and the folders that are mounted from outside.
func (g guest) seed() error {
	for _, name := range []string{"upper", "work", "root", "kubelet", "etcd", "containerd"} {
		if err := os.MkdirAll(g.dir(name), 0o755); err != nil {
			return err
		}
	}
	// All hosts share one disk, and etcd waits for it at each write: a host that reads images
	// would delay the etcd of another one, which separate machines do not.
	if err := unix.Mount("tmpfs", g.dir("etcd"), "tmpfs", 0, "mode=700,size=4g"); err != nil {
		return fmt.Errorf("cannot mount memory for etcd's data: %w", err)
	}
	if err := os.WriteFile(g.dir("product_uuid"), []byte(randomUUID()+"\n"), 0o444); err != nil {
		return err
	}
	if g.lab.record.Store != "" {
		if err := build.CloneStore(g.lab.record.Store, g.dir("containerd")); err != nil {
			return err
		}
	}
	for name, f := range g.seedFiles() {
		if err := g.seedFile(name, f.text, f.mode); err != nil {
			return err
		}
	}
	for _, kind := range hostKeyKinds {
		for suffix, mode := range map[string]os.FileMode{"": 0o600, ".pub": 0o644} {
			name := "ssh_host_" + kind + "_key" + suffix
			text, err := os.ReadFile(g.dir("ssh", name))
			if err != nil {
				return err
			}
			if err := g.seedFile("etc/ssh/"+name, string(text), mode); err != nil {
				return err
			}
		}
	}
	return g.authorize()
}

type seedFile struct {
	text string
	mode os.FileMode
}

func (g guest) seedFiles() map[string]seedFile {
	files := map[string]seedFile{
		"etc/hostname":    {g.Name + "\n", 0o644},
		"etc/hosts":       {g.lab.hostsFile(), 0o644},
		"etc/resolv.conf": {fmt.Sprintf("nameserver %s\n", g.lab.addresses(nameServerOctet)[0]), 0o644},
		"etc/machine-id":  {strings.ReplaceAll(randomUUID(), "-", "") + "\n", 0o444},
		// As with Ubuntu's rsyslog: a group can write to the folder of the pods' logs.
		"etc/tmpfiles.d/00rsyslog.conf": {"d /var/log 0775 root adm -\n", 0o644},
	}
	if !g.lab.record.Bare {
		files["etc/cni/net.d/10-lab.conflist"] = seedFile{networkConfig(g.Host), 0o644}
	}
	return files
}

func joinAddresses(all []netip.Addr) string {
	var words []string
	for _, a := range all {
		words = append(words, a.String())
	}
	return strings.Join(words, ",")
}

// hostsFile lists all hosts and the API endpoint, because there is no name server.
func (l *layout) hostsFile() string {
	var b strings.Builder
	b.WriteString("127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n")
	for _, h := range l.record.Hosts {
		for _, a := range h.Addresses {
			fmt.Fprintf(&b, "%s %s\n", a, h.Name)
		}
	}
	name, address := l.Endpoint()
	fmt.Fprintf(&b, "%s %s\n", address.Addr(), name)
	return b.String()
}

// networkConfig returns the pod network: a bridge per host, and routes between the hosts. Nothing
// is masqueraded, so that pods see each other's addresses.
func networkConfig(h Host) string {
	var ranges, routes []string
	for _, p := range h.Pods {
		ranges = append(ranges, fmt.Sprintf(`[{"subnet": "%s"}]`, p))
		everywhere := netip.PrefixFrom(p.Addr(), 0).Masked()
		routes = append(routes, fmt.Sprintf(`{"dst": "%s"}`, everywhere))
	}
	return fmt.Sprintf(`{
  "cniVersion": "1.0.0",
  "name": "lab",
  "plugins": [
    {
      "type": "bridge",
      "bridge": "cni0",
      "isGateway": true,
      "hairpinMode": true,
      "ipam": {
        "type": "host-local",
        "ranges": [%s],
        "routes": [%s]
      }
    },
    {"type": "portmap", "capabilities": {"portMappings": true}}
  ]
}
`, strings.Join(ranges, ", "), strings.Join(routes, ", "))
}

// authorize makes every user accept the lab's key.
func (g guest) authorize() error {
	key, err := os.ReadFile(g.lab.PrivateKey() + ".pub")
	if err != nil {
		return err
	}
	for _, user := range users() {
		home := filepath.Join("home", user)
		if user == "root" {
			home = "root"
		}
		name := filepath.Join(home, ".ssh/authorized_keys")
		if err := g.seedFile(name, string(key), 0o600); err != nil {
			return err
		}
		owner := filepath.Join(g.dir("upper"), home)
		for _, path := range []string{filepath.Dir(name), name} {
			if err := disk.CopyOwner(owner, g.dir("upper", path)); err != nil {
				return err
			}
		}
		if err := os.Chmod(g.dir("upper", filepath.Dir(name)), 0o700); err != nil {
			return err
		}
	}
	return nil
}

// seedFile writes a file into the upper layer. A folder there hides the mode and owner of the
// same folder in a lower layer, so they are copied.
func (g guest) seedFile(name, text string, mode os.FileMode) error {
	upper := g.dir("upper")
	dir := ""
	for part := range strings.SplitSeq(filepath.Dir(name), "/") {
		dir = filepath.Join(dir, part)
		target := filepath.Join(upper, dir)
		if disk.Exists(target) {
			continue
		}
		if err := os.Mkdir(target, 0o755); err != nil {
			return err
		}
		for _, layer := range g.lab.record.Layers {
			if lower := filepath.Join(layer, dir); disk.Exists(lower) {
				if err := disk.CopyAttributes(lower, target); err != nil {
					return err
				}
				break
			}
		}
	}
	file := filepath.Join(upper, name)
	if err := os.WriteFile(file, []byte(text), mode); err != nil {
		return err
	}
	return os.Chmod(file, mode) // regardless of the umask
}

// randomUUID returns a random (version 4) UUID.
func randomUUID() string {
	b := make([]byte, 16)
	rand.Read(b) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	h := hex.EncodeToString(b)
	return strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-")
}
