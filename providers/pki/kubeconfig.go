package pki

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"sigs.k8s.io/yaml"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// kubeconfigFile is the part of a kubeconfig (v1) that kubeadm writes. encoding/json
// and sigs.k8s.io/yaml order keys by name, as client-go's encoder does.
type kubeconfigFile struct {
	APIVersion     string                `json:"apiVersion"`
	Clusters       []named[clusterEntry] `json:"clusters"`
	Contexts       []named[contextEntry] `json:"contexts"`
	CurrentContext string                `json:"current-context"`
	Kind           string                `json:"kind"`
	Users          []named[userEntry]    `json:"users"`
}

// named is an entry of one of kubeconfig's lists.
type named[T any] struct {
	Name  string
	Entry T
}

// entryKey is the key under which the list's entries hold their content.
func (n named[T]) entryKey() string {
	switch any(n.Entry).(type) {
	case clusterEntry:
		return "cluster"
	case contextEntry:
		return "context"
	default:
		return "user"
	}
}

// MarshalJSON writes {"name": …, "cluster": {…}}.
func (n named[T]) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"name": n.Name, n.entryKey(): n.Entry})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (n *named[T]) UnmarshalJSON(b []byte) error {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(b, &raw); err != nil {
		return err
	}
	if err := json.Unmarshal(raw["name"], &n.Name); err != nil && raw["name"] != nil {
		return err
	}
	if entry := raw[n.entryKey()]; entry != nil {
		return json.Unmarshal(entry, &n.Entry)
	}
	return nil
}

type clusterEntry struct {
	CAData []byte `json:"certificate-authority-data,omitempty"`
	Server string `json:"server"`
}

type contextEntry struct {
	Cluster   string `json:"cluster"`
	Namespace string `json:"namespace,omitempty"`
	User      string `json:"user"`
}

type userEntry struct {
	ClientCertificate     string `json:"client-certificate,omitempty"`
	ClientCertificateData []byte `json:"client-certificate-data,omitempty"`
	ClientKey             string `json:"client-key,omitempty"`
	// ClientKeyData is base64; text, so that a file with a masked key can be parsed.
	ClientKeyData base64Text `json:"client-key-data,omitempty"`
	Token         string     `json:"token,omitempty"`
	TokenFile     string     `json:"tokenFile,omitempty"`
}

// base64Text is bytes that are written in base64 and never parsed.
type base64Text []byte

// UnmarshalJSON ignores the content.
func (*base64Text) UnmarshalJSON([]byte) error { return nil }

// encodeKubeconfig writes a kubeconfig with one cluster, user and context.
func encodeKubeconfig(op planner.WriteKubeconfig, ca []byte, user userEntry) ([]byte, error) {
	context := op.User + "@" + op.Cluster
	b, err := yaml.Marshal(kubeconfigFile{
		APIVersion: "v1", Kind: "Config", CurrentContext: context,
		Clusters: []named[clusterEntry]{{op.Cluster, clusterEntry{CAData: ca, Server: op.Server}}},
		Contexts: []named[contextEntry]{{context, contextEntry{Cluster: op.Cluster, User: op.User}}},
		Users:    []named[userEntry]{{op.User, user}},
	})
	if err != nil {
		return nil, errors.New("internal error: cannot encode kubeconfig")
	}
	return b, nil
}

// setKubeconfig changes parts of the current context and keeps everything else, including
// fields that this package does not know. It returns nil if nothing changes. trust is the
// PEM of the CAs to trust; empty keeps them.
func setKubeconfig(b []byte, op planner.SetKubeconfig, trust []byte) ([]byte, error) {
	config, err := readKubeconfig(b)
	if err != nil {
		return nil, err
	}
	var tree map[string]any
	if err := yaml.Unmarshal(b, &tree); err != nil {
		return nil, errors.New("cannot parse kubeconfig: it is no YAML of that kind")
	}
	clusterName, userName := config.current()
	changed := false
	if op.Server != "" || trust != nil {
		cluster, err := entryOf(tree, "clusters", "cluster", clusterName)
		if err != nil {
			return nil, err
		}
		changed = useCluster(cluster, op.Server, trust)
	}
	if op.ClientCertificate != "" {
		user, err := entryOf(tree, "users", "user", userName)
		if err != nil {
			return nil, err
		}
		changed = useClientFile(user, op.ClientCertificate) || changed
	}
	if !changed {
		return nil, nil
	}
	return yaml.Marshal(tree)
}

