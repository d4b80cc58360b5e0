package providers

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// API is a cluster's Kubernetes API, reached through one of its control
// planes. Errors wrap the kinds of errors.go.
type API interface {
	// Observe reads what the query asks for and changes nothing. Members stays nil: etcd is
	// observed separately.
	Observe(ctx context.Context, q state.ClusterQuery) (*state.ClusterReport, error)
	// Apply creates or updates the leaves of an object by forced server-side apply with the
	// field manager kubewright; it removes leaves that were applied before and are absent
	// now. With createOnly it leaves an existing object alone. An object with a
	// metadata.resourceVersion is refused with ErrUnavailable when the live version
	// differs.
	Apply(ctx context.Context, object state.Value, createOnly bool) error
	// Delete deletes an object. It is no error if the object does not exist.
	Delete(ctx context.Context, ref state.ObjectRef) error
	// PatchNode sets and removes labels, annotations and taints of a node. With expect it
	// reads the node first and patches it only if expect returns no error and the node has
	// not changed in between; otherwise it fails with ErrUnavailable.
	PatchNode(ctx context.Context, op planner.PatchNode, expect func(state.NodeReport) error) error
	// Restart marks the pods of a DaemonSet so that they restart. It returns ErrUnavailable
	// until all of them have restarted.
	Restart(ctx context.Context, op planner.RestartPods) error
	// Cordon makes a node unschedulable, or schedulable again.
	Cordon(ctx context.Context, op planner.Cordon) error
	// Drain evicts the node's pods as kubectl drain does; log gets one line per eviction.
	Drain(ctx context.Context, op planner.Drain, log func(string)) error
	// CreateToken creates a bootstrap token, or updates the one with the operation's ID,
	// and returns it as abcdef.0123456789abcdef. secret is its second half; zero keeps the
	// existing one, or generates one.
	CreateToken(ctx context.Context, op planner.CreateToken, secret state.Secret) (state.Secret, error)
	// UploadCerts encrypts files, keyed as in the Secret kubeadm-certs, and returns the
	// certificate key: the given one, or a new one if key is zero.
	UploadCerts(ctx context.Context, op planner.UploadCerts, files map[string]state.Secret, key state.Secret) (state.Secret, error)
	// DeleteToken deletes the token's Secret. It is no error if the token does not exist.
	DeleteToken(ctx context.Context, token state.Secret) error
	// DeleteJoinTokens deletes the bootstrap tokens that were created for joins
	// (planner.IsJoinToken), except those whose IDs are in keep.
	DeleteJoinTokens(ctx context.Context, keep []string) error
	// Lease reads a lease; nil if there is none.
	Lease(ctx context.Context, name string) (*Lease, error)
	// PutLease creates a lease if Version is empty, and replaces exactly that version
	// otherwise. It returns the new version, or fails with ErrMoved if another client has
	// written the lease first.
	PutLease(ctx context.Context, l Lease) (version string, err error)
	// DeleteLease deletes exactly that version of a lease; a newer version stays.
	DeleteLease(ctx context.Context, l Lease) error
	// RootCAs returns the identities of the CAs in the ConfigMap kube-root-ca.crt of every
	// namespace, in file order; none for a namespace without that ConfigMap.
	RootCAs(ctx context.Context) (map[string][]string, error)
	// DeprecatedAPIs returns the APIs that clients have requested from this server since it
	// started and that a later release no longer serves. Each API server knows only its own
	// requests.
	DeprecatedAPIs(ctx context.Context) ([]state.DeprecatedAPI, error)
	// LoadedEncryption returns the hash of the EncryptionConfiguration that this server has
	// loaded, in hex; empty if it has none.
	LoadedEncryption(ctx context.Context) (string, error)
	// Rewrite stores all objects of a resource again, page by page and without a change, and
	// returns their number. Objects that others write or delete meanwhile count as well.
	Rewrite(ctx context.Context, resource string) (int, error)
	// Ready asks /readyz once.
	Ready(ctx context.Context) error
	Close() error
}

