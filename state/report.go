package state

import (
	"fmt"
	"slices"
	"time"
)

// Query says what to read from one host. A Report answers it in one round trip, without changing
// the host.
type Query struct {
	// Files are read one by one; missing ones are reported as such.
	Files []FileQuery
	// Globs are shell patterns such as /etc/kubernetes/manifests/*; each match is reported as a
	// file without content.
	Globs []string
	// Units are systemd units.
	Units []string
	// Images asks which images the runtime holds, by crictl or ctr.
	Images bool
	// CRISocket is the endpoint of the runtime to query; empty for the detected one.
	CRISocket string
	// Sysctls are names with dots, such as net.ipv4.ip_forward.
	Sysctls []string
	// Modules are kernel modules.
	Modules []string
	// Users are names of users; groups of the same names are searched as well.
	Users []string
	// Ports are TCP ports to check for a listener.
	Ports []int
	// Processes are searched among the running ones.
	Processes []Process
	// Packages queries the package manager, if it names any.
	Packages PackageQuery
	// Commands are searched in the PATH: mount, losetup …
	Commands []string
	// Secrets are files whose bytes are kept in memory only, such as the administrator's
	// kubeconfig: Report.Secrets.
	Secrets []string
	// Preflight requests the additional facts that the preflight checks of a joining host need:
	// kernel configuration, cgroup controllers, resolvable name …
	Preflight bool
	// Endpoint is a host name that Preflight resolves as well; empty for none.
	Endpoint string
	// Peers are addresses with ports on other hosts, which Preflight tries to reach, and PathTo is an
	// address to which it sends a packet as large as the interface allows; empty for none.
	Peers  []string
	PathTo string
	// EtcdFolder is where etcd's data will be: Preflight finds how fast the disk below it is; empty for none.
	EtcdFolder string
	// Programs are the host's programs at the last observation: unchanged ones need not be
	// started again to get their versions.
	Programs Programs
}

// Read says what to read of a file.
type Read string

// The parts of a file that can be read.
const (
	// ReadStat reads type, mode, owner, size.
	ReadStat Read = ""
	// ReadDigest also reads the SHA-256.
	ReadDigest Read = "digest"
	// ReadContent also reads the bytes, up to 1 MiB.
	ReadContent Read = "content"
	// ReadCertificate reads Certificates, parsed from PEM.
	ReadCertificate Read = "certificate"
	// ReadAuthority reads Certificates, parsed from PEM, and the PEM itself into Content.
	ReadAuthority Read = "authority"
	// ReadPublicKeys reads PublicKeys, parsed from PEM.
	ReadPublicKeys Read = "public_keys"
	// ReadKey reads the digest, and whether the file holds a private key in PEM form. It also
	// reads the key's public part into PublicKeys, where that can be derived; nothing else of the
	// key leaves the host.
	ReadKey Read = "key"
	// ReadKubeconfig reads Kubeconfig; the client key never leaves the host.
	ReadKubeconfig Read = "kubeconfig"
	// ReadEncryption reads Encryption: which keys an EncryptionConfiguration has, without the keys.
	ReadEncryption Read = "encryption"
)

// Process is a running program. Other programs may have the same name, so one of its arguments,
// or a part of one, identifies it.
type Process struct {
	Name     string `json:"name"`
	Argument string `json:"argument"`
}

// FileQuery is a query for one file.
type FileQuery struct {
	Path string
	Read Read
}

// Report is the observation of one host.
type Report struct {
	Facts Facts
	// HostKey is the key with which the host authenticated, in authorized_keys form; empty where
	// there is none (local, sim).
	HostKey string
	// HopKeys are the keys of the jump hosts on the way to it, by the ways to them.
	HopKeys map[string]string
	Files   map[string]FileReport
	Units   map[string]UnitReport
	Images  []string
	Sysctls map[string]string
	// Modules reports for each requested module whether it is loaded or built in.
	Modules map[string]bool
	// NoModules reports for each requested module that is not loaded whether it cannot be: the
	// running kernel has no such module.
	NoModules map[string]bool
	// Users reports for each requested name which of the two exist.
	Users map[string]UserReport
	// Ports reports for each requested port whether a process listens on it.
	Ports map[int]bool
	// Started holds the start time of each requested process, by its name, on the host's clock. A
	// process that does not run is missing.
	Started map[string]time.Time
	// Packages answers Query.Packages.
	Packages PackageReport
	// Commands reports for each requested command whether it exists.
	Commands map[string]bool
	Secrets  map[string]Secret
	// Marks are kubewright's marks on the host; nil when there are none.
	Marks *Marks
	// Preflight holds the free space for a change and the answers to Query.Preflight, by keys of
	// the preflight phase.
	Preflight map[string]string
	// Programs are the programs that the versions in Facts come from.
	Programs Programs
	// Elapsed is the duration of the round trip.
	Elapsed time.Duration
}

// Outdated reports whether a running process was started before the last write of the file, and
// so does not know its content if it reads it only at startup.
func (r *Report) Outdated(process, path string) bool {
	started, runs := r.Started[process]
	return runs && started.Before(r.Files[path].Modified)
}

