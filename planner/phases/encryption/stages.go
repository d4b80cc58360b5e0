package encryption

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/atrest"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

func stage(t state.Target, name string) state.Address {
	id := topology.StepAddress(t, topology.EncryptionPhase)
	id.Waypoint = name
	return id
}

func rewriteStep(c *topology.Cluster) state.Address { return stage(c.Target, Rewrite) }

// BeforeControlPlane returns the steps that come before the control-plane step of a node: its API
// server does not start without the file, none may write what another cannot read, and one that
// cannot reach a plugin any more must not need it.
func BeforeControlPlane(n *topology.Node) []state.Address {
	c := n.Cluster
	p := Of(c)
	switch {
	case p != nil && c.AtRest == nil:
		return []state.Address{rewriteStep(c)}
	case c.AtRest == nil:
		return nil
	case p == nil || n.Joins() || !slices.Contains(p.Nodes, n) || p.leaves(c):
		return []state.Address{topology.StepAddress(n.Target, topology.EncryptionPhase)}
	case p.reaches(n):
		return nil
	}
	var out []state.Address
	for _, o := range p.Nodes {
		out = append(out, stage(o.Target, Read))
	}
	return out
}

// AddStages adds the stages of a cluster to the draft; withheld reports whether they wait for a control
// plane that was not observed, so that the plan has no sentence about them.
func AddStages(b *topology.Builder, c *topology.Cluster, withheld bool) {
	p := Of(c)
	if p == nil {
		return
	}
	if !withheld {
		b.Draft.Rotations = append(b.Draft.Rotations, p.sentence(c))
	}
	var read, write []state.Address
	for i, n := range p.Nodes {
		id := stage(n.Target, Read)
		needs := []state.Address{topology.StepAddress(n.Target, topology.PreparePhase)}
		if i > 0 {
			needs = append(needs, read[0]) // which has the new key
		}
		if p.reaches(n) {
			needs = append(needs, restarted(n)...)
		}
		if !p.Dropping {
			add(b, id, p.step(n, p.read(n), p.readable(n)), needs)
		} else {
			b.Draft.Edges[id] = needs
		}
		read = append(read, id)
	}
	for _, n := range p.Nodes {
		id := stage(n.Target, Write)
		needs := slices.Clone(read)
		if c.AtRest != nil && !p.leaves(c) {
			for _, o := range p.Nodes {
				needs = append(needs, restarted(o)...)
			}
		}
		if !p.Dropping {
			s := p.step(n, p.write(n), "its API server writes with "+p.with())
			s.Operations = append(s.Operations, waitUnlessThere(s)...)
			add(b, id, s, needs)
		} else {
			b.Draft.Edges[id] = needs
		}
		write = append(write, id)
	}
	add(b, rewriteStep(c), planner.Step{Via: c.Primary, Operations: p.rewrites(c), Impact: "stores all " + strings.Join(p.changing(), ", ") + " again; reads and writes go on"}, write)
}

// restarted returns the steps after which the API server of a node has restarted and serves.
func restarted(n *topology.Node) []state.Address {
	return []state.Address{topology.StepAddress(n.Target, topology.ControlPlanePhase), topology.StepAddress(n.Target, topology.WaitControlPlanePhase)}
}

func add(b *topology.Builder, id state.Address, s planner.Step, needs []state.Address) {
	s.Action = planner.Update
	b.Add(id, s, needs)
}

// step writes a node's file in a stage, and waits until its API server has loaded it. One that does
// not read the file yet reads it when it starts.
func (p *Progress) step(n *topology.Node, want chains, impact string) planner.Step {
	s := planner.Step{Via: n.Target, Impact: impact}
	if !same(n, want) || strayKey(n) != "" {
		s.Operations = write(n, want, plugins(n.Cluster))
	}
	if Told(n) {
		s.Operations = append(s.Operations, loaded())
	}
	return s
}

// waitUnlessThere returns the wait of a stage before which all API servers read the file.
func waitUnlessThere(s planner.Step) []planner.Operation {
	if slices.ContainsFunc(s.Operations, func(op planner.Operation) bool { _, waits := op.(planner.Wait); return waits }) {
		return nil
	}
	return []planner.Operation{loaded()}
}

// changing returns the resources whose objects are stored again.
func (p *Progress) changing() []string {
	return slices.DeleteFunc(p.resources(), func(r string) bool { return len(p.union[r]) < 2 })
}

// readable returns the impact of the first stage on a node.
func (p *Progress) readable(n *topology.Node) string {
	text := "its API server can read with " + p.with()
	if !Told(n) {
		text += " when it has restarted"
	}
	return text
}

