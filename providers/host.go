// Package providers defines what kubewright needs from a host, from a cluster's API and
// from its etcd, and performs a step's operations there. It is the only place that has
// effects on a cluster: phases choose operations, providers perform them. The three kinds
// of host (ssh, local, sim) have folders of their own and pass one conformance suite.
package providers

import (
	"context"
	"io"
	"net"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers/diagnosis"
	"github.com/kubewright/kubewright/providers/rehearsal"
	"github.com/kubewright/kubewright/state"
)

// Host is one machine. Its methods may be called from several goroutines. Errors wrap the
// kinds of errors.go; after any error the caller observes again and infers nothing.
type Host interface {
	// Observe answers the query in one round trip and changes nothing.
	Observe(ctx context.Context, q state.Query) (*state.Report, error)
	// Perform performs host operations in order, in one round trip, and stops at the first
	// failure. It returns one Outcome per attempted operation, also together with an error;
	// operations after those were not begun.
	Perform(ctx context.Context, batch Batch) ([]Outcome, error)
	// ReadSecrets fetches files into memory; the result lacks files that do not exist.
	ReadSecrets(ctx context.Context, paths []string) (map[string]state.Secret, error)
	// DialContext opens a connection as the host itself would (direct-tcpip over
	// ssh), so that nothing but the SSH port needs to be open to the operator.
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
	// HTTPStatus requests the URL as the host itself would and returns the status code. The
	// server's certificate has to be signed by the CA in the host's file ca; with an empty
	// ca it is not verified.
	HTTPStatus(ctx context.Context, url, ca string) (int, error)
	// ServedCertificate returns the certificate that the server at the address shows to the
	// host itself. It is not verified.
	ServedCertificate(ctx context.Context, address string) (state.CertificateInfo, error)
	// Diagnose returns what the host's units and system containers say of themselves, in one
	// round trip, and changes nothing. Its text is escaped, with secrets unmasked.
	Diagnose(ctx context.Context) (*diagnosis.Report, error)
	// Rehearse brings a snapshot of etcd back for a moment, beside everything that runs on the
	// host, returns what is in it, and removes all that it has made, also when it fails or ctx
	// ends.
	Rehearse(ctx context.Context, r rehearsal.Request) (*rehearsal.Report, error)
	Close() error
}

// Batch is host operations that travel together.
type Batch struct {
	// Token is the run's token; a host refuses a token lower than the highest one it has
	// seen (ErrSuperseded) and records a higher one before the first operation.
	Token int64
	// Void is a recorded token of the host that does not count: exactly this one may be
	// higher than Token, and is replaced. math.MaxInt64 stands for all higher numbers as
	// well. Zero allows none.
	Void int64
	// Run distinguishes two runs with the same token, because they were planned
	// concurrently: a host accepts the one that came first. Empty matches any.
	Run string
	// Lineage is refused if the host belongs to another one.
	Lineage string
	// Expect holds the hex SHA-256 of files that must not have changed since the plan was
	// made. If one differs or is gone, the host performs none of the operations (ErrMoved).
	Expect     map[string]string
	Operations []planner.Operation
	// Contents resolves the content of a WriteFile that is not inline, keyed by
	// Content.Ref, and for operations with keys whatever planner.References lists.
	Contents map[string]state.Secret
	// Artifacts are the files that a LoadImage or UploadArtifact sends, keyed by its
	// Artifact.
	Artifacts map[string]Artifact
	// Hear, unless nil, gets the latest output line of a running command, for operations of
	// planner.Tells: short, with control characters escaped, but with secrets unmasked. op
	// is the operation's index. Hear has to return at once, and is not called after Perform
	// has returned.
	Hear func(op int, line string)
}

// Artifact is a file of the operator's. It is read while it is sent, since it may be larger
// than memory.
type Artifact struct {
	// Size is in bytes; exactly as many are sent.
	Size int64
	// Open opens it for reading, from the beginning each time.
	Open func() (io.ReadCloser, error)
}

// Outcome is the result of one operation.
type Outcome struct {
	// Changed is false if the host already was as desired.
	Changed bool
	// Output is what a Run printed: capped, with control characters escaped.
	Output string
}
