package sim

import (
	"context"
	"fmt"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/kubeconfig"
)

// Kubeconfig makes credentials for the operator, with records where real ones have
// keys and certificates.
func (i Issuer) Kubeconfig(ctx context.Context, signer providers.Host, op planner.WriteKubeconfig, contents map[string]state.Secret) (providers.ClientAccess, error) {
	h, err := hostOf(signer)
	if err != nil {
		return providers.ClientAccess{}, err
	}
	h.w.mu.Lock()
	defer h.w.mu.Unlock()
	m := h.machine()
	if err := h.w.connected(ctx, m); err != nil {
		return providers.ClientAccess{}, err
	}
	ca, err := i.authority(h.w, signer, m, op.CA, true, contents)
	if err != nil {
		return providers.ClientAccess{}, err
	}
	client := h.w.leaf(m, ca, op.CommonName, op.Organizations, []string{"client auth"}, op.Algorithm, op.Validity)
	return clientAccess(&record{ClientKey: client.Key, Kubeconfig: &state.KubeconfigInfo{
		Server: op.Server, Cluster: op.Cluster, User: op.User, CAs: []state.CertificateInfo{*ca}, Client: &client.Certificates[0],
	}})
}

// ReadKubeconfig fetches the credentials in a host's kubeconfig.
func (Issuer) ReadKubeconfig(ctx context.Context, from providers.Host, path string) (providers.ClientAccess, error) {
	files, err := from.ReadSecrets(ctx, []string{path})
	if err != nil {
		return providers.ClientAccess{}, err
	}
	if files[path].IsZero() {
		return providers.ClientAccess{}, fmt.Errorf("%s is not there", path)
	}
	r := decodeRecord(files[path].Reveal())
	if r == nil { // it was written by hand
		r, err = importKubeconfig(files[path].Reveal())
	}
	if err != nil || r == nil || r.Kubeconfig == nil {
		return providers.ClientAccess{}, fmt.Errorf("cannot use %s: it is no kubeconfig", path)
	}
	a, err := clientAccess(r)
	if err != nil {
		return providers.ClientAccess{}, fmt.Errorf("cannot use %s: %w", path, err)
	}
	return a, nil
}

// clientAccess takes the credentials out of a record.
func clientAccess(r *record) (providers.ClientAccess, error) {
	k := r.Kubeconfig
	switch {
	case len(r.Foreign) > 0:
		return providers.ClientAccess{}, &kubeconfig.ForeignError{Fields: r.Foreign}
	case k.Client == nil || len(k.CAs) == 0:
		return providers.ClientAccess{}, fmt.Errorf("it does not hold the CA, the client certificate and its key")
	}
	data := func(r *record) state.Secret { return state.NewSecret(r.encode()) }
	return providers.ClientAccess{
		Server: k.Server, CA: data(&record{Certificates: k.CAs}), Trusted: k.CAs,
		Certificate: data(&record{Certificates: []state.CertificateInfo{*k.Client}}), Client: *k.Client, Key: data(&record{Key: r.ClientKey}),
	}, nil
}
