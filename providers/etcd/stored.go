package etcd

import (
	"context"
	"crypto/tls"
	"fmt"

	"github.com/hashicorp/go-multierror"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	"github.com/kubewright/kubewright/config/atrest"
	"github.com/kubewright/kubewright/providers"
)

// Sizes of a page of values: an object in etcd may have 1.5 MiB, more with a flag of etcd.
const (
	valuesCap  = 16 << 20
	firstPage  = 100
	smallerPer = 5
)

// StoredUnder reads what is stored below a prefix, page by page, and counts the values that are by
// the provider id, and all others. It keeps none of them.
func StoredUnder(ctx context.Context, via providers.Host, at providers.EtcdAt, prefix, id string) (under, other int, err error) {
	var config *tls.Config
	if !at.CA.IsZero() {
		if config, err = tlsConfig(at.CA.Reveal(), at.Certificate.Reveal(), at.Key.Reveal()); err != nil {
			return 0, 0, fmt.Errorf("cannot read etcd: %w", err)
		}
	}
	var all *multierror.Error
	for _, endpoint := range at.Endpoints {
		under, other, err = countUnder(ctx, via, endpoint, config, prefix, id)
		if err == nil {
			return under, other, nil
		}
		all = multierror.Append(all, fmt.Errorf("%s: %w", endpoint, err))
	}
	all.ErrorFormat = oneLine
	return 0, 0, failure("read etcd", providers.ErrUnreachable, all)
}

func countUnder(ctx context.Context, via providers.Host, endpoint string, config *tls.Config, prefix, id string) (under, other int, err error) {
	if err := knock(ctx, via, endpoint); err != nil {
		return 0, 0, err
	}
	r, err := dialWithin(via, endpoint, config, valuesCap)
	if err != nil {
		return 0, 0, err
	}
	defer r.close()
	size, from, end := int64(firstPage), prefix, clientv3.GetPrefixRangeEnd(prefix)
	for {
		page, err := r.page(ctx, from, end, size)
		if grpcstatus.Code(err) == codes.ResourceExhausted && size > 1 {
			size = max(1, size/smallerPer)
			continue
		}
		if err != nil {
			return 0, 0, r.explain(err)
		}
		for _, kv := range page.Kvs {
			if atrest.Under(id, kv.Value) {
				under++
			} else {
				other++
			}
		}
		if !page.More || len(page.Kvs) == 0 {
			return under, other, nil
		}
		from = string(page.Kvs[len(page.Kvs)-1].Key) + "\x00"
	}
}

func (r *remote) page(ctx context.Context, from, end string, size int64) (*clientv3.GetResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	return r.Get(ctx, from, clientv3.WithRange(end), clientv3.WithLimit(size))
}
