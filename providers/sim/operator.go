package sim

import (
	"context"
	"encoding/base64"
	"fmt"

	"sigs.k8s.io/yaml"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// Kubeconfig makes a kubeconfig for the operator. It looks like a real one and
// holds records where that has keys and certificates.
func (i Issuer) Kubeconfig(ctx context.Context, signer providers.Host, op planner.WriteKubeconfig, contents map[string]state.Secret) (state.Secret, error) {
	h, err := hostOf(signer)
	if err != nil {
		return state.Secret{}, err
	}
	h.w.mu.Lock()
	defer h.w.mu.Unlock()
	m := h.machine()
	if err := h.w.connected(ctx, m); err != nil {
		return state.Secret{}, err
	}
	ca, err := i.authority(h.w, signer, m, op.CA, true, contents)
	if err != nil {
		return state.Secret{}, err
	}
	client := h.w.leaf(m, ca, op.CommonName, op.Organizations, []string{"client auth"}, op.Algorithm, op.Validity)
	return readable(&record{ClientKey: client.Key, Kubeconfig: &state.KubeconfigInfo{
		Server: op.Server, Cluster: op.Cluster, User: op.User, CAs: []state.CertificateInfo{*ca}, Client: &client.Certificates[0],
	}})
}

// ReadKubeconfig fetches a host's kubeconfig as Kubeconfig makes one.
func (Issuer) ReadKubeconfig(ctx context.Context, from providers.Host, path string) (state.Secret, error) {
	files, err := from.ReadSecrets(ctx, []string{path})
	if err != nil {
		return state.Secret{}, err
	}
	r := decodeRecord(files[path].Reveal())
	if r == nil || r.Kubeconfig == nil {
		return state.Secret{}, fmt.Errorf("%s is not there", path)
	}
	return readable(r)
}

// readable is a record as the YAML that it stands for.
func readable(r *record) (state.Secret, error) {
	k := r.Kubeconfig
	context := k.User + "@" + k.Cluster
	data := func(r *record) string { return base64.StdEncoding.EncodeToString(r.encode()) }
	user := map[string]any{}
	if k.Client != nil {
		user["client-certificate-data"] = data(&record{Certificates: []state.CertificateInfo{*k.Client}})
		user["client-key-data"] = data(&record{Key: r.ClientKey})
	}
	b, err := yaml.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": context,
		"clusters": []any{map[string]any{"name": k.Cluster, "cluster": map[string]any{
			"server": k.Server, "certificate-authority-data": data(&record{Public: k.CAs[0].KeyDigest}),
		}}},
		"contexts": []any{map[string]any{"name": context, "context": map[string]any{"cluster": k.Cluster, "user": k.User}}},
		"users":    []any{map[string]any{"name": k.User, "user": user}},
	})
	return state.NewSecret(b), err
}
