package sim

import (
	"context"
	"encoding/hex"
	"fmt"

	"github.com/kubewright/kubewright/config/atrest"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/sim/apiserver"
	"github.com/kubewright/kubewright/providers/sim/file"
	"github.com/kubewright/kubewright/providers/sim/machine"
	"github.com/kubewright/kubewright/providers/sim/staticpod"
)

// WriteEncryption writes an EncryptionConfiguration. Its keys are derived from the world's seed: no
// key of a real cluster has their form.
func (Issuer) WriteEncryption(ctx context.Context, on, from providers.Host, op planner.WriteEncryption, batch providers.Batch) (providers.Outcome, error) {
	return issue(ctx, on, op, op.Path, batch, func(w *World, m *machine.Machine) (bool, error) {
		config := atrest.File{Chains: op.Chains, Plugins: op.Plugins, Keys: keysAt(w, m, op.Path)}
		if from != nil {
			h, err := hostOf(from)
			if err != nil {
				return false, err
			}
			source := w.fleet.Machine(h.address)
			if err := source.Connected(ctx); err != nil {
				return false, err
			}
			if !source.Resolve(file.Clean(op.Path)).IsRegular() {
				return false, fmt.Errorf("cannot write %s: it is not on %s", op.Path, op.From)
			}
			for id, secret := range keysAt(w, source, op.Path) {
				config.Keys[id] = secret
			}
		}
		for _, id := range op.Make {
			if len(config.Keys[id]) == 0 {
				secret, err := hex.DecodeString(w.fleet.Derive(2*atrest.KeySize, "encryption key", m.Address, m.NextNumber()))
				if err != nil {
					return false, err
				}
				config.Keys[id] = secret
			}
		}
		content, err := config.Render()
		if err != nil {
			return false, fmt.Errorf("cannot write %s: %w", op.Path, err)
		}
		return m.Write(op.Path, w.fleet.NewFile(content, "0600", ""))
	})
}

// keysAt returns the keys in a file of a machine.
func keysAt(w *World, m *machine.Machine, path string) map[string][]byte {
	f := m.Resolve(file.Clean(path))
	if !f.IsRegular() {
		return map[string][]byte{}
	}
	config, _ := atrest.Parse(w.fleet.Text(f))
	return config.Keys
}

// LoadedEncryption returns the digest of the file that the API server has loaded.
func (a *api) LoadedEncryption(ctx context.Context) (string, error) {
	hash := ""
	err := a.read(ctx, "api.metrics", "", func(s *apiserver.Session) error {
		running, _ := s.On.Processes().Pod(staticpod.APIServer)
		hash = running.EncryptionFile
		return nil
	})
	return hash, err
}

// Rewrite stores the objects of a resource again.
func (a *api) Rewrite(ctx context.Context, resource string) (int, error) {
	var keys []string
	err := a.read(ctx, "api.observe", resource, func(s *apiserver.Session) error {
		keys = apiserver.OfResource(s.Cluster, resource)
		return nil
	})
	for _, key := range keys {
		if err != nil {
			break
		}
		err = a.act(ctx, "rewrite_object", key, func(api apiserver.API) error {
			apiserver.StoreAgain(api, key)
			return nil
		})
	}
	return len(keys), err
}

// StoredUnder counts the objects in etcd that are stored by a provider.
func (Access) StoredUnder(ctx context.Context, via providers.Host, _ providers.EtcdAt, prefix, id string) (under, other int, err error) {
	h, err := hostOf(via)
	if err != nil {
		return 0, 0, err
	}
	h.w.mu.Lock()
	defer h.w.mu.Unlock()
	m := h.machine()
	err = h.w.read(ctx, m, "etcd.stored", prefix, func() error {
		_, p := m.Processes().Pod(staticpod.APIServer)
		if p == nil {
			return &providers.Error{Kind: providers.ErrUnreachable, Do: "read etcd through " + m.Address}
		}
		c, err := h.w.servers.StorageOf(m, p)
		if err != nil {
			return &providers.Error{Kind: providers.ErrUnreachable, Do: "read etcd through " + m.Address, Cause: err}
		}
		for _, key := range apiserver.StoredBelow(c, prefix) {
			if apiserver.IsUnder(c.Objects[key], id) {
				under++
			} else {
				other++
			}
		}
		return nil
	})
	return under, other, err
}

// Stored counts the objects of a resource that are stored by a provider, and all others, in the etcds
// of all clusters.
func Stored(w *World, resource, id string) (under, other int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.etcds.List() {
		for _, key := range apiserver.OfResource(c, resource) {
			if apiserver.IsUnder(c.Objects[key], id) {
				under++
			} else {
				other++
			}
		}
	}
	return under, other
}
