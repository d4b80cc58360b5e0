package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// api is the API of a cluster as the administrator of one host sees it.
type api struct {
	h        *Host
	endpoint string
}

var (
	_ providers.API          = (*api)(nil)
	_ providers.ObjectReader = (*api)(nil)
)

// read does something with the API that changes nothing.
func (a *api) read(ctx context.Context, op, detail string, do func(*session) error) error {
	w := a.h.w
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.read(ctx, a.h.machine(), op, detail, func() error {
		s, err := a.administrator()
		if err != nil {
			return err
		}
		return do(s)
	})
}

// act is one effect on the API.
func (a *api) act(ctx context.Context, op, detail string, do func(*World, *cluster) error) error {
	return a.actIf(ctx, op, detail, func(*World, *cluster) error { return nil }, do)
}

// actIf acts when check finds no fault. Otherwise the API answers with that, and
// there is no effect.
func (a *api) actIf(ctx context.Context, op, detail string, check, do func(*World, *cluster) error) error {
	w := a.h.w
	w.mu.Lock()
	defer w.mu.Unlock()
	m := a.h.machine()
	if err := w.connected(ctx, m); err != nil {
		return err
	}
	s, err := a.administrator()
	if err != nil {
		return err
	}
	if err := check(w, s.cluster); err != nil {
		return err
	}
	return w.act(m, op, detail, func() error {
		w.advance(timeFile)
		// What is deleted needs space as well, and is let through by etcd.
		if s.cluster.armed(alarmCorrupt) || s.cluster.armed(alarmNoSpace) && !strings.HasPrefix(op, "delete_") {
			return errNoSpace
		}
		return do(w, s.cluster)
	}, nil)
}

