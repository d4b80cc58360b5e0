package etcd

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/kubewright/kubewright/providers"
)

// list is the membership as reported by one member.
type list struct {
	clusterID uint64
	members   []*pb.Member
}

// status is what a member reports about itself.
type status struct {
	clusterID, id, leader uint64
	// version, size and inUse are those of etcd and its database, in bytes; set by status
	// only.
	version     string
	size, inUse int64
	// downgradeTo is the target version of a cluster downgrade, if any; set by status only.
	downgradeTo string
	// revision is that of the key space; set by read only.
	revision int64
	// problems are what the member reports as wrong, such as having no leader.
	problems []string
}

// member is etcd through one endpoint. Reads and changes are linearizable; after an error a
// change may have been made or not.
type member interface {
	list(ctx context.Context) (list, error)
	// listed returns the membership as recorded by this member, with or without a quorum.
	listed(ctx context.Context) (list, error)
	// read does a linearizable read and returns the status of the member that answered.
	read(ctx context.Context) (status, error)
	// holds does a serializable read of this member's own data, with or without a quorum.
	holds(ctx context.Context) (status, error)
	status(ctx context.Context) (status, error)
	alarms(ctx context.Context) (map[uint64][]string, error)
	addLearner(ctx context.Context, peerURL string) error
	promote(ctx context.Context, id uint64) error
	remove(ctx context.Context, id uint64) error
	moveLeader(ctx context.Context, to uint64) error
	// compact drops history up to a revision, and waits until this member has.
	compact(ctx context.Context, revision int64) error
	defragment(ctx context.Context) error
	disarm(ctx context.Context, id uint64, alarm pb.AlarmType) error
	// snapshot streams the database, followed by its hash.
	snapshot(ctx context.Context) (io.ReadCloser, error)
	close() error
}

// remote is a member reached with the etcd client.
type remote struct {
	*clientv3.Client
	endpoint string

	mu sync.Mutex
	// lastDial is why the connection to the endpoint failed; gRPC passes on its text only.
	lastDial error
	// refused is why one side did not trust the other's certificate, for the same reason.
	refused error
}

// dial makes a client for one endpoint. It connects on first use.
func dial(host providers.Host, endpoint string, config *tls.Config) (*remote, error) {
	return dialWithin(host, endpoint, config, messageCap)
}

// dialWithin is dial with a maximum size of a message, in bytes.
func dialWithin(host providers.Host, endpoint string, config *tls.Config, most int) (*remote, error) {
	r := &remote{endpoint: endpoint}
	var options []grpc.DialOption
	if config != nil {
		options = append(options, grpc.WithTransportCredentials(watching{credentials.NewTLS(config), r.trust}))
	}
	var err error
	r.Client, err = clientv3.New(clientv3.Config{
		Endpoints: []string{endpoint},
		TLS:       config,
		Logger:    zap.NewNop(),
		// The caller decides about retries: it reads before it repeats.
		MaxUnaryRetries:    1,
		MaxCallRecvMsgSize: most,
		DialOptions: append(options,
			grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
				conn, err := host.DialContext(ctx, "tcp", address)
				r.mu.Lock()
				defer r.mu.Unlock()
				r.lastDial = err
				return conn, err
			}),
			grpc.WithConnectParams(grpc.ConnectParams{
				Backoff:           backoff.Config{BaseDelay: 200 * time.Millisecond, Multiplier: 1.5, MaxDelay: time.Second},
				MinConnectTimeout: 5 * time.Second,
			}),
		),
	})
	if err != nil {
		return nil, fmt.Errorf("internal error: cannot make client of etcd at %s: %w", endpoint, err)
	}
	return r, nil
}

// messageCap is the maximum size of a message from etcd, in bytes. Members and sizes take
// some KiB, and a snapshot arrives in parts of 32 KiB.
const messageCap = 1 << 20

// mostMembers bounds the number of members; etcd recommends at most seven, and each is
// asked separately.
const mostMembers = 64

// tlsConfig verifies members against etcd's CA and presents the client certificate.
func tlsConfig(ca, crt, key []byte) (*tls.Config, error) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return nil, errors.New("the CA of etcd holds no certificate")
	}
	pair, err := tls.X509KeyPair(crt, key)
	if err != nil {
		// The cause is left out: it refers to key material.
		return nil, errors.New("the client certificate and its key do not fit together")
	}
	return &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}