// Etcd is the etcd of a cluster, reached through any of its members.
type Etcd interface {
	// Members lists the members with their health, by a linearizable read.
	Members(ctx context.Context) (members []state.EtcdMember, clusterID string, err error)
	// Identity returns what the member at the first endpoint knows of its cluster, with or
	// without a quorum.
	Identity(ctx context.Context) (state.EtcdIdentity, error)
	// AddLearner adds a learner with the peer URL. It is no error if a member already has
	// it.
	AddLearner(ctx context.Context, peerURL string) error
	// Promote makes the learner a voter. It is no error if it is a voter already.
	Promote(ctx context.Context, id string) error
	// Remove removes a member. It is no error if the member is gone already.
	Remove(ctx context.Context, id string) error
	// MoveLeader moves leadership from the present leader to the member with the ID.
	MoveLeader(ctx context.Context, to string) error
	// Compact has all members drop deleted and overwritten keys up to the present revision,
	// and waits until each has. Compacting again is no error.
	Compact(ctx context.Context) error
	// Defragment has a member release the unused space of its database. The member does not
	// answer meanwhile.
	Defragment(ctx context.Context, id string) error
	// Disarm disarms an alarm of a member: NOSPACE or CORRUPT. It is no error if the alarm
	// is not raised.
	Disarm(ctx context.Context, id, alarm string) error
	// Snapshot begins to stream the contents of etcd from one healthy voter, preferably not
	// the leader. The caller closes it.
	Snapshot(ctx context.Context) (*EtcdSnapshot, error)
	// LocalMembers lists the members as recorded by the one at the first endpoint, with the
	// data of each member that answers, by serializable reads: for an etcd that has lost
	// its quorum. None is reported healthy. It fails with ErrHasLeader if a member that
	// answers knows of a leader.
	LocalMembers(ctx context.Context) (members []state.EtcdMember, clusterID string, err error)
	// LocalSnapshot is Snapshot without a quorum, of the newest data that a voter among
	// LocalMembers holds. It may lack the last writes that etcd has acknowledged.
	LocalSnapshot(ctx context.Context) (*EtcdSnapshot, error)
	Close() error
}

// EtcdSnapshot is a snapshot that is being streamed: the database followed by its SHA-256.
// Read fails when the stream is cut off, or when no data arrives for a while.
type EtcdSnapshot struct {
	// EtcdID is the cluster's ID in hex, Member the name of the sending member.
	EtcdID, Member string
	// Revision is a lower bound of the snapshot's revision.
	Revision int64
	io.ReadCloser
}

// Issuer makes keys and certificates, and brings them to a host. For ssh and local hosts it
// uses real cryptography; in the simulator it makes records.
type Issuer interface {
	IssueCA(ctx context.Context, on Host, op planner.IssueCA, batch Batch) (Outcome, error)
	IssueKeyPair(ctx context.Context, on Host, op planner.IssueKeyPair, batch Batch) (Outcome, error)
	// IssueCertificate signs with the CA whose key the host signer holds.
	IssueCertificate(ctx context.Context, on, signer Host, op planner.IssueCertificate, batch Batch) (Outcome, error)
	// WriteKubeconfig signs like IssueCertificate, or uses the token if it is not zero.
	WriteKubeconfig(ctx context.Context, on, signer Host, op planner.WriteKubeconfig, token state.Secret, batch Batch) (Outcome, error)
	SetKubeconfig(ctx context.Context, on Host, op planner.SetKubeconfig, batch Batch) (Outcome, error)
	// CopySecrets copies files from one host to another through memory.
	CopySecrets(ctx context.Context, from, to Host, op planner.CopySecrets, batch Batch) (Outcome, error)
	// Kubeconfig makes a kubeconfig for the operator, signed like WriteKubeconfig. The key
	// is made on this machine and never reaches a host. contents resolves the references of
	// the operation (planner.References).
	Kubeconfig(ctx context.Context, signer Host, op planner.WriteKubeconfig, contents map[string]state.Secret) (ClientAccess, error)
	// ReadKubeconfig fetches the credentials in a host's kubeconfig. It fails with a
	// *kubeconfig.ForeignError if the file has settings that kubeadm does not write.
	ReadKubeconfig(ctx context.Context, from Host, path string) (ClientAccess, error)
	// ImportSecrets brings the operator's files to a host.
	ImportSecrets(ctx context.Context, on Host, op planner.ImportSecrets, batch Batch) (Outcome, error)
	// BundleTrust concatenates the certificates, or public keys, of several files of a host
	// into one.
	BundleTrust(ctx context.Context, on Host, op planner.BundleTrust, batch Batch) (Outcome, error)
	// WriteEncryption writes an EncryptionConfiguration, with keys of the host from, if it is
	// not nil, of the host itself, and new ones.
	WriteEncryption(ctx context.Context, on, from Host, op planner.WriteEncryption, batch Batch) (Outcome, error)
}

