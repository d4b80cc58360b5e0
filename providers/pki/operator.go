package pki

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// Kubeconfig implements providers.Issuer.
func (i *Issuer) Kubeconfig(ctx context.Context, signer providers.Host, op planner.WriteKubeconfig, contents map[string]state.Secret) (state.Secret, error) {
	op.Renew = true // nothing is looked for where it would be written
	g := newGroup(i, signer, []providers.KeyRequest{{Operation: op, Source: signer}}, contents)
	if err := g.read(ctx); err != nil {
		return state.Secret{}, err
	}
	if err := g.makeKeys(ctx); err != nil {
		return state.Secret{}, err
	}
	if err := g.stage(&g.jobs[0]); err != nil {
		return state.Secret{}, err
	}
	return state.NewSecret(g.byPath[op.Path]), nil
}

// ReadKubeconfig implements providers.Issuer.
func (i *Issuer) ReadKubeconfig(ctx context.Context, from providers.Host, path string) (state.Secret, error) {
	files, err := from.ReadSecrets(ctx, []string{path})
	if err != nil {
		return state.Secret{}, err
	}
	if files[path].IsZero() {
		return state.Secret{}, fmt.Errorf("%s is not there", path)
	}
	return files[path], nil
}

// Naming is what the entries of a kubeconfig are called, and which server it is for.
type Naming struct {
	Cluster, User, Context string
	// Server replaces the server when it is set.
	Server string
}

// Name gives the entries of a kubeconfig's current context other names, so that
// it can stand beside others: kubeadm calls all of them the same.
func Name(kubeconfig state.Secret, names Naming) (state.Secret, error) {
	config, err := readKubeconfig(kubeconfig.Reveal())
	if err != nil {
		return state.Secret{}, err
	}
	var tree map[string]any
	if err := yaml.Unmarshal(kubeconfig.Reveal(), &tree); err != nil {
		return state.Secret{}, errNoTree
	}
	clusterName, userName := config.current()
	cluster, err := entryOf(tree, "clusters", "cluster", clusterName)
	if err != nil {
		return state.Secret{}, err
	}
	user, err := entryOf(tree, "users", "user", userName)
	if err != nil {
		return state.Secret{}, err
	}
	if names.Server != "" {
		cluster["server"] = names.Server
	}
	return encodeTree(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": names.Context,
		"clusters": []any{map[string]any{"name": names.Cluster, "cluster": cluster}},
		"users":    []any{map[string]any{"name": names.User, "user": user}},
		"contexts": []any{map[string]any{"name": names.Context, "context": map[string]any{"cluster": names.Cluster, "user": names.User}}},
	})
}

var errNoTree = errors.New("cannot parse kubeconfig: it is no YAML of that kind")

func encodeTree(tree map[string]any) (state.Secret, error) {
	b, err := yaml.Marshal(tree)
	if err != nil {
		return state.Secret{}, errors.New("internal error: cannot encode kubeconfig")
	}
	return state.NewSecret(b), nil
}

// Merge adds the entries of one kubeconfig to another, in place of those with
// the same names, and makes its context the current one. All else stays, also
// what this package does not know; only comments are lost. An error quotes
// nothing of either.
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

// Named are the names of the clusters and of the users in a kubeconfig.
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
