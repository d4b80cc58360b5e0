package encryption

import (
	"maps"
	"slices"

	"github.com/kubewright/kubewright/config/atrest"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// The encryption of a running cluster changes in stages, each of which ends on all control planes
// before the next begins:
//
//   - read: every API server can decrypt with all keys that are in use or will be, and encrypts as
//     before.
//   - write: every API server encrypts with the new key.
//   - rewrite: all objects are stored again, until etcd holds none of another key.
//   - the phase without a waypoint: every API server has the new key alone.
//
// Not to be encrypted at all is a key as well: identity. At any moment each API server can decrypt
// what any other one writes.
const (
	Read    = "read"
	Write   = "write"
	Rewrite = "rewrite"
)

// chains are the providers of each resource.
type chains map[string][]string

// Progress is how far the encryption of a running cluster is from the one that is desired.
type Progress struct {
	// Nodes are the control planes that run, the primary first.
	Nodes []*topology.Node
	// Target is the provider with which objects of each resource are to be encrypted in the end.
	Target map[string]string
	// Have are the providers of the API server on each node; a node whose file is lost has none.
	Have map[state.Target]chains
	// union are all providers in use or desired, of each resource.
	union chains
	// Dropping reports whether all API servers encrypt as desired, and some have nothing else.
	Dropping bool
}

// Of returns the progress of a cluster whose encryption has to change in stages; nil if it does not.
func Of(c *topology.Cluster) *Progress {
	if c.Founding || c.Fleet.Destroy {
		return nil
	}
	p := &Progress{Nodes: running(c), Target: map[string]string{}, Have: map[state.Target]chains{}, union: chains{}}
	for _, n := range p.Nodes {
		if have, known := observed(n); known {
			p.Have[n.Target] = have
		}
	}
	if len(p.Have) == 0 {
		return nil
	}
	if c.AtRest != nil {
		for _, r := range c.AtRest.Resources {
			p.Target[r] = c.AtRest.ID()
		}
	}
	for _, have := range p.Have {
		for r := range have {
			if _, desired := p.Target[r]; !desired {
				p.Target[r] = atrest.Identity
			}
		}
	}
	p.unite()
	if !p.differs() {
		return nil
	}
	p.Dropping = p.dropping()
	return p
}

// running returns the control planes whose API servers run, the primary first.
func running(c *topology.Cluster) []*topology.Node {
	return slices.DeleteFunc(c.Running(), func(n *topology.Node) bool { return n.Joins() })
}

// observed returns the providers of the API server on a node; known is false if its file is lost, so
// that only its memory has them.
func observed(n *topology.Node) (have chains, known bool) {
	if !Told(n) {
		return chains{}, true
	}
	info := n.Report.Files[atrest.Path].Encryption
	if info == nil {
		return nil, false
	}
	return info.Chains, true
}

// providerConfig is the argument that names the file.
const providerConfig = "encryption-provider-config"

// Told reports whether the manifest of a node's API server names the file.
func Told(n *topology.Node) bool {
	return foreign(n) == atrest.Path
}

// foreign returns the file that the manifest of a node's API server names.
func foreign(n *topology.Node) string {
	return n.Seen(state.KindStaticPod, topology.Manifest("kube-apiserver")).Get("args").Get(providerConfig).AsString()
}

// of returns the providers of a resource.
func (c chains) of(resource string) []string {
	if chain := c[resource]; len(chain) > 0 {
		return chain
	}
	return []string{atrest.Identity}
}

// resources returns all resources in order.
func (p *Progress) resources() []string { return slices.Sorted(maps.Keys(p.Target)) }

func (p *Progress) unite() {
	for _, r := range p.resources() {
		all := []string{p.Target[r]}
		for _, n := range p.Nodes {
			have, known := p.Have[n.Target]
			if !known {
				continue
			}
			for _, id := range have.of(r) {
				if !slices.Contains(all, id) {
					all = append(all, id)
				}
			}
		}
		p.union[r] = all
	}
}

// differs reports whether any API server has another provider than the desired one.
func (p *Progress) differs() bool {
	return slices.ContainsFunc(p.resources(), func(r string) bool { return len(p.union[r]) > 1 })
}

func (p *Progress) dropping() bool {
	begun := false
	for _, n := range p.Nodes {
		have, known := p.Have[n.Target]
		if !known {
			continue
		}
		alone := true
		for _, r := range p.resources() {
			chain := have.of(r)
			if chain[0] != p.Target[r] {
				return false
			}
			alone = alone && len(chain) == 1
		}
		begun = begun || alone
	}
	return begun
}

// read returns the providers of a node's API server in the stage Read.
func (p *Progress) read(n *topology.Node) chains {
	have, known := p.Have[n.Target]
	if !known {
		have = p.Have[p.sound().Target]
	}
	out := chains{}
	for _, r := range p.resources() {
		chain := slices.Clone(have.of(r))
		for _, id := range p.union[r] {
			if !slices.Contains(chain, id) {
				chain = append(chain, id)
			}
		}
		out[r] = chain
	}
	return out.withoutPlain()
}

// sound returns the first node whose file is there.
func (p *Progress) sound() *topology.Node {
	i := slices.IndexFunc(p.Nodes, func(n *topology.Node) bool { return p.Have[n.Target] != nil })
	return p.Nodes[i]
}

// write returns the providers of a node's API server in the stage Write.
func (p *Progress) write(n *topology.Node) chains {
	out := p.read(n)
	for r, chain := range out {
		if id := p.Target[r]; chain[0] != id {
			out[r] = append([]string{id}, slices.DeleteFunc(slices.Clone(chain), func(o string) bool { return o == id })...)
		}
	}
	return out
}

// withoutPlain drops the resources that are not encrypted.
func (c chains) withoutPlain() chains {
	for r, chain := range c {
		if len(chain) == 1 && chain[0] == atrest.Identity {
			delete(c, r)
		}
	}
	return c
}

// same reports whether the file of a node has the providers.
func same(n *topology.Node, c chains) bool {
	info := n.Report.Files[atrest.Path].Encryption
	return info != nil && maps.EqualFunc(info.Chains, c, slices.Equal[[]string])
}

// final returns the providers that the configuration asks for.
func final(c *topology.Cluster) chains {
	out := chains{}
	if c.AtRest != nil {
		for _, r := range c.AtRest.Resources {
			out[r] = []string{c.AtRest.ID()}
		}
	}
	return out
}