// ClientAccess is all that the operator gets from a kubeconfig: values, never a file that
// someone else has written. CA, Certificate and Key are PEM with nothing between the
// blocks.
type ClientAccess struct {
	// Server is the URL that the kubeconfig names.
	Server               string
	CA, Certificate, Key state.Secret
	// Trusted are the certificates in CA.
	Trusted []state.CertificateInfo
	// Client is the certificate of the client.
	Client state.CertificateInfo
}

// Access opens a cluster's API and etcd through a host that is one of its control planes.
type Access interface {
	// API opens the host's own API server, at address host:port, with the administrator's
	// kubeconfig of the host.
	API(ctx context.Context, via Host, endpoint string) (API, error)
	// Etcd opens etcd with the host's healthcheck client certificate, which is in the
	// cluster's certificates folder.
	Etcd(ctx context.Context, via Host, endpoints []string, folder string) (Etcd, error)
	// ExternalEtcd asks an etcd that kubewright does not manage, through a host, for the
	// versions of its servers and the number of keys with the prefix. Together with an
	// error it returns the answers of the servers that did answer.
	ExternalEtcd(ctx context.Context, via Host, endpoints []string, client EtcdCredentials, prefix string) (state.ExternalEtcdReport, error)
	// StoredUnder reads in etcd, through a host, what is stored below a prefix, page by page,
	// and counts the values that are by the provider id of an EncryptionConfiguration, and all
	// others. It keeps none of them.
	StoredUnder(ctx context.Context, via Host, etcd EtcdAt, prefix, id string) (under, other int, err error)
}

// EtcdAt is where etcd is read.
type EtcdAt struct {
	Endpoints []string
	EtcdCredentials
}

// EtcdCredentials are PEM: the CA by which a client verifies etcd, and the client's
// certificate and key. All are zero for an etcd without TLS.
type EtcdCredentials struct{ CA, Certificate, Key state.Secret }

// Seat is how a control plane is reached on its own host.
type Seat struct {
	// API is the address, host:port, of its API server.
	API string
	// Folder is the cluster's certificates folder; empty means CertificatesFolder.
	Folder string
}

// CertificatesFolder is kubeadm's default certificates folder.
const CertificatesFolder = "/etc/kubernetes/pki"

// EtcdURL returns the client URL at which a stacked member listens for its own host, as
// kubeadm sets it: the loopback address of the advertised address's family.
func (s Seat) EtcdURL() string {
	if strings.HasPrefix(s.API, "[") {
		return "https://[::1]:2379"
	}
	return "https://127.0.0.1:2379"
}

// Clock is the time that a performer uses, so that the simulator can have its own.
type Clock interface {
	Now() time.Time
	// Busy marks the returned context as working until done is called. A real clock ignores
	// that; a simulated one advances only when all working contexts sleep. On a context
	// that is already working it changes nothing.
	Busy(ctx context.Context) (working context.Context, done func())
	// Sleep waits until the duration has passed or the context is done.
	Sleep(ctx context.Context, d time.Duration) error
}
