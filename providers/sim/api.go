package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers/sim/apiserver"
	"github.com/kubewright/kubewright/providers/sim/etcd"
	"github.com/kubewright/kubewright/providers/sim/machine"
	"github.com/kubewright/kubewright/providers/sim/staticpod"
	"github.com/kubewright/kubewright/providers/sim/workload"
	"github.com/kubewright/kubewright/state"
)

// api is the API of a cluster as seen by the administrator of one host.
type api struct {
	h        *Host
	endpoint string
}

// read is a request to the API that changes nothing.
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
func (a *api) act(ctx context.Context, op, detail string, do func(apiserver.API) error) error {
	return a.actIf(ctx, op, detail, func(apiserver.API) error { return nil }, do)
}

// actIf is act if check returns no error. Otherwise that error is the answer, without an
// effect.
func (a *api) actIf(ctx context.Context, op, detail string, check, do func(apiserver.API) error) error {
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
	if err := check(w.servers.API(s.Cluster)); err != nil {
		return err
	}
	return w.act(m, op, detail, func() error {
		w.time.Advance(machine.TimeFile)
		// A deletion needs space as well, but etcd admits it.
		if s.Cluster.Armed(etcd.AlarmCorrupt) || s.Cluster.Armed(etcd.AlarmNoSpace) && !strings.HasPrefix(op, "delete_") {
			return etcd.ErrNoSpace
		}
		return do(w.servers.API(s.Cluster))
	}, nil)
}

// Observe answers a query.
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
		r.Pods, r.Budgets = workload.Of(w.servers.API(c)).PodReports(q.Drained(r.Nodes))
		r.Claims = c.ClaimReports(q.Drained(r.Nodes))
		if q.Losses {
			r.Losses = c.Losses()
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Node returns one node, or nil.
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

// StaticPod returns one mirror pod, or nil.
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

// Object returns one object, or null.
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
	expected := func(api apiserver.API) error {
		if expect == nil || !api.HasNode(op.Node) {
			return nil
		}
		return expect(api.NodeReport(op.Node))
	}
	return a.actIf(ctx, "patch_node", op.Node, expected, func(api apiserver.API) error { return api.PatchNode(op) })
}

// Restart marks the pods of a DaemonSet or Deployment; simulated ones start at once, and
// read which CAs to trust.
func (a *api) Restart(ctx context.Context, op planner.RestartPods) error {
	ref := state.ObjectRef{APIVersion: "apps/v1", Kind: op.Kind, Namespace: op.Namespace, Name: op.Name}
	return a.act(ctx, "restart", ref.String(), func(api apiserver.API) error { return api.Restart(op) })
}

// Cordon makes a node unschedulable, or schedulable again.
func (a *api) Cordon(ctx context.Context, op planner.Cordon) error {
	return a.act(ctx, "cordon", op.Node, func(api apiserver.API) error { return api.Cordon(op) })
}

// CreateToken creates a bootstrap token, or updates it.
func (a *api) CreateToken(ctx context.Context, op planner.CreateToken, half state.Secret) (state.Secret, error) {
	var token string
	err := a.act(ctx, "create_token", op.Description, func(api apiserver.API) error {
		token = api.NewToken(op, string(half.Reveal()))
		return nil
	})
	if err != nil {
		return state.Secret{}, err
	}
	return state.NewSecret([]byte(token)), nil
}

// UploadCerts keeps a record of the files that would be encrypted.
func (a *api) UploadCerts(ctx context.Context, op planner.UploadCerts, files map[string]state.Secret, key state.Secret) (state.Secret, error) {
	var made string
	err := a.act(ctx, "upload_certs", "kubeadm-certs", func(api apiserver.API) error {
		made = api.UploadCerts(op, files, string(key.Reveal()))
		return nil
	})
	return state.NewSecret([]byte(made)), err
}

// DeleteJoinTokens deletes the tokens that were created for joins.
func (a *api) DeleteJoinTokens(ctx context.Context, keep []string) error {
	return a.act(ctx, "delete_join_tokens", "", func(api apiserver.API) error { return api.DeleteJoinTokens(keep) })
}

// DeleteToken deletes a token's Secret.
func (a *api) DeleteToken(ctx context.Context, token state.Secret) error {
	id, _, _ := strings.Cut(string(token.Reveal()), ".")
	return a.act(ctx, "delete_token", id, func(api apiserver.API) error {
		api.DeleteToken(id)
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
	// Logged after the lock is released, since the logger may use the world.
	var said []string
	defer func() {
		for _, text := range said {
			log(text)
		}
	}()
	return a.act(ctx, "drain", op.Node, func(api apiserver.API) error {
		if !api.HasNode(op.Node) {
			return apiserver.NotFound(op.Node)
		}
		return workload.Of(api).Drain(ctx, op, func(text string) { said = append(said, text) })
	})
}

// DeprecatedAPIs returns the deprecated APIs that were requested from the API server on the
// host, without those that its version no longer serves.
func (a *api) DeprecatedAPIs(ctx context.Context) ([]state.DeprecatedAPI, error) {
	var out []state.DeprecatedAPI
	err := a.read(ctx, "api.deprecated", "", func(s *apiserver.Session) error {
		_, p := s.On.Processes().Pod(staticpod.APIServer)
		var major, minor, removed int
		if _, err := fmt.Sscanf(p.Tag(), "v%d.%d", &major, &minor); err != nil {
			return nil //nolint:nilerr // an image of the user's, whose version is unknown
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

// Apply sets the fields of an object, and creates it if it is missing.
func (a *api) Apply(ctx context.Context, wanted state.Value, createOnly bool) error {
	name := wanted.Get("kind").AsString() + "/" + wanted.Get("metadata.name").AsString()
	return a.act(ctx, "apply_object", name, func(api apiserver.API) error { return api.Apply(wanted, createOnly) })
}

// Delete deletes an object; a namespace together with its contents.
func (a *api) Delete(ctx context.Context, ref state.ObjectRef) error {
	return a.act(ctx, "delete_object", ref.String(), func(api apiserver.API) error { return api.Delete(ref) })
}