// Programs are the kubelet and the container runtime of a host. Starting them only to get their
// versions is the most expensive part of observing a host, so their output is recorded together
// with the identity of their files.
type Programs struct {
	// Files identifies the programs' files: path, device, inode, size in bytes, and the inode's
	// change time in nanoseconds. Only the kernel sets that time, so the same text means the same
	// files, unchanged.
	Files string `json:"files,omitempty"`
	// Versions are the lines that the programs printed.
	Versions []string `json:"versions,omitempty"`
}

// Equal reports whether both are the same files with the same output.
func (p Programs) Equal(q Programs) bool {
	return p.Files == q.Files && slices.Equal(p.Versions, q.Versions)
}

// FileReport is the observation of one file. The zero value is a file that does not exist.
type FileReport struct {
	Exists bool
	// Type is file, directory, link or other.
	Type string
	// Mode is octal with four digits: 0600.
	Mode string
	// Owner is USER:GROUP by name, and OwnerIDs by number; the latter may be unknown.
	Owner    string
	OwnerIDs string
	Size     int64
	// Modified is when the content was last written, on the host's clock.
	Modified time.Time
	// SHA256 is lower-case hex without prefix.
	SHA256 string
	// Content is set for ReadContent and ReadAuthority.
	Content []byte
	// Link is where a symbolic link points. If it leads to a regular file, directly or over other
	// links, Target is that file, and TargetMode and TargetOwner its mode and owner.
	Link                            string
	Target, TargetMode, TargetOwner string

	Certificates []CertificateInfo
	Kubeconfig   *KubeconfigInfo
	Encryption   *EncryptionInfo
	// PublicKeys are the identities of public keys: the hex SHA-256 of each in PKIX form.
	PublicKeys []string
	// Invalid says why a certificate, kubeconfig, key or EncryptionConfiguration could not be parsed.
	Invalid string
	// Entries counts the entries of a directory.
	Entries int
}

// UserReport is the observation of a user and the group of the same name.
type UserReport struct{ User, Group bool }

// UnitReport is the observation of one systemd unit. The zero value is a unit that does not
// exist.
type UnitReport struct {
	Exists bool
	// Active and Enabled are as printed by systemctl: active, inactive, failed; enabled,
	// disabled, masked.
	Active  string
	Enabled string
}

// CertificateInfo is an X.509 certificate without its key. In the simulator it is the certificate
// itself: a record, not key material.
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
	// KeyDigest is the hex SHA-256 of the subject's public key in PKIX form: the identity of a
	// CA, as in kubeadm's discovery hash.
	KeyDigest string `json:"key_digest"`
	// IssuerKeyDigest identifies the signing key, found by verifying against the CA certificates
	// of the same report; empty when none matches.
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
	// ClientCertificate and ClientKey are paths, if the file names them instead of inlining the
	// data.
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

// EncryptionInfo is an EncryptionConfiguration without its keys.
type EncryptionInfo struct {
	// Chains are the providers of each resource, with the names of their keys: the first one
	// encrypts, all of them decrypt.
	Chains map[string][]string `json:"chains,omitempty"`
	// Keys are the fingerprints of the keys, by provider and name.
	Keys map[string]string `json:"keys,omitempty"`
	// Plugins are the KMS plugins, by provider and name.
	Plugins map[string]KMSPlugin `json:"plugins,omitempty"`
}

// KMSPlugin is how an API server reaches a KMS plugin.
type KMSPlugin struct {
	Endpoint string `json:"endpoint"`
	// Timeout is a duration; empty for the API server's own.
	Timeout string `json:"timeout,omitempty"`
}

// MarksFormat is the format of the marks that this version writes. It also reads older formats;
// of a newer one it cannot know which fields it misses.
const MarksFormat = 1

// Marks are what kubewright stores on a host in /var/lib/kubewright: whose the host is, and what
// was there before. They are written before the first change of a host, and removed last. They
// hold no secrets.
type Marks struct {
	// Format is the MarksFormat of the version that wrote them.
	Format  int    `json:"format"`
	Lineage string `json:"lineage"`
	Cluster string `json:"cluster"`
	// Node is the address of the node block that this host belongs to.
	Node Target `json:"node,omitzero"`
	// Founder marks the control plane that bootstraps the cluster.
	Founder bool `json:"founder,omitempty"`
	// ClusterCA is the KeyDigest of the CA of the host's cluster, once known; marks of older
	// versions have none. FormerCAs are the KeyDigests of the CAs that it replaced in rotations
	// by kubewright.
	ClusterCA string   `json:"cluster_ca,omitempty"`
	FormerCAs []string `json:"former_cas,omitempty"`
	// Token is the highest run token seen; an operation with a lower one is refused.
	Token int64 `json:"token"`
	// Owned are the paths that kubewright created; Before is the previous content, per path or
	// setting, as far as it has to be restored ("" if there was none).
	Owned  []string          `json:"owned,omitempty"`
	Before map[string]string `json:"before,omitempty"`
	// Settings is the previous value of each setting that the configuration has of its own, such as
	// a sysctl: it is put back when the setting is taken out, and when the host is given back.
	Settings map[string]string `json:"settings,omitempty"`
	// Unreadable says which of the files could not be read, and why; the other fields are then
	// empty.
	Unreadable string `json:"-"`
}

// Secret holds bytes that stay in memory. No verb of fmt and no encoder prints them. They are
// held by a function because fmt calls no method of an unexported field, and with a wrong verb
// follows pointers: for a struct around a Secret it then shows the address of the function at
// most.
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

// IsZero reports whether the secret is empty.
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