// explain adds the reason why the connection to the endpoint failed, if known.
func (r *remote) explain(err error) error {
	if err == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.lastDial != nil:
		return fmt.Errorf("%s: %w", r.endpoint, r.lastDial)
	case r.refused != nil:
		return &untrustedError{r.endpoint, r.refused}
	}
	return fmt.Errorf("%s: %w", r.endpoint, err)
}

func (r *remote) list(ctx context.Context) (list, error) { return r.membership(ctx) }

func (r *remote) listed(ctx context.Context) (list, error) {
	return r.membership(ctx, clientv3.WithSerializable())
}

func (r *remote) membership(ctx context.Context, options ...clientv3.OpOption) (list, error) {
	resp, err := r.MemberList(ctx, options...)
	if err != nil {
		return list{}, r.explain(err)
	}
	if n := len(resp.Members); n > mostMembers {
		return list{}, fmt.Errorf("%s: it lists %d members, which no etcd has", r.endpoint, n)
	}
	return list{resp.Header.ClusterId, resp.Members}, nil
}

func (r *remote) read(ctx context.Context) (status, error) { return r.get(ctx) }

func (r *remote) holds(ctx context.Context) (status, error) {
	return r.get(ctx, clientv3.WithSerializable())
}

func (r *remote) get(ctx context.Context, options ...clientv3.OpOption) (status, error) {
	resp, err := r.Get(ctx, "health", options...)
	if err != nil {
		return status{}, r.explain(err)
	}
	return status{clusterID: resp.Header.ClusterId, id: resp.Header.MemberId, revision: resp.Header.Revision}, nil
}

func (r *remote) status(ctx context.Context) (status, error) {
	resp, err := r.Status(ctx, r.endpoint)
	if err != nil {
		return status{}, r.explain(err)
	}
	out := status{
		clusterID: resp.Header.ClusterId, id: resp.Header.MemberId, leader: resp.Leader, problems: resp.Errors,
		version: resp.Version, size: resp.DbSize, inUse: resp.DbSizeInUse,
	}
	if d := resp.DowngradeInfo; d.GetEnabled() {
		out.downgradeTo = d.GetTargetVersion()
	}
	return out, nil
}

func (r *remote) alarms(ctx context.Context) (map[uint64][]string, error) {
	resp, err := r.AlarmList(ctx)
	if err != nil {
		return nil, r.explain(err)
	}
	out := map[uint64][]string{}
	for _, a := range resp.Alarms {
		out[a.MemberID] = append(out[a.MemberID], a.Alarm.String())
	}
	return out, nil
}

func (r *remote) addLearner(ctx context.Context, peerURL string) error {
	_, err := r.MemberAddAsLearner(ctx, []string{peerURL})
	return r.explain(err)
}

func (r *remote) promote(ctx context.Context, id uint64) error {
	_, err := r.MemberPromote(ctx, id)
	return r.explain(err)
}

func (r *remote) remove(ctx context.Context, id uint64) error {
	_, err := r.MemberRemove(ctx, id)
	return r.explain(err)
}

func (r *remote) moveLeader(ctx context.Context, to uint64) error {
	_, err := r.MoveLeader(ctx, to)
	return r.explain(err)
}

func (r *remote) compact(ctx context.Context, revision int64) error {
	_, err := r.Compact(ctx, revision, clientv3.WithCompactPhysical())
	return r.explain(err)
}

func (r *remote) defragment(ctx context.Context) error {
	_, err := r.Defragment(ctx, r.endpoint)
	return r.explain(err)
}

func (r *remote) disarm(ctx context.Context, id uint64, alarm pb.AlarmType) error {
	_, err := r.AlarmDisarm(ctx, &clientv3.AlarmMember{MemberID: id, Alarm: alarm})
	return r.explain(err)
}

func (r *remote) snapshot(ctx context.Context) (io.ReadCloser, error) {
	stream, err := r.Client.Snapshot(ctx)
	return stream, r.explain(err)
}

func (r *remote) close() error { return r.Client.Close() }
