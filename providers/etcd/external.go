package etcd

import (
	"context"
	"crypto/tls"
	"fmt"
	neturl "net/url"
	"strings"
	"sync"

	"github.com/hashicorp/go-multierror"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// LookExternal queries an etcd that kubewright does not manage, through a host: each
// endpoint for its version, and one for the number of keys with the prefix. It changes
// nothing. If an endpoint does not answer, it returns an error together with the other
// endpoints' answers. Without credentials it connects without TLS.
func LookExternal(ctx context.Context, via providers.Host, endpoints []string, client providers.EtcdCredentials, prefix string) (state.ExternalEtcdReport, error) {
	report := state.ExternalEtcdReport{Versions: map[string]string{}}
	var config *tls.Config
	if !client.CA.IsZero() {
		var err error
		if config, err = tlsConfig(client.CA.Reveal(), client.Certificate.Reveal(), client.Key.Reveal()); err != nil {
			return report, fmt.Errorf("cannot reach the external etcd: %w", err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	var mu sync.Mutex
	var all *multierror.Error
	var asked sync.WaitGroup
	for _, endpoint := range endpoints {
		asked.Go(func() {
			version, keys, err := lookAt(ctx, via, endpoint, config, prefix)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				all = multierror.Append(all, err)
				return
			}
			report.Versions[endpoint], report.Keys = version, max(report.Keys, keys)
		})
	}
	asked.Wait()
	if err := all.ErrorOrNil(); err != nil {
		return report, failure("reach the external etcd", providers.ErrUnreachable, err)
	}
	return report, nil
}

// lookAt asks one endpoint.
func lookAt(ctx context.Context, via providers.Host, endpoint string, config *tls.Config, prefix string) (version string, keys int64, err error) {
	// The client would retry until its deadline.
	if err := knock(ctx, via, endpoint); err != nil {
		return "", 0, err
	}
	r, err := dial(via, endpoint, config)
	if err != nil {
		return "", 0, err
	}
	defer r.close()
	answer, err := r.Status(ctx, endpoint)
	if err != nil {
		return "", 0, r.explain(err)
	}
	count, err := r.Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil {
		return "", 0, r.explain(err)
	}
	return strings.TrimPrefix(answer.Version, "v"), count.Count, nil
}

// knock checks that something listens at an endpoint.
func knock(ctx context.Context, via providers.Host, endpoint string) error {
	u, err := neturl.Parse(endpoint)
	if err != nil {
		return err
	}
	conn, err := via.DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return fmt.Errorf("%s: %w", endpoint, err)
	}
	return conn.Close()
}
