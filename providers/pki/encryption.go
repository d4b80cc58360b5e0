package pki

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"slices"

	"github.com/kubewright/kubewright/config/atrest"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
)

// WriteEncryption implements providers.Issuer.
func (i *Issuer) WriteEncryption(ctx context.Context, on, from providers.Host, op planner.WriteEncryption, batch providers.Batch) (providers.Outcome, error) {
	return i.one(ctx, on, providers.KeyRequest{Operation: op, Source: from}, batch)
}

// stageEncryption stages the file of keys. A file that cannot be parsed has no keys, and is replaced.
func (g *group) stageEncryption(j *job, op planner.WriteEncryption) error {
	before, _ := g.content(g.on, op.Path)
	own, _ := atrest.Parse(before)
	file := atrest.File{Chains: op.Chains, Plugins: op.Plugins, Keys: own.Keys}
	if j.source != g.on {
		content, ok := g.content(j.source, op.Path)
		if !ok {
			return fmt.Errorf("cannot write %s: it is not on %s", op.Path, op.From)
		}
		other, err := atrest.Parse(content)
		if err != nil {
			return fmt.Errorf("cannot write %s: that of %s is %w", op.Path, op.From, err)
		}
		for id, secret := range other.Keys {
			file.Keys[id] = secret
		}
	}
	for _, id := range op.Make {
		if len(file.Keys[id]) > 0 {
			continue // an interrupted apply has made it
		}
		secret := make([]byte, atrest.KeySize)
		_, _ = rand.Read(secret) // it never fails
		file.Keys[id] = secret
	}
	after, err := file.Render()
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", op.Path, err)
	}
	if was, err := atrest.Parse(before); err == nil && equalFiles(was, file) {
		after = before // in the format of another writer; mode and owner are set all the same
	}
	g.put(j, op.Path, secretMode, rootOwner, after)
	return nil
}

// equalFiles reports whether two files have the same providers with the same keys.
func equalFiles(a, b atrest.File) bool {
	if len(a.Chains) != len(b.Chains) {
		return false
	}
	for r, chain := range a.Chains {
		if !slices.Equal(chain, b.Chains[r]) {
			return false
		}
		for _, id := range chain {
			if !bytes.Equal(a.Keys[id], b.Keys[id]) || a.Plugins[id] != b.Plugins[id] {
				return false
			}
		}
	}
	return true
}
