package apiserver

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/config/atrest"
	"github.com/kubewright/kubewright/providers/sim/etcd"
	"github.com/kubewright/kubewright/providers/sim/file"
	"github.com/kubewright/kubewright/providers/sim/machine"
	"github.com/kubewright/kubewright/providers/sim/staticpod"
	"github.com/kubewright/kubewright/providers/sim/store"
)

// The flags by which an API server reads an EncryptionConfiguration.
const (
	flagEncryption = "encryption-provider-config"
	flagReload     = "encryption-provider-config-automatic-reload"
)

// lookEvery is how often an API server looks whether the file has changed.
const lookEvery = time.Minute

// ReadEncryption has an API server read its EncryptionConfiguration, and returns why it cannot.
func (s *Servers) ReadEncryption(m *machine.Machine, running *machine.StaticPod) error {
	running.Looked = s.Now
	path, told := s.Manifest(running.Manifest).Arg(flagEncryption)
	if !told {
		running.Encryption, running.EncryptionFile, running.Plugins = nil, "", nil
		return nil
	}
	f := m.Resolve(file.Clean(path))
	if f == nil {
		return fmt.Errorf("error reading encryption provider configuration file %q", path)
	}
	config, err := atrest.Parse(s.Text(f))
	if err != nil {
		return fmt.Errorf("error decoding encryption provider configuration file %q: %w", path, err)
	}
	running.Encryption, running.EncryptionFile, running.Plugins = map[string][]string{}, f.SHA256, nil
	for _, p := range config.Plugins {
		running.Plugins = append(running.Plugins, p.Endpoint)
	}
	for r, chain := range config.Chains {
		for _, id := range chain {
			running.Encryption[r] = append(running.Encryption[r], keyed(id, config))
		}
	}
	return nil
}

// keyed returns a provider with the fingerprint of its key: another key of the same name does not
// decrypt.
func keyed(id string, f atrest.File) string {
	if secret := f.Keys[id]; len(secret) > 0 {
		return id + "#" + atrest.Fingerprint(secret)
	}
	return id
}

// provider returns what keyed was given.
func provider(keyed string) string {
	id, _, _ := strings.Cut(keyed, "#")
	return id
}

// Look has an API server look at its EncryptionConfiguration if a minute has passed. It keeps what it
// has if the file cannot be used, or if a KMS plugin does not answer.
func (s *Servers) Look(m *machine.Machine) {
	running, manifest := m.Processes().Pod(staticpod.APIServer)
	if running == nil || manifest.Flag(flagReload, "false") != "true" || s.Now.Before(running.Looked.Add(lookEvery)) {
		return
	}
	running.Looked = s.Now
	f := m.Resolve(file.Clean(manifest.Flag(flagEncryption, "")))
	if f == nil {
		return
	}
	config, err := atrest.Parse(s.Text(f))
	for _, p := range config.Plugins {
		if pluginFault(m, manifest, p.Endpoint) != nil {
			return
		}
	}
	if err == nil {
		_ = s.ReadEncryption(m, running)
	}
}

// pluginFault returns why an API server does not reach a KMS plugin: its pod does not mount the folder
// of the socket, or there is none. Nil if it does.
func pluginFault(m *machine.Machine, p *staticpod.Manifest, endpoint string) error {
	socket := file.Clean(strings.TrimPrefix(endpoint, "unix://"))
	if !p.Mounts(socket) || m.Resolve(socket) == nil {
		return fmt.Errorf("dial unix %s: connect: no such file or directory", socket)
	}
	return nil
}

// resourceOf returns the resource of a kind.
func resourceOf(o *store.Object) string {
	name, group := strings.ToLower(o.Live.Get("kind").AsString())+"s", ""
	if g, _, grouped := strings.Cut(o.Live.Get("apiVersion").AsString(), "/"); grouped {
		group = "." + g
	}
	return name + group
}

// writer returns the API server that handles a request; the first one if it is not known.
func writer(a API) *machine.StaticPod {
	for _, m := range append([]*machine.Machine{a.servers.Handling}, a.servers.Machines()...) {
		if m == nil {
			continue
		}
		if running, p := m.Processes().Pod(staticpod.APIServer); running != nil {
			if c, err := a.servers.StorageOf(m, p); err == nil && c == a.c {
				return running
			}
		}
	}
	return nil
}

// encrypt notes the key with which an object is stored.
func (a API) encrypt(o *store.Object) {
	o.Key = ""
	if w := writer(a); w != nil {
		if chain := w.Encryption[resourceOf(o)]; len(chain) > 0 && chain[0] != atrest.Identity {
			o.Key = chain[0]
		}
	}
}

// Undecryptable returns an object that an API server cannot decrypt; empty if there is none.
func (s *Servers) Undecryptable(running *machine.StaticPod, c *etcd.Cluster) string {
	for _, key := range slices.Sorted(maps.Keys(c.Objects)) {
		o := c.Objects[key]
		chain := running.Encryption[resourceOf(o)]
		plain := len(chain) == 0 || slices.Contains(chain, atrest.Identity)
		if o.Key == "" && !plain || o.Key != "" && !slices.Contains(chain, o.Key) {
			return fmt.Sprintf("%s, stored with %q", key, provider(o.Key))
		}
	}
	return ""
}

// StoredBelow returns the keys of the objects below a prefix in etcd.
func StoredBelow(c *etcd.Cluster, prefix string) []string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(c.Objects)) {
		if below := atrest.StoredBelow("", resourceOf(c.Objects[key])); strings.HasSuffix(prefix, below) {
			out = append(out, key)
		}
	}
	return out
}

// IsUnder reports whether an object is stored by a provider.
func IsUnder(o *store.Object, id string) bool {
	if id == atrest.Identity {
		return o.Key == ""
	}
	return provider(o.Key) == id
}

// OfResource returns the keys of the objects of a resource.
func OfResource(c *etcd.Cluster, resource string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(c.Objects)), func(key string) bool { return resourceOf(c.Objects[key]) != resource })
}

// StoreAgain stores an object again.
func StoreAgain(a API, key string) {
	if o := a.c.Objects[key]; o != nil {
		before := o.Key
		if a.encrypt(o); o.Key != before {
			a.NewVersion(o)
		}
	}
}