// useCluster sets the server and the CAs of a cluster, unless they are empty, and reports
// whether anything changed.
func useCluster(cluster map[string]any, server string, trust []byte) bool {
	changed := false
	set := func(key, value string) {
		if value != "" && cluster[key] != value {
			cluster[key], changed = value, true
		}
	}
	set("server", server)
	set("certificate-authority-data", base64.StdEncoding.EncodeToString(trust))
	return changed
}

// useClientFile makes a user read certificate and key from one file, and reports whether
// anything changed.
func useClientFile(user map[string]any, path string) bool {
	_, cert := user["client-certificate-data"]
	_, private := user["client-key-data"]
	if !cert && !private && user["client-certificate"] == path && user["client-key"] == path {
		return false
	}
	delete(user, "client-certificate-data")
	delete(user, "client-key-data")
	user["client-certificate"], user["client-key"] = path, path
	return true
}

// entryOf returns the content of a named entry in a list of a kubeconfig's tree.
func entryOf(tree map[string]any, list, key, name string) (map[string]any, error) {
	entries, _ := tree[list].([]any)
	for _, e := range entries {
		entry, _ := e.(map[string]any)
		content, ok := entry[key].(map[string]any)
		if ok && entry["name"] == name {
			return content, nil
		}
	}
	return nil, fmt.Errorf("cannot find %s %q in the kubeconfig", key, name)
}

// ParseKubeconfig reads the public parts of a kubeconfig: of its current context, or of its
// only cluster if it has no context (cluster-info). An error names the problem and quotes
// nothing of the file.
func ParseKubeconfig(b []byte) (*state.KubeconfigInfo, error) {
	config, err := readKubeconfig(b)
	if err != nil {
		return nil, err
	}
	info := &state.KubeconfigInfo{Context: config.CurrentContext}
	info.Cluster, info.User = config.current()
	cluster, ok := find(config.Clusters, info.Cluster)
	if !ok {
		return nil, errors.New("cannot parse kubeconfig: it names no cluster")
	}
	info.Server = cluster.Server
	user, _ := find(config.Users, info.User)
	info.ClientCertificate, info.ClientKey = user.ClientCertificate, user.ClientKey
	info.Token = user.Token != "" || user.TokenFile != ""
	if err := readIdentities(info, cluster.CAData, user.ClientCertificateData); err != nil {
		return nil, err
	}
	return info, nil
}

// readIdentities fills in the trusted CAs and the client's identity.
func readIdentities(info *state.KubeconfigInfo, ca, client []byte) error {
	if len(ca) > 0 {
		cas, err := ParseCertificates(ca)
		if err != nil {
			return fmt.Errorf("cannot parse kubeconfig: its CA: %w", err)
		}
		info.CAs = cas
	}
	if len(client) > 0 {
		// Parsed together with the CA, so that the signer is found among its certificates.
		certs, err := ParseCertificates(append(append(append([]byte{}, client...), '\n'), ca...))
		if err != nil {
			return fmt.Errorf("cannot parse kubeconfig: its client certificate: %w", err)
		}
		info.Client = &certs[0]
	}
	return nil
}

func readKubeconfig(b []byte) (*kubeconfigFile, error) {
	var config kubeconfigFile
	// The cause is dropped: errors of the YAML decoder quote the text, which holds a key.
	if err := yaml.Unmarshal(b, &config); err != nil {
		return nil, errors.New("cannot parse kubeconfig: it is no YAML of that kind")
	}
	if config.Kind != "Config" && len(config.Clusters) == 0 {
		return nil, errors.New("cannot parse kubeconfig: it is of another kind")
	}
	return &config, nil
}

// current returns the cluster and the user of the current context.
func (c *kubeconfigFile) current() (cluster, user string) {
	if context, ok := find(c.Contexts, c.CurrentContext); ok {
		return context.Cluster, context.User
	}
	if len(c.Clusters) == 1 {
		cluster = c.Clusters[0].Name
	}
	return cluster, ""
}

func find[T any](list []named[T], name string) (T, bool) {
	for _, n := range list {
		if n.Name == name {
			return n.Entry, true
		}
	}
	var zero T
	return zero, false
}
