package atrest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/kubewright/kubewright/state"
)

// Folder holds the file on a control plane. API servers mount the folder, not the file, so that they
// see the file that replaces another.
const (
	Folder = "/etc/kubernetes/encryption"
	Path   = Folder + "/config.yaml"
)

// Identity is the provider that stores objects as they are.
const Identity = "identity"

// The providers with a key in the file, and the one that asks a plugin.
const (
	Secretbox = "secretbox"
	AESCBC    = "aescbc"
	KMS       = "kms"
)

// KeySize is the size of a key in bytes, of both providers that have one.
const KeySize = 32

// ID returns the name of a provider with its key: secretbox:2026-11, kms:vault.
func ID(provider, key string) string {
	if provider == Identity {
		return Identity
	}
	return provider + ":" + key
}

// NeedsKey reports whether the provider of an ID has a key in the file.
func NeedsKey(id string) bool {
	return strings.HasPrefix(id, Secretbox+":") || strings.HasPrefix(id, AESCBC+":")
}

// File is the content of the file.
type File struct {
	// Chains are the IDs of the providers of each resource: the first one encrypts, all of them
	// decrypt.
	Chains map[string][]string
	// Keys are the keys of IDs.
	Keys map[string][]byte
	// Plugins are the KMS plugins of IDs.
	Plugins map[string]state.KMSPlugin
}

// document is the file as the API server reads it (k8s.io/apiserver/pkg/apis/apiserver/v1).
type document struct {
	APIVersion string  `json:"apiVersion"`
	Kind       string  `json:"kind"`
	Resources  []entry `json:"resources"`
}

type entry struct {
	Resources []string   `json:"resources"`
	Providers []provider `json:"providers"`
}

type provider struct {
	Secretbox *keys     `json:"secretbox,omitempty"`
	AESCBC    *keys     `json:"aescbc,omitempty"`
	AESGCM    *keys     `json:"aesgcm,omitempty"`
	KMS       *kms      `json:"kms,omitempty"`
	Identity  *struct{} `json:"identity,omitempty"`
}

type keys struct {
	Keys []key `json:"keys"`
}

type key struct {
	Name   string `json:"name"`
	Secret string `json:"secret"`
}

type kms struct {
	APIVersion string `json:"apiVersion"`
	Name       string `json:"name"`
	Endpoint   string `json:"endpoint"`
	Timeout    string `json:"timeout,omitempty"`
}

// Render returns the file. Resources with the same providers share an entry.
func (f File) Render() ([]byte, error) {
	out := document{APIVersion: "apiserver.config.k8s.io/v1", Kind: "EncryptionConfiguration"}
	for _, resource := range slices.Sorted(maps.Keys(f.Chains)) {
		chain := f.Chains[resource]
		i := slices.IndexFunc(out.Resources, func(e entry) bool { return slices.Equal(f.Chains[e.Resources[0]], chain) })
		if i >= 0 {
			out.Resources[i].Resources = append(out.Resources[i].Resources, resource)
			continue
		}
		e := entry{Resources: []string{resource}}
		for _, id := range chain {
			p, err := f.provider(id)
			if err != nil {
				return nil, err
			}
			e.Providers = append(e.Providers, p)
		}
		out.Resources = append(out.Resources, e)
	}
	return yaml.Marshal(out)
}

func (f File) provider(id string) (provider, error) {
	if id == Identity {
		return provider{Identity: &struct{}{}}, nil
	}
	kind, name, _ := strings.Cut(id, ":")
	if kind == KMS {
		p, known := f.Plugins[id]
		if !known {
			return provider{}, fmt.Errorf("internal error: no KMS plugin %s", name)
		}
		return provider{KMS: &kms{APIVersion: "v2", Name: name, Endpoint: p.Endpoint, Timeout: p.Timeout}}, nil
	}
	secret := f.Keys[id]
	if len(secret) == 0 {
		return provider{}, fmt.Errorf("key %s is on none of the control planes that were read", id)
	}
	one := &keys{Keys: []key{{Name: name, Secret: base64.StdEncoding.EncodeToString(secret)}}}
	switch kind {
	case Secretbox:
		return provider{Secretbox: one}, nil
	case AESCBC:
		return provider{AESCBC: one}, nil
	}
	return provider{AESGCM: one}, nil
}

// Parse reads the file. Several keys of one entry are as many providers. The error does not quote the
// file.
func Parse(content []byte) (File, error) {
	out := File{Chains: map[string][]string{}, Keys: map[string][]byte{}, Plugins: map[string]state.KMSPlugin{}}
	var d document
	if err := yaml.UnmarshalStrict(content, &d); err != nil {
		return out, fmt.Errorf("not an EncryptionConfiguration")
	}
	if d.Kind != "EncryptionConfiguration" || len(d.Resources) == 0 {
		return out, fmt.Errorf("not an EncryptionConfiguration")
	}
	for _, e := range d.Resources {
		chain, err := out.take(e.Providers)
		if err != nil {
			return out, err
		}
		for _, r := range e.Resources {
			if _, masked := out.Chains[r]; !masked {
				out.Chains[r] = chain
			}
		}
	}
	return out, nil
}

// take adds the providers of an entry, and returns their IDs.
func (f File) take(providers []provider) ([]string, error) {
	var chain []string
	for _, p := range providers {
		for kind, ks := range map[string]*keys{Secretbox: p.Secretbox, AESCBC: p.AESCBC, "aesgcm": p.AESGCM} {
			if ks == nil {
				continue
			}
			for _, k := range ks.Keys {
				secret, err := base64.StdEncoding.DecodeString(k.Secret)
				if err != nil || len(secret) == 0 || k.Name == "" {
					return nil, fmt.Errorf("key %q of %s is not usable", k.Name, kind)
				}
				id := ID(kind, k.Name)
				f.Keys[id], chain = secret, append(chain, id)
			}
		}
		switch {
		case p.KMS != nil:
			id := ID(KMS, p.KMS.Name)
			f.Plugins[id], chain = state.KMSPlugin{Endpoint: p.KMS.Endpoint, Timeout: p.KMS.Timeout}, append(chain, id)
		case p.Identity != nil:
			chain = append(chain, Identity)
		}
	}
	if len(chain) == 0 {
		return nil, fmt.Errorf("an entry has no provider")
	}
	return chain, nil
}

// Info returns the content without its keys.
func (f File) Info() *state.EncryptionInfo {
	out := &state.EncryptionInfo{Chains: f.Chains, Keys: map[string]string{}, Plugins: f.Plugins}
	for id, secret := range f.Keys {
		out.Keys[id] = Fingerprint(secret)
	}
	return out
}

// Fingerprint identifies a key without revealing anything of it: keys are random.
func Fingerprint(secret []byte) string {
	sum := sha256.Sum256(append([]byte("kubewright: key for encryption at rest\n"), secret...))
	return hex.EncodeToString(sum[:8])
}
