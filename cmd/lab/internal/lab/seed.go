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

// users returns the accounts of every host that accept the lab's key: root, one
// with sudo for nothing, one with sudo by password, one without sudo.
func users() []string { return []string{"root", "ubuntu", "carol", "dave"} }

// SudoPassword is carol's.
const SudoPassword = "lab-password"

// writeFolder writes the lab's own files: keys, what a client of the hosts
// needs, and the record.
func (l *Lab) writeFolder() error {
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
	for _, h := range l.record.Hosts {
		if err := l.writeHostKeys(h); err != nil {
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

func (l *Lab) sshConfig() string {
	var b strings.Builder
	for _, h := range l.record.Hosts {
		fmt.Fprintf(&b, "Host %s\n  HostName %s\n\n", h.Name, h.Address())
	}
	fmt.Fprintf(&b, "Host *\n  User root\n  IdentityFile %s\n  IdentitiesOnly yes\n  UserKnownHostsFile %s\n", l.PrivateKey(), l.KnownHosts())
	return b.String()
}

// hostKeyKinds are those that clients prefer.
var hostKeyKinds = []string{"ed25519", "ecdsa"}

// writeHostKeys makes a host's SSH keys in its folder.
func (l *Lab) writeHostKeys(h Host) error {
	if err := os.MkdirAll(l.hostDir(h.Name, "ssh"), 0o700); err != nil {
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
		if err := writeKey(l.hostKeyFile(h, hostKeyKinds[i]), key, "root@"+h.Name); err != nil {
			return err
		}
	}
	return nil
}

func (l *Lab) hostKeyFile(h Host, kind string) string {
	return l.hostDir(h.Name, "ssh", "ssh_host_"+kind+"_key")
}

// writeKnownHosts writes for clients of the hosts which keys they have.
func (l *Lab) writeKnownHosts() error {
	var known strings.Builder
	for _, h := range l.record.Hosts {
		for _, kind := range hostKeyKinds {
			public, err := os.ReadFile(l.hostKeyFile(h, kind) + ".pub")
			if err != nil {
				return err
			}
			fmt.Fprintf(&known, "%s,%s %s", h.Name, joinAddresses(h.Addresses), public)
		}
	}
	return os.WriteFile(l.KnownHosts(), []byte(known.String()), 0o644)
}

// writeKey writes a private key and, beside it, its public half.
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

// seed fills a new host's folder: what distinguishes it from the others, in the
// upper layer of its overlay, and the folders that are mounted from outside.
func (l *Lab) seed(h Host) error {
	for _, name := range []string{"upper", "work", "root", "kubelet", "etcd", "containerd"} {
		if err := os.MkdirAll(l.hostDir(h.Name, name), 0o755); err != nil {
			return err
		}
	}
	// All hosts share one disk, and etcd waits for it at each write: a host that reads
	// images would hold up the etcd of another one, as no other host does.
	if err := unix.Mount("tmpfs", l.hostDir(h.Name, "etcd"), "tmpfs", 0, "mode=700,size=4g"); err != nil {
		return fmt.Errorf("cannot mount memory for etcd's data: %w", err)
	}
	if err := os.WriteFile(l.hostDir(h.Name, "product_uuid"), []byte(randomUUID()+"\n"), 0o444); err != nil {
		return err
	}
	if l.record.Store != "" {
		if err := build.CloneStore(l.record.Store, l.hostDir(h.Name, "containerd")); err != nil {
			return err
		}
	}
	for name, f := range l.seedFiles(h) {
		if err := l.seedFile(h, name, f.text, f.mode); err != nil {
			return err
		}
	}
	for _, kind := range hostKeyKinds {
		for suffix, mode := range map[string]os.FileMode{"": 0o600, ".pub": 0o644} {
			name := "ssh_host_" + kind + "_key" + suffix
			text, err := os.ReadFile(l.hostDir(h.Name, "ssh", name))
			if err != nil {
				return err
			}
			if err := l.seedFile(h, "etc/ssh/"+name, string(text), mode); err != nil {
				return err
			}
		}
	}
	return l.authorize(h)
}

type seedFile struct {
	text string
	mode os.FileMode
}

func (l *Lab) seedFiles(h Host) map[string]seedFile {
	files := map[string]seedFile{
		"etc/hostname":    {h.Name + "\n", 0o644},
		"etc/hosts":       {l.hostsFile(), 0o644},
		"etc/resolv.conf": {fmt.Sprintf("nameserver %s\n", l.addresses(nameServerOctet)[0]), 0o644},
		"etc/machine-id":  {strings.ReplaceAll(randomUUID(), "-", "") + "\n", 0o444},
		// As Ubuntu's rsyslog has it: a group can write to the folder that pods' logs are in.
		"etc/tmpfiles.d/00rsyslog.conf": {"d /var/log 0775 root adm -\n", 0o644},
	}
	if !l.record.Bare {
		files["etc/cni/net.d/10-lab.conflist"] = seedFile{networkConfig(h), 0o644}
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

// hostsFile names all hosts and the API endpoint, as there is no name server.
func (l *Lab) hostsFile() string {
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

// networkConfig returns the pod network: a bridge per host, and routes between the
// hosts. Nothing is masqueraded, so that pods see each other's addresses.
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

// authorize lets the lab's key in as every user.
func (l *Lab) authorize(h Host) error {
	key, err := os.ReadFile(l.PrivateKey() + ".pub")
	if err != nil {
		return err
	}
	for _, user := range users() {
		home := filepath.Join("home", user)
		if user == "root" {
			home = "root"
		}
		name := filepath.Join(home, ".ssh/authorized_keys")
		if err := l.seedFile(h, name, string(key), 0o600); err != nil {
			return err
		}
		owner := filepath.Join(l.hostDir(h.Name, "upper"), home)
		for _, path := range []string{filepath.Dir(name), name} {
			if err := disk.CopyOwner(owner, l.hostDir(h.Name, "upper", path)); err != nil {
				return err
			}
		}
		if err := os.Chmod(l.hostDir(h.Name, "upper", filepath.Dir(name)), 0o700); err != nil {
			return err
		}
	}
	return nil
}

// seedFile writes a file into the upper layer. A folder there hides the mode
// and owner of the same folder below, so they are copied.
func (l *Lab) seedFile(h Host, name, text string, mode os.FileMode) error {
	upper := l.hostDir(h.Name, "upper")
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
		for _, layer := range l.record.Layers {
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
	return os.Chmod(file, mode) // whatever the umask
}

// randomUUID returns a random (version 4) UUID.
func randomUUID() string {
	b := make([]byte, 16)
	rand.Read(b) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	h := hex.EncodeToString(b)
	return strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-")
}
