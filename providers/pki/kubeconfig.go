package pki

import (
	"encoding/json"
	"errors"
	"fmt"

	"sigs.k8s.io/yaml"

	"github.com/kubewright/kubewright/state"
)

// kubeconfig is the part of a kubeconfig (v1) that kubeadm writes. encoding/json
// and sigs.k8s.io/yaml order keys by name, as client-go's encoder does.
type kubeconfig struct {
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

// entryKey is under which key the list's entries hold their content.
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
	// ClientKeyData is base64; text, so that a file whose key was masked can be read.
	ClientKeyData string `json:"client-key-data,omitempty"`
	Token         string `json:"token,omitempty"`
	TokenFile     string `json:"tokenFile,omitempty"`
}

// ParseKubeconfig reads the public parts of a kubeconfig: of its current
// context, or of its only cluster when it has no context (cluster-info). An
// error says what is wrong with the file and quotes none of it.
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

// readIdentities fills in who is trusted and who the client is.
func readIdentities(info *state.KubeconfigInfo, ca, client []byte) error {
	if len(ca) > 0 {
		cas, err := ParseCertificates(ca)
		if err != nil {
			return fmt.Errorf("cannot parse kubeconfig: its CA: %w", err)
		}
		for _, c := range cas {
			info.CAKeyDigests = append(info.CAKeyDigests, c.KeyDigest)
		}
	}
	if len(client) > 0 {
		// Together with the CA, so that the signer is found among its certificates.
		certs, err := ParseCertificates(append(append(append([]byte{}, client...), '\n'), ca...))
		if err != nil {
			return fmt.Errorf("cannot parse kubeconfig: its client certificate: %w", err)
		}
		info.Client = &certs[0]
	}
	return nil
}

func readKubeconfig(b []byte) (*kubeconfig, error) {
	var config kubeconfig
	// The cause is left out: errors of the YAML decoder quote the text, and the
	// text holds a key.
	if err := yaml.Unmarshal(b, &config); err != nil {
		return nil, errors.New("cannot parse kubeconfig: it is no YAML of that kind")
	}
	if config.Kind != "Config" && len(config.Clusters) == 0 {
		return nil, errors.New("cannot parse kubeconfig: it is of another kind")
	}
	return &config, nil
}

// current is the cluster and the user of the current context.
func (c *kubeconfig) current() (cluster, user string) {
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
