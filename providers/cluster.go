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
	// Observe reads what the query asks for and changes nothing. Etcd is
	// observed apart, so Members stays nil.
	Observe(ctx context.Context, q state.ClusterQuery) (*state.ClusterReport, error)
	// Apply makes the leaves of an object so by server-side apply with the field
	// manager kubewright, forced; leaves applied before and now absent go. With
	// createOnly an object that exists is left alone. One that names a
	// metadata.resourceVersion is refused with ErrUnavailable when another is there.
	Apply(ctx context.Context, object state.Value, createOnly bool) error
	// Delete deletes an object; one that does not exist is no error.
	Delete(ctx context.Context, ref state.ObjectRef) error
	// PatchNode sets and removes labels, annotations and taints of a node. With
	// expect the node is read, and patched only when that finds no fault with it
	// and nobody has changed it in between, which is ErrUnavailable.
	PatchNode(ctx context.Context, op planner.PatchNode, expect func(state.NodeReport) error) error
	// Restart marks the pods of a DaemonSet so that they restart. It is
	// ErrUnavailable as long as not all of them have.
	Restart(ctx context.Context, op planner.RestartPods) error
	// Cordon makes a node unschedulable, or schedulable again.
	Cordon(ctx context.Context, op planner.Cordon) error
	// Drain evicts the node's pods as kubectl drain does; log gets one line per eviction.
	Drain(ctx context.Context, op planner.Drain, log func(string)) error
	// CreateToken makes a bootstrap token, or changes the one with the operation's
	// ID, and returns it as abcdef.0123456789abcdef. secret is its second half;
	// zero keeps what is there, or generates one.
	CreateToken(ctx context.Context, op planner.CreateToken, secret state.Secret) (state.Secret, error)
	// UploadCerts encrypts files, by their keys in the Secret kubeadm-certs, and
	// returns the certificate key: the one given, or a new one when that is zero.
	UploadCerts(ctx context.Context, op planner.UploadCerts, files map[string]state.Secret, key state.Secret) (state.Secret, error)
	// DeleteToken deletes the token's Secret; a token that does not exist is no error.
	DeleteToken(ctx context.Context, token state.Secret) error
	// DeleteJoinTokens deletes the bootstrap tokens that were made for joins
	// (planner.IsJoinToken) but those with the IDs in keep.
	DeleteJoinTokens(ctx context.Context, keep []string) error
	// Lease reads a lease; nil when there is none.
	Lease(ctx context.Context, name string) (*Lease, error)
	// PutLease makes a lease whose Version is empty, and replaces that version of
	// another. It returns the new version, or fails with ErrMoved when somebody
	// was faster.
	PutLease(ctx context.Context, l Lease) (version string, err error)
	// DeleteLease deletes that version of a lease; one that is another by now stays.
	DeleteLease(ctx context.Context, l Lease) error
	// RootCAs are the identities of the CAs in the ConfigMap kube-root-ca.crt of
	// every namespace, in their order; none for a namespace without one.
	RootCAs(ctx context.Context) (map[string][]string, error)
	// DeprecatedAPIs are those that this server was asked for since it was started,
	// of those only which a later release does not serve. Each API server knows its
	// own requests alone.
	DeprecatedAPIs(ctx context.Context) ([]state.DeprecatedAPI, error)
	// Ready asks /readyz once.
	Ready(ctx context.Context) error
	Close() error
}

// Etcd is the etcd of a cluster, reached through any of its members.
type Etcd interface {
	// Members lists the members with their health, by a linearizable read.
	Members(ctx context.Context) (members []state.EtcdMember, clusterID string, err error)
	// Identity is what the member at the first endpoint knows of the cluster that it
	// is in, whether or not that has a quorum.
	Identity(ctx context.Context) (state.EtcdIdentity, error)
	// AddLearner adds a learner with the peer URL. A member that already has it is no error.
	AddLearner(ctx context.Context, peerURL string) error
	// Promote makes the learner a voter. One that is a voter already is no error.
	Promote(ctx context.Context, id string) error
	// Remove removes a member. One that is gone already is no error.
	Remove(ctx context.Context, id string) error
	// MoveLeader hands leadership from the present leader to the member with the ID.
	MoveLeader(ctx context.Context, to string) error
	// Compact has all members drop what was deleted or written over, up to the present
	// revision, and waits until each has. Done before, it is no error.
	Compact(ctx context.Context) error
	// Defragment has a member give back the space that its database does not use.
	// The member does not answer meanwhile.
	Defragment(ctx context.Context, id string) error
	// Disarm takes back an alarm of a member: NOSPACE or CORRUPT. One that is not
	// raised is no error.
	Disarm(ctx context.Context, id, alarm string) error
	// Snapshot begins to stream what etcd holds, from one healthy voter, which is
	// not the leader where there is another. The caller closes it.
	Snapshot(ctx context.Context) (*EtcdSnapshot, error)
	// LocalMembers lists the members as the one at the first endpoint has them, with what
	// each that answers holds, by serializable reads: for an etcd that has lost its quorum.
	// None is healthy. It fails with ErrHasLeader where one that answers knows of a leader.
	LocalMembers(ctx context.Context) (members []state.EtcdMember, clusterID string, err error)
	// LocalSnapshot is Snapshot without a quorum, of the newest data that a voter holds
	// among those of LocalMembers: it may lack what etcd has acknowledged last.
	LocalSnapshot(ctx context.Context) (*EtcdSnapshot, error)
	Close() error
}

