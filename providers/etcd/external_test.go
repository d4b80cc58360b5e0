package etcd_test

import (
	"context"
	"net"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/etcd"
)

// server is an etcd that answers requests for its version and for keys.
type server struct {
	pb.KVServer
	pb.MaintenanceServer
	keys int64
}

func (s server) Status(context.Context, *pb.StatusRequest) (*pb.StatusResponse, error) {
	return &pb.StatusResponse{Version: "3.6.8"}, nil
}

func (s server) Range(_ context.Context, r *pb.RangeRequest) (*pb.RangeResponse, error) {
	if !r.CountOnly || string(r.Key) != "/mine/" || string(r.RangeEnd) != "/mine0" {
		return &pb.RangeResponse{}, nil
	}
	return &pb.RangeResponse{Count: s.keys}, nil
}

// dialer is a host from which every address leads to one listener.
type dialer struct {
	providers.Host
	to *bufconn.Listener
}

func (d dialer) DialContext(ctx context.Context, _, address string) (net.Conn, error) {
	if strings.HasPrefix(address, "192.0.2.9") {
		return nil, &providers.Error{Kind: providers.ErrUnreachable, Do: "connect to " + address}
	}
	return d.to.DialContext(ctx)
}

func TestObserveExternalEtcd(t *testing.T) {
	t.Parallel()
	l := bufconn.Listen(64 << 10)
	s := grpc.NewServer()
	pb.RegisterKVServer(s, server{keys: 7})
	pb.RegisterMaintenanceServer(s, server{})
	go s.Serve(l) //nolint:errcheck // ends with the test
	t.Cleanup(s.Stop)
	host := dialer{to: l}
	report, err := etcd.LookExternal(t.Context(), host, []string{"http://192.0.2.7:2379", "http://192.0.2.8:2379"}, providers.EtcdCredentials{}, "/mine/")
	if err != nil {
		t.Fatal(err)
	}
	if report.Keys != 7 || len(report.Versions) != 2 || report.Versions["http://192.0.2.8:2379"] != "3.6.8" {
		t.Errorf("got %+v", report)
	}
	report, err = etcd.LookExternal(t.Context(), host, []string{"http://192.0.2.7:2379", "http://192.0.2.9:2379"}, providers.EtcdCredentials{}, "/mine/")
	if err == nil || !strings.Contains(err.Error(), "192.0.2.9") || report.Versions["http://192.0.2.7:2379"] != "3.6.8" {
		t.Errorf("got %+v, %v", report, err)
	}
}