// with names the providers that encrypt in the end.
func (p *Progress) with() string {
	var out []string
	for _, r := range p.resources() {
		id := p.Target[r]
		if id == atrest.Identity {
			id += " (" + r + " unencrypted)"
		}
		if len(p.union[r]) > 1 && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return strings.Join(out, " and ")
}

// rewrites returns the operations that store objects again, for each provider those of its resources.
func (p *Progress) rewrites(c *topology.Cluster) []planner.Operation {
	of := map[string][]string{}
	for _, r := range p.resources() {
		if len(p.union[r]) > 1 {
			of[p.Target[r]] = append(of[p.Target[r]], r)
		}
	}
	var ops []planner.Operation
	for _, id := range slices.Sorted(maps.Keys(of)) {
		ops = append(ops, planner.RewriteObjects{Resources: of[id], Key: id, Root: Registry(c.Cluster), Etcd: reader(c)})
	}
	return ops
}

// Registry returns the prefix of the API servers' keys in etcd.
func Registry(c *config.Cluster) string {
	for _, a := range c.APIServer.Args {
		if a.Name == "etcd-prefix" {
			return a.Value
		}
	}
	return "/registry"
}

// reader returns how etcd is read through the primary.
func reader(c *topology.Cluster) planner.EtcdReader {
	if e := c.Etcd.External; e != nil {
		return planner.EtcdReader{Endpoints: e.Endpoints, CA: e.CAFile, Certificate: e.CertFile, Key: e.KeyFile}
	}
	dir := c.Certificates.Dir + "/etcd/"
	return planner.EtcdReader{CA: dir + "ca.crt", Certificate: dir + "healthcheck-client.crt", Key: dir + "healthcheck-client.key"}
}

// sentence returns the plan's sentence about the change.
func (p *Progress) sentence(c *topology.Cluster) string {
	name := c.Target.String() + "/encryption"
	if p.Dropping {
		return name + ": all API servers write with " + p.with() + "; when etcd holds nothing else, other keys are dropped."
	}
	return name + ": every API server can read with " + p.with() + ", then writes with it, all objects are stored again, and other keys are dropped; if interrupted, " +
		"it continues with the next apply."
}

// Check refuses what would make objects unreadable, and changes during which API servers could not
// follow the stages. A control plane that was not observed may be missing where vouched permits it: the
// stages, which take all control planes, are then withheld.
func Check(v *topology.Fleet, vouched func(*topology.Cluster) bool) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, c := range v.Clusters {
		for _, d := range []*diag.Diagnostic{checkForeign(c), checkLost(c), checkStages(c, vouched)} {
			if d != nil {
				diags.Append(d)
				break
			}
		}
	}
	return diags
}

// checkForeign refuses to replace a file of keys that kubewright does not manage.
func checkForeign(c *topology.Cluster) *diag.Diagnostic {
	if c.AtRest == nil || c.Founding {
		return nil
	}
	for _, n := range running(c) {
		if path := foreign(n); path != "" && path != atrest.Path {
			return diag.Errorf("Objects are encrypted already", "the API server of %s (%s) encrypts objects as %s says, which the encryption block does not manage: with other keys it could not read them. "+
				"Keep arg %q without the block, or first decrypt them: put identity first in that file, restart API servers, write all objects again, and remove the argument.",
				n.Target, n.Address, path, providerConfig).At(c.AtRest.Source).For(c.Target)
		}
	}
	return nil
}

// checkLost refuses to go on when no control plane has a key with which objects are encrypted: a new
// one of its name would not decrypt them.
func checkLost(c *topology.Cluster) *diag.Diagnostic {
	if c.Founding {
		return nil
	}
	told, sound, held := false, false, holders(c)
	for _, n := range running(c) {
		_, known := observed(n)
		told, sound = told || Told(n), sound || Told(n) && known
	}
	lost := "any key"
	switch id := wanted(c); {
	case told && !sound:
	case atrest.NeedsKey(id) && held[id] == nil && recorded(c, id):
		lost = "the key " + id
	default:
		return nil
	}
	return diag.Errorf("Encryption key is lost", "no control plane of %s has %s in %s any more. API servers that run still have it in memory: do not restart them. "+
		"What is encrypted with it cannot be read without it. Put the file back from a backup of a control plane, mode 0600, and plan again.",
		c.Target, lost, atrest.Path).At(c.Source).For(c.Target)
}

// wanted returns the provider of the configuration; empty for none.
func wanted(c *topology.Cluster) string {
	if c.AtRest == nil {
		return ""
	}
	return c.AtRest.ID()
}

// recorded reports whether the state records a provider on a control plane.
func recorded(c *topology.Cluster, id string) bool {
	return slices.ContainsFunc(running(c), func(n *topology.Node) bool {
		was := c.Fleet.RecordedItems.Find(address(n))
		if was == nil {
			return false
		}
		for _, chain := range was.Attributes.Get("resources").AsMap() {
			if slices.Contains(strings.Split(chain.AsString(), ", "), id) {
				return true
			}
		}
		return false
	})
}

// checkStages refuses changes that cannot be combined with stages.
func checkStages(c *topology.Cluster, vouched func(*topology.Cluster) bool) *diag.Diagnostic {
	p := Of(c)
	if p == nil {
		return nil
	}
	at := c.Source
	if c.AtRest != nil {
		at = c.AtRest.Source
	}
	name := c.Target.String() + "/encryption"
	if c.Report == nil {
		return diag.Errorf("API does not answer", "%s: keys are changed only while the API answers: objects are stored again through it. Repair the cluster first.", name).At(at).For(c.Target)
	}
	if d := p.checkSockets(c); d != nil {
		return d.At(at).For(c.Target)
	}
	if why := disturbed(c, vouched); why != "" {
		return diag.Errorf("Encryption cannot be changed together with this", "%s: %s. While the keys change, every API server has to be observed and stays as it is otherwise. Apply one, then the other.", name, why).At(at).For(c.Target)
	}
	return nil
}

// disturbed returns what else changes API servers; empty if nothing does.
func disturbed(c *topology.Cluster, vouched func(*topology.Cluster) bool) string {
	waits := vouched(c)
	for _, n := range c.ControlPlanes() {
		if n.Report == nil && !waits {
			return fmt.Sprintf("%s (%s) was not observed", n.Target, n.Address)
		}
	}
	for _, l := range c.Fleet.Departures() {
		if l.Cluster == c && l.Role == string(config.ControlPlane) && (l.Acts() || !waits) {
			return fmt.Sprintf("%s leaves the cluster", l.Target)
		}
	}
	switch {
	case c.Up != nil && c.Up.Raises:
		return "the version changes"
	case c.Rotates():
		return "a CA or the service account key is rotated"
	}
	return ""
}
