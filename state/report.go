package state

import (
	"fmt"
	"slices"
	"time"
)

// Query says what to look at on one host. It is answered in one round trip by
// a Report and changes nothing there.
type Query struct {
	// Files are looked at one by one; those that do not exist are reported so.
	Files []FileQuery
	// Globs are shell patterns such as /etc/kubernetes/manifests/*; each match
	// is reported as a file without content.
	Globs []string
	// Units are systemd units.
	Units []string
	// Images asks which images the runtime holds, by crictl or ctr.
	Images bool
	// CRISocket is the endpoint of the runtime that is meant; empty for the one that
	// is found.
	CRISocket string
	// Sysctls are names with dots, such as net.ipv4.ip_forward.
	Sysctls []string
	// Modules are kernel modules.
	Modules []string
	// Ports are TCP ports of which it is asked whether somebody listens.
	Ports []int
	// Processes are looked for among those that run.
	Processes []Process
	// Packages, when it names any, asks the package manager.
	Packages PackageQuery
	// Commands are looked up on the path: mount, losetup …
	Commands []string
	// Secrets are files whose bytes are wanted in memory only, such as the
	// administrator's kubeconfig: Report.Secrets.
	Secrets []string
	// Preflight asks for everything that the preflight checks of a host that joins
	// need besides: kernel configuration, cgroup controllers, resolvable name …
	Preflight bool
	// Programs are those that the host had when it was last looked at: the same
	// ones need not be started again to say their versions.
	Programs Programs
}

// Read says what of a file is wanted.
type Read string

// What of a file is wanted.
const (
	// ReadStat wants type, mode, owner, size.
	ReadStat Read = ""
	// ReadDigest wants the SHA-256 as well.
	ReadDigest Read = "digest"
	// ReadContent wants the bytes as well, up to 1 MiB.
	ReadContent Read = "content"
	// ReadCertificate wants Certificates, parsed from PEM.
	ReadCertificate Read = "certificate"
	// ReadPublicKeys wants PublicKeys, parsed from PEM.
	ReadPublicKeys Read = "public_keys"
	// ReadKey wants the digest, and to know whether there is a private key in PEM form and
	// which: its public part in PublicKeys, where that can be told; nothing else of it
	// leaves the host.
	ReadKey Read = "key"
	// ReadKubeconfig wants Kubeconfig; the client key never leaves the host.
	ReadKubeconfig Read = "kubeconfig"
)

// Process is a program that runs. Others may run a program of the same name, so
// one of its arguments, or a part of one, tells whose it is.
type Process struct {
	Name     string `json:"name"`
	Argument string `json:"argument"`
}

// FileQuery asks for one file.
type FileQuery struct {
	Path string
	Read Read
}

// Report is what was seen on one host.
type Report struct {
	Facts Facts
	// HostKey is the key that the host proved to have, in authorized_keys form;
	// empty where there is none (local, sim).
	HostKey string
	// HopKeys are those of the hosts that were passed on the way to it, by the ways to them.
	HopKeys map[string]string
	Files   map[string]FileReport
	Units   map[string]UnitReport
	Images  []string
	Sysctls map[string]string
	// Modules tells for each module asked for whether it is loaded or built in.
	Modules map[string]bool
	// NoModules tells for each module asked for that is not loaded whether it
	// cannot be: the kernel in use has no such module.
	NoModules map[string]bool
	// Ports tells for each port asked for whether somebody listens.
	Ports map[int]bool
	// Started tells when each process asked for was started, by its name, on the
	// host's clock. One that does not run is missing.
	Started map[string]time.Time
	// Packages answers Query.Packages.
	Packages PackageReport
	// Commands tells for each command asked for whether it is there.
	Commands map[string]bool
	Secrets  map[string]Secret
	// Marks is what kubewright left on the host, nil when it left nothing.
	Marks *Marks
	// Preflight tells how much room there is for a change, and answers
	// Query.Preflight; keys are named by the preflight phase.
	Preflight map[string]string
	// Programs are what the versions among the facts were learnt from.
	Programs Programs
	// Elapsed is how long the round trip took.
	Elapsed time.Duration
}

// Outdated reports whether a process that runs was started before the file was
// written, so that it does not know what is in it if it reads it only then.
func (r *Report) Outdated(process, path string) bool {
	started, runs := r.Started[process]
	return runs && started.Before(r.Files[path].Modified)
}

// Programs are the kubelet and the container runtime of a host. To start them
// only to hear their versions is the dearest part of looking at a host, so what
// they said is remembered together with the files that said it.
type Programs struct {
	// Files tells the programs' files: path, device, inode, size in bytes, and the
	// time in nanoseconds when the inode last changed. The kernel sets that time
	// and nobody else can, so that the same text is the same files, unchanged.
	Files string `json:"files,omitempty"`
	// Versions are the lines that the programs printed.
	Versions []string `json:"versions,omitempty"`
}

// Equal reports whether two are the same files that said the same.
func (p Programs) Equal(q Programs) bool {
	return p.Files == q.Files && slices.Equal(p.Versions, q.Versions)
}

// FileReport is what was seen of one file. The zero value is a file that does not exist.
type FileReport struct {
	Exists bool
	// Type is file, directory, link or other.
	Type string
	// Mode is octal with four digits: 0600.
	Mode string
	// Owner is USER:GROUP by name.
	Owner string
	Size  int64
	// Modified is when the content was last written, on the host's clock.
	Modified time.Time
	// SHA256 is lower-case hex without prefix.
	SHA256 string
	// Content is set for ReadContent only.
	Content []byte
	// Link is where a symbolic link points. Of one that leads to a regular file, by
	// whichever way, Target is that file, and the others its mode and owner.
	Link                            string
	Target, TargetMode, TargetOwner string

	Certificates []CertificateInfo
	Kubeconfig   *KubeconfigInfo
	// PublicKeys are the identities of public keys: the hex SHA-256 of each in
	// PKIX form.
	PublicKeys []string
	// Invalid says why a certificate, kubeconfig or key could not be parsed.
	Invalid string
	// Entries counts what a directory holds.
	Entries int
}

