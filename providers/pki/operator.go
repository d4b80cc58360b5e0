package pki

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/kubeconfig"
)

// Kubeconfig implements providers.Issuer.
func (i *Issuer) Kubeconfig(ctx context.Context, signer providers.Host, op planner.WriteKubeconfig, contents map[string]state.Secret) (providers.ClientAccess, error) {
	op.Renew = true // no existing file is read
	g := newGroup(i, signer, []providers.KeyRequest{{Operation: op, Source: signer}}, contents)
	if err := g.read(ctx); err != nil {
		return providers.ClientAccess{}, err
	}
	if err := g.makeKeys(ctx); err != nil {
		return providers.ClientAccess{}, err
	}
	if err := g.stage(&g.jobs[0]); err != nil {
		return providers.ClientAccess{}, err
	}
	return clientAccess(g.byPath[op.Path])
}

// ReadKubeconfig implements providers.Issuer.
func (i *Issuer) ReadKubeconfig(ctx context.Context, from providers.Host, path string) (providers.ClientAccess, error) {
	files, err := from.ReadSecrets(ctx, []string{path})
	if err != nil {
		return providers.ClientAccess{}, err
	}
	if files[path].IsZero() {
		return providers.ClientAccess{}, fmt.Errorf("%s is not there", path)
	}
	a, err := clientAccess(files[path].Reveal())
	if err != nil {
		return providers.ClientAccess{}, fmt.Errorf("cannot use %s: %w", path, err)
	}
	return a, nil
}

// clientAccess extracts the credentials from a kubeconfig in kubeadm's format.
func clientAccess(b []byte) (providers.ClientAccess, error) {
	f, err := kubeconfig.Parse(b)
	if err != nil {
		return providers.ClientAccess{}, err
	}
	if err := f.OnlyAdmin(); err != nil {
		return providers.ClientAccess{}, err
	}
	a, err := f.Access("")
	if err != nil {
		return providers.ClientAccess{}, err
	}
	ca, trusted, err := certificatesAlone(a.Cluster.CA)
	if err != nil {
		return providers.ClientAccess{}, fmt.Errorf("its CA: %w", err)
	}
	client, chain, err := certificatesAlone(a.User.Certificate)
	if err != nil {
		return providers.ClientAccess{}, fmt.Errorf("its client certificate: %w", err)
	}
	key := keyAlone(a.User.Key)
	if _, err := tls.X509KeyPair(client, key); err != nil {
		// The cause is dropped: it refers to key material.
		return providers.ClientAccess{}, errors.New("its client certificate and key do not belong together")
	}
	return providers.ClientAccess{
		Server: a.Cluster.Server, CA: state.NewSecret(ca), Certificate: state.NewSecret(client), Key: state.NewSecret(key),
		Trusted: trusted, Client: chain[0],
	}, nil
}

// certificatesAlone returns the certificates in PEM, without text between the blocks and
// without headers.
func certificatesAlone(b []byte) ([]byte, []state.CertificateInfo, error) {
	infos, err := ParseCertificates(b)
	if err != nil {
		return nil, nil, err
	}
	return Blocks(b), infos, nil
}

// Blocks returns the certificates in PEM, without text between the blocks and without headers.
func Blocks(b []byte) []byte {
	var out []byte
	for block, rest := pem.Decode(b); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == blockCertificate {
			out = append(out, pem.EncodeToMemory(&pem.Block{Type: blockCertificate, Bytes: block.Bytes})...)
		}
	}
	return out
}

// keyAlone returns the first private key in PEM; nil if there is none.
func keyAlone(b []byte) []byte {
	for block, rest := pem.Decode(b); block != nil; block, rest = pem.Decode(rest) {
		switch block.Type {
		case blockRSAKey, blockECKey, blockPKCS8Key:
			return pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: block.Bytes})
		}
	}
	return nil
}

// Naming is the names of a kubeconfig's entries, and its server.
type Naming struct{ Cluster, User, Context, Server string }

// Write returns a kubeconfig with one cluster, user and context. Names and server are the
// operator's; from the access it takes only CA, certificate and key.
func Write(a providers.ClientAccess, names Naming) (state.Secret, error) {
	b, err := yaml.Marshal(kubeconfigFile{
		APIVersion: "v1", Kind: "Config", CurrentContext: names.Context,
		Clusters: []named[clusterEntry]{{names.Cluster, clusterEntry{CAData: a.CA.Reveal(), Server: names.Server}}},
		Contexts: []named[contextEntry]{{names.Context, contextEntry{Cluster: names.Cluster, User: names.User}}},
		Users:    []named[userEntry]{{names.User, userEntry{ClientCertificateData: a.Certificate.Reveal(), ClientKeyData: a.Key.Reveal()}}},
	})
	if err != nil {
		return state.Secret{}, errors.New("internal error: cannot encode kubeconfig")
	}
	return state.NewSecret(b), nil
}

var errNoTree = errors.New("cannot parse kubeconfig: it is no YAML of that kind")

func encodeTree(tree map[string]any) (state.Secret, error) {
	b, err := yaml.Marshal(tree)
	if err != nil {
		return state.Secret{}, errors.New("internal error: cannot encode kubeconfig")
	}
	return state.NewSecret(b), nil
}

// Merge adds the entries of one kubeconfig to another, replaces those with the same names,
// and makes its context the current one. Everything else stays, including fields that this
// package does not know; only comments are lost. An error quotes nothing of either.
func Merge(into, add []byte) (state.Secret, error) {
	var base, more map[string]any
	if yaml.Unmarshal(into, &base) != nil || yaml.Unmarshal(add, &more) != nil {
		return state.Secret{}, errNoTree
	}
	if base == nil {
		base = map[string]any{"apiVersion": "v1", "kind": "Config"}
	}
	if kind, ok := base["kind"]; ok && kind != "Config" {
		return state.Secret{}, errors.New("it is no kubeconfig: its kind is another")
	}
	for _, list := range []string{"clusters", "users", "contexts"} {
		old, ok := base[list].([]any)
		if base[list] != nil && !ok {
			return state.Secret{}, errNoTree
		}
		added, _ := more[list].([]any)
		for _, e := range added {
			name := nameOf(e)
			if i := slices.IndexFunc(old, func(o any) bool { return nameOf(o) == name }); i >= 0 {
				old[i] = e
				continue
			}
			old = append(old, e)
		}
		base[list] = old
	}
	base["current-context"] = more["current-context"]
	return encodeTree(base)
}

func nameOf(entry any) string {
	m, _ := entry.(map[string]any)
	name, _ := m["name"].(string)
	return name
}

// Named returns the names of the clusters and of the users in a kubeconfig.
func Named(kubeconfig []byte) (clusters, users []string, err error) {
	config, err := readKubeconfig(kubeconfig)
	if err != nil {
		return nil, nil, err
	}
	for _, c := range config.Clusters {
		clusters = append(clusters, c.Name)
	}
	for _, u := range config.Users {
		users = append(users, u.Name)
	}
	return clusters, users, nil
}