// EtcdSnapshot is a snapshot that is being streamed: the database and behind it
// its SHA-256. Read fails when the stream is cut off, and when nothing comes for
// a while.
type EtcdSnapshot struct {
	// EtcdID is the cluster's ID in hex, Member the name of who sends.
	EtcdID, Member string
	// Revision is the one that etcd had at least.
	Revision int64
	io.ReadCloser
}

// Issuer makes keys and certificates, and brings them to a host. It is real
// cryptography for ssh and local hosts, and records in the simulator.
type Issuer interface {
	IssueCA(ctx context.Context, on Host, op planner.IssueCA, batch Batch) (Outcome, error)
	IssueKeyPair(ctx context.Context, on Host, op planner.IssueKeyPair, batch Batch) (Outcome, error)
	// IssueCertificate signs with the CA that signer holds: the host with the CA's key.
	IssueCertificate(ctx context.Context, on, signer Host, op planner.IssueCertificate, batch Batch) (Outcome, error)
	// WriteKubeconfig signs like IssueCertificate, or uses the token when it is not zero.
	WriteKubeconfig(ctx context.Context, on, signer Host, op planner.WriteKubeconfig, token state.Secret, batch Batch) (Outcome, error)
	SetKubeconfig(ctx context.Context, on Host, op planner.SetKubeconfig, batch Batch) (Outcome, error)
	// CopySecrets brings files from one host to another through memory.
	CopySecrets(ctx context.Context, from, to Host, op planner.CopySecrets, batch Batch) (Outcome, error)
	// Kubeconfig makes a kubeconfig for the operator, signed like WriteKubeconfig.
	// The key is made here, and no host sees it. contents are what the operation
	// refers to (planner.References).
	Kubeconfig(ctx context.Context, signer Host, op planner.WriteKubeconfig, contents map[string]state.Secret) (ClientAccess, error)
	// ReadKubeconfig fetches the credentials in a host's kubeconfig. It fails with a
	// *kubeconfig.ForeignError when the file sets what kubeadm does not write there.
	ReadKubeconfig(ctx context.Context, from Host, path string) (ClientAccess, error)
	// ImportSecrets brings the operator's files to a host.
	ImportSecrets(ctx context.Context, on Host, op planner.ImportSecrets, batch Batch) (Outcome, error)
	// BundleTrust puts certificates, or public keys, of a host's files together into one.
	BundleTrust(ctx context.Context, on Host, op planner.BundleTrust, batch Batch) (Outcome, error)
}

// ClientAccess is all that the operator gets of a kubeconfig: values, and no file that
// someone else has written. CA, Certificate and Key are PEM without anything between
// the blocks.
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
	// API is reached with the administrator's kubeconfig of the host: on the
	// host's own API server, at address host:port.
	API(ctx context.Context, via Host, endpoint string) (API, error)
	// Etcd is reached with the host's healthcheck client certificate, which is in
	// the cluster's certificates folder.
	Etcd(ctx context.Context, via Host, endpoints []string, folder string) (Etcd, error)
	// ExternalEtcd asks an etcd that is not ours, through a host, for the versions
	// of its servers and the number of keys that begin with prefix. With an error
	// comes what those servers said that answered.
	ExternalEtcd(ctx context.Context, via Host, endpoints []string, client EtcdCredentials, prefix string) (state.ExternalEtcdReport, error)
}

// EtcdCredentials are PEM: how a client knows etcd, and is known to it. All are
// zero for an etcd without TLS.
type EtcdCredentials struct{ CA, Certificate, Key state.Secret }

// Seat says how a control plane is reached on its own host.
type Seat struct {
	// API is the address, host:port, of its API server.
	API string
	// Folder is the cluster's certificates folder; empty is CertificatesFolder.
	Folder string
}

// CertificatesFolder is where kubeadm keeps certificates unless it is told another folder.
const CertificatesFolder = "/etc/kubernetes/pki"

// EtcdURL returns the client URL at which a stacked member listens for its own host,
// as kubeadm has it: the loopback address of the advertised address's family.
func (s Seat) EtcdURL() string {
	if strings.HasPrefix(s.API, "[") {
		return "https://[::1]:2379"
	}
	return "https://127.0.0.1:2379"
}

// Clock is time as a performer sees it, so that the simulator has its own.
type Clock interface {
	Now() time.Time
	// Busy says that somebody works with the context that it returns, until done is
	// called. A clock whose time passes by itself ignores that; one that lets it pass
	// waits for all who work to sleep. With such a context already it changes nothing.
	Busy(ctx context.Context) (working context.Context, done func())
	// Sleep waits until the duration has passed or the context is done.
	Sleep(ctx context.Context, d time.Duration) error
}
