package hosts

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/etcd"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// externalEtcds observes the external etcds that clusters are to be bootstrapped on. The
// credentials for them came with the observation of the host.
func (o *observer) externalEtcds(ctx context.Context) {
	for _, q := range etcd.ExternalEtcdQueries(o.config, o.recorded, o.reports) {
		o.external[q.Cluster.Label] = o.externalEtcd(ctx, q)
	}
}

// externalEtcd observes one external etcd. Any error is reported: no cluster may be
// bootstrapped on an etcd that could not be observed.
func (o *observer) externalEtcd(ctx context.Context, q etcd.ExternalEtcdQuery) *topology.ExternalEtcd {
	report, err := o.askExternalEtcd(ctx, q)
	return &topology.ExternalEtcd{ExternalEtcdReport: report, Err: err, Blind: errors.Is(err, providers.ErrNoForwarding)}
}

func (o *observer) askExternalEtcd(ctx context.Context, q etcd.ExternalEtcdQuery) (state.ExternalEtcdReport, error) {
	host, err := o.Host(ctx, q.Via)
	if err != nil {
		return state.ExternalEtcdReport{}, err
	}
	host = o.World.Remember(host, o.Member(q.Via).query.Secrets, o.reports[q.Via])
	client, err := etcdCredentials(ctx, host, q.Cluster.Etcd.External)
	if err != nil {
		return state.ExternalEtcdReport{}, fmt.Errorf("cannot ask the external etcd: %w", err)
	}
	return o.World.Access().ExternalEtcd(ctx, host, q.Cluster.Etcd.External.Endpoints, client, q.Prefix)
}

// etcdCredentials returns the credentials of the configuration, and those on the host if it has
// none.
func etcdCredentials(ctx context.Context, host providers.Host, e *config.ExternalEtcd) (providers.EtcdCredentials, error) {
	client := providers.EtcdCredentials{CA: pem(e.CAContent), Certificate: pem(e.CertContent), Key: e.KeyContent}
	missing := map[string]*state.Secret{}
	for path, secret := range map[string]*state.Secret{e.CAFile: &client.CA, e.CertFile: &client.Certificate, e.KeyFile: &client.Key} {
		if secret.IsZero() && path != "" {
			missing[path] = secret
		}
	}
	if len(missing) == 0 {
		return client, nil
	}
	files, err := host.ReadSecrets(ctx, slices.Sorted(maps.Keys(missing)))
	if err != nil {
		return client, err
	}
	for path, secret := range missing {
		if *secret = files[path]; secret.IsZero() {
			return client, errors.New(path + " is not there")
		}
	}
	return client, nil
}

func pem(content string) state.Secret {
	if content == "" {
		return state.Secret{}
	}
	return state.NewSecret([]byte(content))
}
