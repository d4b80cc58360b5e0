package sim

import (
	"context"
	"fmt"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/sim/file"
	"github.com/kubewright/kubewright/providers/sim/machine"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/kubeconfig"
)

// Kubeconfig makes credentials for the operator, with records in place of keys and
// certificates.
func (i Issuer) Kubeconfig(ctx context.Context, signer providers.Host, op planner.WriteKubeconfig, contents map[string]state.Secret) (providers.ClientAccess, error) {
	h, err := hostOf(signer)
	if err != nil {
		return providers.ClientAccess{}, err
	}
	h.w.mu.Lock()
	defer h.w.mu.Unlock()
	m := h.machine()
	if err := m.Connected(ctx); err != nil {
		return providers.ClientAccess{}, err
	}
	ca, err := i.authority(h.w, signer, m, op.CA, true, contents)
	if err != nil {
		return providers.ClientAccess{}, err
	}
	client := issuing{h.w.fleet, m}.leaf(ca, op.CommonName, op.Organizations, []string{"client auth"}, op.Algorithm, op.Validity)
	return clientAccess(&file.Record{ClientKey: client.Key, Kubeconfig: &state.KubeconfigInfo{
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
	r := file.Decode(files[path].Reveal())
	if r == nil { // it was written by hand
		r, err = file.ImportKubeconfig(files[path].Reveal())
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

// clientAccess returns the credentials in a record.
func clientAccess(r *file.Record) (providers.ClientAccess, error) {
	k := r.Kubeconfig
	switch {
	case len(r.Foreign) > 0:
		return providers.ClientAccess{}, &kubeconfig.ForeignError{Fields: r.Foreign}
	case k.Client == nil || len(k.CAs) == 0:
		return providers.ClientAccess{}, fmt.Errorf("it does not hold the CA, the client certificate and its key")
	}
	data := func(r *file.Record) state.Secret { return state.NewSecret(r.Encode()) }
	return providers.ClientAccess{
		Server: k.Server, CA: data(&file.Record{Certificates: k.CAs}), Trusted: k.CAs,
		Certificate: data(&file.Record{Certificates: []state.CertificateInfo{*k.Client}}), Client: *k.Client, Key: data(&file.Record{Key: r.ClientKey}),
	}, nil
}

// WriteKubeconfig writes a kubeconfig with a client certificate or a token.
func (i Issuer) WriteKubeconfig(ctx context.Context, on, signer providers.Host, op planner.WriteKubeconfig, token state.Secret, batch providers.Batch) (providers.Outcome, error) {
	return issue(ctx, on, op, op.Path, batch, func(w *World, m *machine.Machine) (bool, error) {
		if m.File(file.Clean(op.Path)) != nil && !op.Renew && token.IsZero() {
			return false, nil
		}
		ca, err := i.authority(w, signer, m, op.CA, token.IsZero(), batch.Contents)
		if err != nil {
			return false, err
		}
		k := &state.KubeconfigInfo{
			Server: op.Server, Cluster: op.Cluster, User: op.User, Context: op.User + "@" + op.Cluster, CAs: []state.CertificateInfo{*ca},
		}
		if path := trustedBy(op); path != "" {
			if k.CAs, err = trustedAt(w, signer, m, path); err != nil {
				return false, err
			}
		}
		r := &file.Record{Kubeconfig: k}
		if token.IsZero() {
			client := issuing{w.fleet, m}.leaf(ca, op.CommonName, op.Organizations, []string{"client auth"}, op.Algorithm, op.Validity)
			k.Client, r.ClientKey = &client.Certificates[0], client.Key
		} else {
			k.Token, r.Token = true, string(token.Reveal())
		}
		return m.Write(op.Path, file.OfRecord(r, "0600", ""))
	})
}

// SetKubeconfig changes the server or the client certificate's path of a kubeconfig.
func (Issuer) SetKubeconfig(ctx context.Context, on providers.Host, op planner.SetKubeconfig, batch providers.Batch) (providers.Outcome, error) {
	return issue(ctx, on, op, op.Path, batch, func(w *World, m *machine.Machine) (bool, error) {
		f := m.File(file.Clean(op.Path))
		if f == nil || f.Record == nil || f.Record.Kubeconfig == nil {
			return false, fmt.Errorf("cannot change %s: it is no kubeconfig", op.Path)
		}
		r, k := *f.Record, *f.Record.Kubeconfig
		if op.Server != "" {
			k.Server = op.Server
		}
		if op.Trust != "" {
			k.CAs = m.Certificates().AllAt(op.Trust)
		}
		if op.ClientCertificate != "" {
			k.Client, r.ClientKey = nil, ""
			k.ClientCertificate, k.ClientKey = op.ClientCertificate, op.ClientCertificate
		}
		r.Kubeconfig = &k
		return m.Write(op.Path, file.OfRecord(&r, f.EffectiveMode(), f.EffectiveOwner()))
	})
}

// trustedBy returns the file with the CAs that a kubeconfig trusts: by default that of its
// own CA.
func trustedBy(op planner.WriteKubeconfig) string {
	switch {
	case op.Trust != "":
		return op.Trust
	case op.CA.Operator != "":
		return ""
	}
	return op.CA.Base + ".crt"
}

func trustedAt(w *World, signer providers.Host, own *machine.Machine, path string) ([]state.CertificateInfo, error) {
	m := own
	if signer != nil {
		h, err := hostOf(signer)
		if err != nil {
			return nil, err
		}
		m = w.fleet.Machine(h.address)
	}
	out := m.Certificates().AllAt(path)
	if len(out) == 0 {
		return nil, fmt.Errorf("%s is not there", path)
	}
	return out, nil
}