// UnitReport is what was seen of one systemd unit. The zero value is a unit that does not exist.
type UnitReport struct {
	Exists bool
	// Active and Enabled are as systemctl prints them: active, inactive, failed; enabled, disabled, masked.
	Active  string
	Enabled string
}

// CertificateInfo is an X.509 certificate without its key. In the simulator it
// is the whole certificate: a record, not key material.
type CertificateInfo struct {
	CommonName    string   `json:"common_name"`
	Organizations []string `json:"organizations,omitempty"`
	DNSNames      []string `json:"dns_names,omitempty"`
	IPAddresses   []string `json:"ip_addresses,omitempty"`
	// Usages are "digital signature", "key encipherment", "cert sign", "server auth", "client auth".
	Usages []string `json:"usages,omitempty"`
	IsCA   bool     `json:"is_ca,omitempty"`
	// Algorithm is in kubeadm's words: RSA-2048, ECDSA-P256 …
	Algorithm string    `json:"algorithm"`
	NotBefore time.Time `json:"not_before"`
	NotAfter  time.Time `json:"not_after"`
	Serial    string    `json:"serial,omitempty"`
	// Issuer is the issuer's common name.
	Issuer string `json:"issuer"`
	// KeyDigest is the hex SHA-256 of the subject's public key in PKIX form: a
	// CA's identity, as kubeadm's discovery hash has it.
	KeyDigest string `json:"key_digest"`
	// IssuerKeyDigest names the key that signed, found by verifying against the
	// CA certificates of the same report; empty when none fits.
	IssuerKeyDigest string `json:"issuer_key_digest,omitempty"`
}

// KubeconfigInfo is a kubeconfig without its secrets.
type KubeconfigInfo struct {
	Server  string `json:"server"`
	Cluster string `json:"cluster"`
	User    string `json:"user"`
	Context string `json:"context"`
	// CAs are the certificates of the trusted CAs.
	CAs    []CertificateInfo `json:"cas,omitempty"`
	Client *CertificateInfo  `json:"client,omitempty"`
	// ClientCertificate and ClientKey are paths, where the file names them instead of inlining.
	ClientCertificate string `json:"client_certificate,omitempty"`
	ClientKey         string `json:"client_key,omitempty"`
	// Token reports whether it authenticates by a bearer token.
	Token bool `json:"token,omitempty"`
}

// CAKeyDigests returns the identities of the trusted CAs.
func (k *KubeconfigInfo) CAKeyDigests() []string {
	var out []string
	for _, c := range k.CAs {
		out = append(out, c.KeyDigest)
	}
	return out
}

// MarksFormat is the format of the marks that this version writes. It reads that
// one and older ones; of a newer one it does not know what it leaves unread.
const MarksFormat = 1

// Marks is what kubewright keeps on a host in /var/lib/kubewright: whose the
// host is, and what was there before. Written before the first change of a
// host, removed last. It holds no secrets.
type Marks struct {
	// Format is MarksFormat of who wrote them.
	Format  int    `json:"format"`
	Lineage string `json:"lineage"`
	Cluster string `json:"cluster"`
	// Node is the address of the node block that this host serves.
	Node Target `json:"node,omitzero"`
	// Founder marks the control plane on which the cluster is founded.
	Founder bool `json:"founder,omitempty"`
	// ClusterCA is the KeyDigest of the CA of the cluster that the host is part of,
	// once known; marks that older versions wrote have none. FormerCAs are those of
	// the CAs that it has taken the place of, in rotations of ours.
	ClusterCA string   `json:"cluster_ca,omitempty"`
	FormerCAs []string `json:"former_cas,omitempty"`
	// Token is the highest run token seen; an operation with a lower one is refused.
	Token int64 `json:"token"`
	// Owned are the paths that we made; Before is what stood there, per path or
	// setting, as far as it is to be put back ("" when nothing did).
	Owned  []string          `json:"owned,omitempty"`
	Before map[string]string `json:"before,omitempty"`
	// Unreadable says which of the files could not be read, and why; nothing else of
	// these marks is known then.
	Unreadable string `json:"-"`
}

// Secret is bytes that stay in memory. No verb of fmt and no encoder prints
// them. They are held by a function because fmt calls no method of an
// unexported field, and with a wrong verb follows pointers: a struct around a
// Secret then shows the address of the function at most.
type Secret struct{ reveal func() []byte }

// NewSecret wraps bytes; the caller must not keep them.
func NewSecret(b []byte) Secret { return Secret{func() []byte { return b }} }

// Reveal returns the bytes, for the one place that needs them.
func (s Secret) Reveal() []byte {
	if s.reveal == nil {
		return nil
	}
	return s.reveal()
}

// IsZero reports whether there is nothing inside.
func (s Secret) IsZero() bool { return len(s.Reveal()) == 0 }

const masked = "(sensitive value)"

// String hides the bytes.
func (Secret) String() string { return masked }

// GoString hides the bytes.
func (Secret) GoString() string { return masked }

// MarshalText hides the bytes.
func (Secret) MarshalText() ([]byte, error) { return []byte(masked), nil }

// Format hides the bytes from every verb (fmt.Formatter).
func (Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(masked)) }
