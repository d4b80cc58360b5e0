package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/sim/apiserver"
	"github.com/kubewright/kubewright/providers/sim/etcd"
	"github.com/kubewright/kubewright/providers/sim/machine"
	"github.com/kubewright/kubewright/providers/sim/staticpod"
	"github.com/kubewright/kubewright/providers/sim/store"
	"github.com/kubewright/kubewright/providers/sim/workload"
	"github.com/kubewright/kubewright/state"
)

// api is the API of a cluster as the administrator of one host sees it.
type api struct {
	h        *Host
	endpoint string
}

// read does something with the API that changes nothing.
func (a *api) read(ctx context.Context, op, detail string, do func(*apiserver.Session) error) error {
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
func (a *api) act(ctx context.Context, op, detail string, do func(*World, *etcd.Cluster) error) error {
	return a.actIf(ctx, op, detail, func(*World, *etcd.Cluster) error { return nil }, do)
}

// actIf acts when check finds no fault. Otherwise the API answers with that, and
// there is no effect.
func (a *api) actIf(ctx context.Context, op, detail string, check, do func(*World, *etcd.Cluster) error) error {
	w := a.h.w
	w.mu.Lock()
	defer w.mu.Unlock()
	m := a.h.machine()
	if err := m.Connected(ctx); err != nil {
		return err
	}
	s, err := a.administrator()
	if err != nil {
		return err
	}
	if err := check(w, s.Cluster); err != nil {
		return err
	}
	return w.act(m, op, detail, func() error {
		w.time.Advance(machine.TimeFile)
		// What is deleted needs space as well, and is let through by etcd.
		if s.Cluster.Armed(etcd.AlarmCorrupt) || s.Cluster.Armed(etcd.AlarmNoSpace) && !strings.HasPrefix(op, "delete_") {
			return etcd.ErrNoSpace
		}
		return do(w, s.Cluster)
	}, nil)
}

// Observe reads what the query asks for.
func (a *api) Observe(ctx context.Context, q state.ClusterQuery) (*state.ClusterReport, error) {
	r := &state.ClusterReport{Objects: map[state.ObjectRef]state.Value{}, Nodes: map[string]state.NodeReport{}}
	err := a.read(ctx, "api.observe", "", func(s *apiserver.Session) error {
		w, c := a.h.w, s.Cluster
		_, p := s.On.Processes().Pod(staticpod.APIServer)
		r.Version = p.Tag()
		for _, ref := range q.Objects {
			if v := w.servers.API(c).Object(ref); !v.IsNull() {
				r.Objects[ref] = v
			}
		}
		r.InfoCAs = apiserver.InfoCAs(r.Objects[state.ClusterInfo])
		for name := range c.Nodes {
			r.Nodes[name] = w.servers.API(c).NodeReport(name)
		}
		r.StaticPods = w.servers.API(c).StaticPods()
		if slices.Contains(q.Objects, state.KubeProxyConfig) {
			r.StaleProxies = w.servers.API(c).StaleProxies()
		}
		r.JoinTokens = c.JoinTokens()
		if q.TokenSecrets {
			r.TokenSecrets, r.TokensSeen = c.TokenSecrets(), true
		}
		r.Pods, r.Budgets = workload.Of(w.servers, c).PodReports(q.Drained(r.Nodes))
		r.Claims = c.ClaimReports(q.Drained(r.Nodes))
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
	err := a.read(ctx, "api.observe", name, func(s *apiserver.Session) error {
		if s.Cluster.Nodes[name] != nil {
			r := a.h.w.servers.API(s.Cluster).NodeReport(name)
			out = &r
		}
		return nil
	})
	return out, err
}

// StaticPod looks at one mirror pod; it is nil when there is none.
func (a *api) StaticPod(ctx context.Context, name string) (*state.StaticPodReport, error) {
	var out *state.StaticPodReport
	err := a.read(ctx, "api.observe", name, func(s *apiserver.Session) error {
		for _, m := range a.h.w.fleet.StaticPodHosts() {
			if m.Off || m.Kubelet == nil || s.Cluster.Nodes[m.Kubelet.Node] == nil || m.Kubelet.Cluster != s.Cluster.ID {
				continue
			}
			if pod, ok := strings.CutSuffix(name, "-"+m.Kubelet.Node); ok && m.Pods[pod] != nil {
				out = a.h.w.servers.StaticPod(m, pod, m.Kubelet.Node, s.Cluster.Nodes[m.Kubelet.Node].Kubelet)
			}
		}
		return nil
	})
	return out, err
}

// Object looks at one object; it is null when there is none.
func (a *api) Object(ctx context.Context, ref state.ObjectRef) (state.Value, error) {
	var out state.Value
	err := a.read(ctx, "api.observe", ref.String(), func(s *apiserver.Session) error {
		out = a.h.w.servers.API(s.Cluster).Object(ref)
		return nil
	})
	return out, err
}

// RootCAs returns what the controller manager publishes.
func (a *api) RootCAs(ctx context.Context) (map[string][]string, error) {
	out := map[string][]string{}
	err := a.read(ctx, "api.observe", "kube-root-ca.crt", func(s *apiserver.Session) error {
		roots := a.h.w.servers.API(s.Cluster).RootCAs()
		for _, namespace := range s.Cluster.Namespaces() {
			out[namespace] = roots
		}
		return nil
	})
	return out, err
}

// Ready asks /readyz once.
func (a *api) Ready(ctx context.Context) error {
	return a.read(ctx, "api.ready", "", func(*apiserver.Session) error { return nil })
}

// PatchNode sets and removes labels, annotations and taints of a node.
func (a *api) PatchNode(ctx context.Context, op planner.PatchNode, expect func(state.NodeReport) error) error {
	expected := func(w *World, c *etcd.Cluster) error {
		if expect == nil || c.Nodes[op.Node] == nil {
			return nil
		}
		return expect(w.servers.API(c).NodeReport(op.Node))
	}
	return a.actIf(ctx, "patch_node", op.Node, expected, func(_ *World, c *etcd.Cluster) error {
		n := c.Nodes[op.Node]
		if n == nil {
			return notFound(op.Node)
		}
		n.Patch(op.Labels, op.Annotations, op.RemoveLabels, op.RemoveAnnotations, op.Taints, op.RemoveTaints)
		c.Stale = true
		return nil
	})
}

// Restart marks the pods of a DaemonSet or Deployment; simulated ones start at
// once, and read which CAs to trust.
func (a *api) Restart(ctx context.Context, op planner.RestartPods) error {
	ref := state.ObjectRef{APIVersion: "apps/v1", Kind: op.Kind, Namespace: op.Namespace, Name: op.Name}
	return a.act(ctx, "restart", ref.String(), func(w *World, c *etcd.Cluster) error {
		o := c.Objects[ref.String()]
		if o == nil {
			return nil
		}
		o.Live = store.With(o.Live, state.String(op.Mark), "spec", "template", "metadata", "annotations", planner.RestartAnnotation)
		if roots := w.servers.API(c).RootCAs(); roots != nil {
			o.Trusts = roots
		}
		w.servers.API(c).IssueTokens(o)
		w.servers.API(c).RestartProxies(ref)
		return nil
	})
}

func notFound(node string) error {
	return &providers.Error{Kind: providers.ErrNotFound, Do: "change node " + node, Cause: fmt.Errorf("nodes %q not found", node)}
}

// Cordon makes a node unschedulable, or schedulable again.
func (a *api) Cordon(ctx context.Context, op planner.Cordon) error {
	return a.act(ctx, "cordon", op.Node, func(w *World, c *etcd.Cluster) error {
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
				n.Patch(nil, map[string]string{planner.LetInAnnotation: planner.LetIn(w.fleet.Now, op.Remember)}, nil, nil, nil, nil)
			}
		case !op.Undo && !n.Unschedulable:
			n.Unschedulable = true
			if op.For != "" {
				n.Patch(nil, map[string]string{planner.CordonAnnotation: op.For}, nil, nil, nil, nil)
			}
		}
		c.Stale = true
		return nil
	})
}

// CreateToken makes a bootstrap token, or changes it.
func (a *api) CreateToken(ctx context.Context, op planner.CreateToken, half state.Secret) (state.Secret, error) {
	var token string
	err := a.act(ctx, "create_token", op.Description, func(w *World, c *etcd.Cluster) error {
		token = w.servers.API(c).NewToken(op, string(half.Reveal()))
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
	err := a.act(ctx, "upload_certs", "kubeadm-certs", func(w *World, c *etcd.Cluster) error {
		made = w.servers.API(c).UploadCerts(op, files, string(key.Reveal()))
		return nil
	})
	return state.NewSecret([]byte(made)), err
}

// DeleteJoinTokens deletes the tokens that were made for joins.
func (a *api) DeleteJoinTokens(ctx context.Context, keep []string) error {
	return a.act(ctx, "delete_join_tokens", "", func(_ *World, c *etcd.Cluster) error {
		for _, id := range c.JoinTokens() {
			if !slices.Contains(keep, id) {
				c.CollectGarbage(c.Objects[store.TokenPrefix+id].Live.Get("metadata.uid").AsString())
				delete(c.Objects, store.TokenPrefix+id)
			}
		}
		return nil
	})
}

// DeleteToken deletes a token's Secret.
func (a *api) DeleteToken(ctx context.Context, token state.Secret) error {
	id, _, _ := strings.Cut(string(token.Reveal()), ".")
	return a.act(ctx, "delete_token", id, func(_ *World, c *etcd.Cluster) error {
		delete(c.Objects, store.TokenPrefix+id)
		return nil
	})
}

// Close does nothing.
func (a *api) Close() error { return nil }

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
	return a.act(ctx, "drain", op.Node, func(w *World, c *etcd.Cluster) error {
		if c.Nodes[op.Node] == nil {
			return notFound(op.Node)
		}
		pods, err := c.Evictable(w.fleet.Now, op)
		if err != nil {
			return err
		}
		return workload.Of(w.servers, c).Evict(ctx, op, pods, func(text string) { said = append(said, text) })
	})
}

// DeprecatedAPIs returns those that the API server on the host was asked for. A
// version that does not serve one has forgotten it.
func (a *api) DeprecatedAPIs(ctx context.Context) ([]state.DeprecatedAPI, error) {
	var out []state.DeprecatedAPI
	err := a.read(ctx, "api.deprecated", "", func(s *apiserver.Session) error {
		_, p := s.On.Processes().Pod(staticpod.APIServer)
		var major, minor, removed int
		if _, err := fmt.Sscanf(p.Tag(), "v%d.%d", &major, &minor); err != nil {
			return nil //nolint:nilerr // an image of the user's, whose version nobody knows
		}
		for _, d := range s.On.Deprecated {
			if _, err := fmt.Sscanf(d.Removed, "1.%d", &removed); err == nil && removed > minor {
				out = append(out, d)
			}
		}
		return nil
	})
	return state.MergeDeprecated(out), err
}