// Observe reads what the query asks for.
func (a *api) Observe(ctx context.Context, q state.ClusterQuery) (*state.ClusterReport, error) {
	r := &state.ClusterReport{Objects: map[state.ObjectRef]state.Value{}, Nodes: map[string]state.NodeReport{}}
	err := a.read(ctx, "api.observe", "", func(s *session) error {
		w, c := a.h.w, s.cluster
		_, p := w.podOf(s.on, compAPI)
		r.Version = p.tag()
		for _, ref := range q.Objects {
			if v := w.object(c, ref); !v.IsNull() {
				r.Objects[ref] = v
			}
		}
		r.InfoCAs = infoCAs(r.Objects[state.ClusterInfo])
		for name := range c.Nodes {
			r.Nodes[name] = w.nodeReport(c, name)
		}
		r.StaticPods = w.staticPods(c)
		if slices.Contains(q.Objects, state.KubeProxyConfig) {
			r.StaleProxies = w.staleProxies(c)
		}
		r.JoinTokens = c.joinTokens()
		if q.TokenSecrets {
			r.TokenSecrets, r.TokensSeen = c.tokenSecrets(), true
		}
		r.Pods, r.Budgets = w.podReports(c, q.Drained(r.Nodes))
		r.Claims = c.claimReports(q.Drained(r.Nodes))
		return nil
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Node looks at one node; it is nil when there is none.
func (a *api) Node(ctx context.Context, name string) (*state.NodeReport, error) {
	var out *state.NodeReport
	err := a.read(ctx, "api.observe", name, func(s *session) error {
		if s.cluster.Nodes[name] != nil {
			r := a.h.w.nodeReport(s.cluster, name)
			out = &r
		}
		return nil
	})
	return out, err
}

// StaticPod looks at one mirror pod; it is nil when there is none.
func (a *api) StaticPod(ctx context.Context, name string) (*state.StaticPodReport, error) {
	var out *state.StaticPodReport
	err := a.read(ctx, "api.observe", name, func(s *session) error {
		for _, address := range sortedKeys(a.h.w.planes) {
			m := a.h.w.d.Hosts[address]
			if m.Off || m.Kubelet == nil || s.cluster.Nodes[m.Kubelet.Node] == nil || m.Kubelet.Cluster != s.cluster.ID {
				continue
			}
			if pod, ok := strings.CutSuffix(name, "-"+m.Kubelet.Node); ok && m.Pods[pod] != nil {
				out = a.h.w.staticPod(m, pod, m.Kubelet.Node, s.cluster.Nodes[m.Kubelet.Node].Kubelet)
			}
		}
		return nil
	})
	return out, err
}

// Object looks at one object; it is null when there is none.
func (a *api) Object(ctx context.Context, ref state.ObjectRef) (state.Value, error) {
	var out state.Value
	err := a.read(ctx, "api.observe", ref.String(), func(s *session) error {
		out = a.h.w.object(s.cluster, ref)
		return nil
	})
	return out, err
}

// RootCAs returns what the controller manager publishes.
func (a *api) RootCAs(ctx context.Context) (map[string][]string, error) {
	out := map[string][]string{}
	err := a.read(ctx, "api.observe", "kube-root-ca.crt", func(s *session) error {
		roots := a.h.w.rootCAs(s.cluster)
		for _, namespace := range s.cluster.namespaces() {
			out[namespace] = roots
		}
		return nil
	})
	return out, err
}

// Ready asks /readyz once.
func (a *api) Ready(ctx context.Context) error {
	return a.read(ctx, "api.ready", "", func(*session) error { return nil })
}

// Apply makes the leaves of an object so.
func (a *api) Apply(ctx context.Context, wanted state.Value, createOnly bool) error {
	name := wanted.Get("kind").AsString() + "/" + wanted.Get("metadata.name").AsString()
	return a.act(ctx, "apply_object", name, func(w *World, c *cluster) error {
		ref, err := c.admits(wanted)
		if err != nil {
			return fmt.Errorf("cannot apply %s: %w", name, err)
		}
		live := w.object(c, ref)
		if createOnly && !live.IsNull() {
			return nil
		}
		if version := wanted.Get("metadata.resourceVersion"); !version.IsNull() {
			if !version.Equal(live.Get("metadata.resourceVersion")) {
				return conflict(name)
			}
			wanted = without(wanted, state.FromGo(map[string]any{"metadata": map[string]any{"resourceVersion": version}}))
		}
		w.apply(c, ref, wanted)
		if ref.Kind == "DaemonSet" {
			w.wakeCluster(c)
		}
		c.stale = true
		return nil
	})
}

// conflict says that somebody was faster.
func conflict(name string) error {
	return &providers.Error{
		Kind: providers.ErrUnavailable, Do: "apply " + name,
		Cause: errors.New("the object has been modified; please apply your changes to the latest version and try again"),
	}
}

// deleteNode deletes a Node and what only it would run again.
func (c *cluster) deleteNode(name string) {
	delete(c.Nodes, name)
	c.Pods = slices.DeleteFunc(c.Pods, func(p *Pod) bool {
		return p.Node == name && (p.Controller == "" || p.Controller == daemonSet)
	})
	c.stale = true
}

// Delete deletes an object; of a namespace, also what is in it.
func (a *api) Delete(ctx context.Context, ref state.ObjectRef) error {
	return a.act(ctx, "delete_object", ref.String(), func(w *World, c *cluster) error {
		switch {
		case ref.APIVersion == "v1" && ref.Kind == "Node":
			c.deleteNode(ref.Name)
			return nil
		case ref.APIVersion == "v1" && ref.Kind == "Namespace" && slices.Contains(keptNamespaces, ref.Name):
			return fmt.Errorf("namespaces %q is forbidden: this namespace may not be deleted", ref.Name)
		case ref.APIVersion == "v1" && ref.Kind == "Namespace":
			for key, o := range c.Objects {
				if o.Live.Get("metadata.namespace").AsString() == ref.Name {
					delete(c.Objects, key)
				}
			}
		}
		if o := c.Objects[ref.String()]; o != nil && ref.Kind == "DaemonSet" {
			w.endDaemon(c, o.name())
		}
		delete(c.Objects, ref.String())
		c.stale = true
		return nil
	})
}

// endDaemon stops a DaemonSet's pods; what they made on the hosts stays.
func (w *World) endDaemon(c *cluster, name string) {
	for _, n := range c.Nodes {
		if m := w.d.Hosts[n.Host]; m != nil && w.kubeletRuns(m) {
			m.Daemons = slices.DeleteFunc(m.Daemons, func(d string) bool { return d == name })
		}
	}
}

// PatchNode sets and removes labels, annotations and taints of a node.
func (a *api) PatchNode(ctx context.Context, op planner.PatchNode, expect func(state.NodeReport) error) error {
	expected := func(w *World, c *cluster) error {
		if expect == nil || c.Nodes[op.Node] == nil {
			return nil
		}
		return expect(w.nodeReport(c, op.Node))
	}
	return a.actIf(ctx, "patch_node", op.Node, expected, func(_ *World, c *cluster) error {
		n := c.Nodes[op.Node]
		if n == nil {
			return notFound(op.Node)
		}
		n.patch(op.Labels, op.Annotations, op.RemoveLabels, op.RemoveAnnotations, op.Taints, op.RemoveTaints)
		c.stale = true
		return nil
	})
}

// Restart marks the pods of a DaemonSet or Deployment; simulated ones start at
// once, and read which CAs to trust.
func (a *api) Restart(ctx context.Context, op planner.RestartPods) error {
	ref := state.ObjectRef{APIVersion: "apps/v1", Kind: op.Kind, Namespace: op.Namespace, Name: op.Name}
	return a.act(ctx, "restart", ref.String(), func(w *World, c *cluster) error {
		o := c.Objects[ref.String()]
		if o == nil {
			return nil
		}
		o.Live = with(o.Live, state.String(op.Mark), "spec", "template", "metadata", "annotations", planner.RestartAnnotation)
		if roots := w.rootCAs(c); roots != nil {
			o.Trusts = roots
		}
		w.issueTokens(c, o)
		w.rollProxies(c, ref)
		return nil
	})
}

func notFound(node string) error {
	return &providers.Error{Kind: providers.ErrNotFound, Do: "change node " + node, Cause: fmt.Errorf("nodes %q not found", node)}
}

// Cordon makes a node unschedulable, or schedulable again.
func (a *api) Cordon(ctx context.Context, op planner.Cordon) error {
	return a.act(ctx, "cordon", op.Node, func(w *World, c *cluster) error {
		n := c.Nodes[op.Node]
		if n == nil {
			return notFound(op.Node)
		}
		marked := op.For == "" || n.Annotations[planner.CordonAnnotation] == op.For
		switch {
		case op.Undo && marked:
			n.Unschedulable = false
			delete(n.Annotations, planner.CordonAnnotation)
			if op.Remember != "" {
				setText(&n.Annotations, planner.LetInAnnotation, planner.LetIn(w.d.Now, op.Remember), "")
			}
		case !op.Undo && !n.Unschedulable:
			n.Unschedulable = true
			if op.For != "" {
				setText(&n.Annotations, planner.CordonAnnotation, op.For, "")
			}
		}
		c.stale = true
		return nil
	})
}

// CreateToken makes a bootstrap token, or changes it.
func (a *api) CreateToken(ctx context.Context, op planner.CreateToken, half state.Secret) (state.Secret, error) {
	var token string
	err := a.act(ctx, "create_token", op.Description, func(w *World, c *cluster) error {
		token = w.newToken(c, op, string(half.Reveal()))
		return nil
	})
	if err != nil {
		return state.Secret{}, err
	}
	return state.NewSecret([]byte(token)), nil
}

// UploadCerts keeps a record of what would be encrypted.
func (a *api) UploadCerts(ctx context.Context, op planner.UploadCerts, files map[string]state.Secret, key state.Secret) (state.Secret, error) {
	var made string
	err := a.act(ctx, "upload_certs", "kubeadm-certs", func(w *World, c *cluster) error {
		made = w.uploadCerts(c, op, files, string(key.Reveal()))
		return nil
	})
	return state.NewSecret([]byte(made)), err
}

// DeleteJoinTokens deletes the tokens that were made for joins.
func (a *api) DeleteJoinTokens(ctx context.Context, keep []string) error {
	return a.act(ctx, "delete_join_tokens", "", func(_ *World, c *cluster) error {
		for _, id := range c.joinTokens() {
			if !slices.Contains(keep, id) {
				c.collect(c.Objects[tokenPrefix+id].Live.Get("metadata.uid").AsString())
				delete(c.Objects, tokenPrefix+id)
			}
		}
		return nil
	})
}

// DeleteToken deletes a token's Secret.
func (a *api) DeleteToken(ctx context.Context, token state.Secret) error {
	id, _, _ := strings.Cut(string(token.Reveal()), ".")
	return a.act(ctx, "delete_token", id, func(_ *World, c *cluster) error {
		delete(c.Objects, tokenPrefix+id)
		return nil
	})
}

// Close does nothing.
func (a *api) Close() error { return nil }

// drainRetry is how long a blocked eviction waits before it is tried again.
const drainRetry = 5 * time.Second

// Drain evicts the pods of a node, which it does not cordon, as kubectl drain does.
func (a *api) Drain(ctx context.Context, op planner.Drain, log func(string)) error {
	if log == nil {
		log = func(string) {}
	}
	// Told when the world is not held any more: who hears of it may look at it.
	var said []string
	defer func() {
		for _, text := range said {
			log(text)
		}
	}()
	return a.act(ctx, "drain", op.Node, func(w *World, c *cluster) error {
		if c.Nodes[op.Node] == nil {
			return notFound(op.Node)
		}
		pods, err := c.evictable(w.d.Now, op)
		if err != nil {
			return err
		}
		return w.evict(ctx, c, op, pods, func(text string) { said = append(said, text) })
	})
}
