// Package providers says what kubewright asks of a host, of a cluster's API and
// of its etcd, and carries a step's operations to them. It is the only place
// that has effects on a cluster: phases choose operations, providers perform
// them. The three kinds of host (ssh, local, sim) live in folders of their own
// and pass one conformance suite.
package providers

import (
	"context"
	"io"
	"net"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// Host is one machine. Its methods may be called from several goroutines.
// Errors wrap the kinds of errors.go; after any error the caller observes
// again and infers nothing.
type Host interface {
	// Observe answers the query in one round trip and changes nothing.
	Observe(ctx context.Context, q state.Query) (*state.Report, error)
	// Perform does host operations in order, in one round trip, and stops at
	// the first that fails. It returns one Outcome for each operation that was
	// attempted, also together with an error; operations behind those were not begun.
	Perform(ctx context.Context, batch Batch) ([]Outcome, error)
	// ReadSecrets fetches files into memory; a file that does not exist is missing in the answer.
	ReadSecrets(ctx context.Context, paths []string) (map[string]state.Secret, error)
	// DialContext opens a connection as the host itself would (direct-tcpip over
	// ssh), so that nothing but the SSH port needs to be open to the operator.
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
	// HTTPStatus asks for the URL as the host itself would and returns the
	// status code. The server's certificate has to be of the CA that the host
	// holds at the path; without a path it is not verified.
	HTTPStatus(ctx context.Context, url, ca string) (int, error)
	// ServedCertificate is the certificate that whoever listens at the address
	// shows, asked as the host itself would. Nothing of it is verified.
	ServedCertificate(ctx context.Context, address string) (state.CertificateInfo, error)
	Close() error
}

// Batch is host operations that travel together.
type Batch struct {
	// Token is the run's; a host refuses one lower than the highest it has seen
	// (ErrSuperseded) and remembers a higher one before the first operation.
	Token int64
	// Void is a token that does not count, where the host was seen to have one: exactly
	// that one may be higher than Token, and is replaced. The highest number that there
	// is stands for all that are higher. Zero allows none.
	Void int64
	// Run tells two runs apart that have the same token, because they were planned
	// side by side: a host accepts the one that came first. Empty for any.
	Run string
	// Lineage is refused when the host belongs to another one.
	Lineage string
	// Expect holds the hex SHA-256 of files that are to be as they were when the
	// plan was made. Where one is not, or is gone, the host does none of the
	// operations (ErrMoved).
	Expect     map[string]string
	Operations []planner.Operation
	// Contents resolves what a WriteFile refers to when its content is not inline,
	// keyed by Content.Ref; and for operations with keys what planner.References lists.
	Contents map[string]state.Secret
	// Artifacts are what a LoadImage or UploadArtifact sends, by its Artifact.
	Artifacts map[string]Artifact
	// Hear, unless nil, gets what a command of an operation printed last while it
	// runs, of those that planner.Tells: short, with control characters escaped, but
	// with secrets still. op is the operation's index. It has to return at once, and
	// is not called any more when Perform has returned.
	Hear func(op int, line string)
}

// Artifact is a file of the operator's. It is read while it is sent, since it
// may be larger than memory.
type Artifact struct {
	// Size is in bytes; as many are sent.
	Size int64
	// Open begins to read it, again each time.
	Open func() (io.ReadCloser, error)
}

// Outcome is what became of one operation.
type Outcome struct {
	// Changed is false when the host already was as wanted.
	Changed bool
	// Output is what a Run printed: capped, with control characters escaped.
	Output string
}
