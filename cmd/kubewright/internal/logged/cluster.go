package logged

import (
	"context"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// Access opens APIs and etcds that log their requests.
func (l *Log) Access(a providers.Access) providers.Access {
	if l == nil {
		return a
	}
	return access{a, l}
}

type access struct {
	providers.Access
	log *Log
}

// API implements providers.Access.
func (a access) API(ctx context.Context, via providers.Host, endpoint string) (providers.API, error) {
	done := a.log.asking("API", "api", endpoint, "via", name(via), "for", "connection")
	opened, err := a.Access.API(ctx, via, endpoint)
	done(err)
	if err != nil {
		return nil, err
	}
	return &api{opened, a.log, endpoint}, nil
}

// Etcd implements providers.Access.
func (a access) Etcd(ctx context.Context, via providers.Host, endpoints []string, folder string) (providers.Etcd, error) {
	done := a.log.asking("etcd", "via", name(via), "endpoints", endpoints, "for", "connection")
	opened, err := a.Access.Etcd(ctx, via, endpoints, folder)
	done(err)
	if err != nil {
		return nil, err
	}
	return &etcd{opened, a.log, name(via)}, nil
}

// ExternalEtcd implements providers.Access.
func (a access) ExternalEtcd(ctx context.Context, via providers.Host, endpoints []string, client providers.EtcdCredentials, prefix string) (state.ExternalEtcdReport, error) {
	done := a.log.asking("etcd", "via", name(via), "endpoints", endpoints, "for", "versions")
	r, err := a.Access.ExternalEtcd(ctx, via, endpoints, client, prefix)
	done(err)
	return r, err
}

// StoredUnder implements providers.Access.
func (a access) StoredUnder(ctx context.Context, via providers.Host, at providers.EtcdAt, prefix, id string) (under, other int, err error) {
	done := a.log.asking("etcd", "via", name(via), "endpoints", at.Endpoints, "for", "encryption of objects", "prefix", prefix)
	under, other, err = a.Access.StoredUnder(ctx, via, at, prefix, id)
	done(err)
	return under, other, err
}

// api is an API that logs its requests.
type api struct {
	providers.API
	log      *Log
	endpoint string
}

func (a *api) ask(what string, do func() error, about ...any) error {
	done := a.log.asking("API", append([]any{"api", a.endpoint, "for", what}, about...)...)
	err := do()
	done(err)
	return err
}

// Observe implements providers.API.
func (a *api) Observe(ctx context.Context, q state.ClusterQuery) (r *state.ClusterReport, err error) {
	err = a.ask("observation", func() error { r, err = a.API.Observe(ctx, q); return err })
	return r, err
}

// Apply implements providers.API.
func (a *api) Apply(ctx context.Context, object state.Value, createOnly bool) error {
	return a.ask("apply", func() error { return a.API.Apply(ctx, object, createOnly) }, "object", reference(object), "create_only", createOnly)
}

// reference names an object: nothing else of it is logged.
func reference(o state.Value) state.ObjectRef {
	meta := o.Get("metadata")
	return state.ObjectRef{
		APIVersion: o.Get("apiVersion").AsString(), Kind: o.Get("kind").AsString(),
		Namespace: meta.Get("namespace").AsString(), Name: meta.Get("name").AsString(),
	}
}

// Delete implements providers.API.
func (a *api) Delete(ctx context.Context, ref state.ObjectRef) error {
	return a.ask("delete", func() error { return a.API.Delete(ctx, ref) }, "object", ref)
}

// PatchNode implements providers.API.
func (a *api) PatchNode(ctx context.Context, op planner.PatchNode, expect func(state.NodeReport) error) error {
	return a.ask("patch", func() error { return a.API.PatchNode(ctx, op, expect) }, "operation", summary(op))
}

// Restart implements providers.API.
func (a *api) Restart(ctx context.Context, op planner.RestartPods) error {
	return a.ask("restart", func() error { return a.API.Restart(ctx, op) }, "operation", summary(op))
}

// Cordon implements providers.API.
func (a *api) Cordon(ctx context.Context, op planner.Cordon) error {
	return a.ask("cordon", func() error { return a.API.Cordon(ctx, op) }, "operation", summary(op))
}

// Drain implements providers.API.
func (a *api) Drain(ctx context.Context, op planner.Drain, log func(string)) error {
	return a.ask("drain", func() error { return a.API.Drain(ctx, op, log) }, "operation", summary(op))
}

// CreateToken implements providers.API.
func (a *api) CreateToken(ctx context.Context, op planner.CreateToken, secret state.Secret) (token state.Secret, err error) {
	err = a.ask("token", func() error { token, err = a.API.CreateToken(ctx, op, secret); return err })
	return token, err
}

// UploadCerts implements providers.API.
func (a *api) UploadCerts(ctx context.Context, op planner.UploadCerts, files map[string]state.Secret, key state.Secret) (used state.Secret, err error) {
	err = a.ask("upload of certificates", func() error { used, err = a.API.UploadCerts(ctx, op, files, key); return err }, "files", len(files))
	return used, err
}

// DeleteJoinTokens implements providers.API.
func (a *api) DeleteJoinTokens(ctx context.Context, keep []string) error {
	return a.ask("delete of tokens for joining", func() error { return a.API.DeleteJoinTokens(ctx, keep) })
}

// DeleteToken implements providers.API.
func (a *api) DeleteToken(ctx context.Context, token state.Secret) error {
	return a.ask("delete of a token", func() error { return a.API.DeleteToken(ctx, token) })
}

// Lease implements providers.API.
func (a *api) Lease(ctx context.Context, name string) (l *providers.Lease, err error) {
	err = a.ask("lease", func() error { l, err = a.API.Lease(ctx, name); return err }, "lease", name)
	return l, err
}

// PutLease implements providers.API.
func (a *api) PutLease(ctx context.Context, l providers.Lease) (version string, err error) {
	err = a.ask("hold of the lease", func() error { version, err = a.API.PutLease(ctx, l); return err }, "lease", l.Name, "token", l.Token)
	return version, err
}

// DeleteLease implements providers.API.
func (a *api) DeleteLease(ctx context.Context, l providers.Lease) error {
	return a.ask("end of the lease", func() error { return a.API.DeleteLease(ctx, l) }, "lease", l.Name)
}

// RootCAs implements providers.API.
func (a *api) RootCAs(ctx context.Context) (cas map[string][]string, err error) {
	err = a.ask("root CAs", func() error { cas, err = a.API.RootCAs(ctx); return err })
	return cas, err
}

// DeprecatedAPIs implements providers.API.
func (a *api) DeprecatedAPIs(ctx context.Context) (list []state.DeprecatedAPI, err error) {
	err = a.ask("deprecated APIs", func() error { list, err = a.API.DeprecatedAPIs(ctx); return err })
	return list, err
}

// LoadedEncryption implements providers.API.
func (a *api) LoadedEncryption(ctx context.Context) (hash string, err error) {
	err = a.ask("loaded encryption", func() error { hash, err = a.API.LoadedEncryption(ctx); return err })
	return hash, err
}

// Rewrite implements providers.API.
func (a *api) Rewrite(ctx context.Context, resource string) (count int, err error) {
	err = a.ask("storing again", func() error { count, err = a.API.Rewrite(ctx, resource); return err }, "resource", resource)
	return count, err
}

// Ready implements providers.API.
func (a *api) Ready(ctx context.Context) error {
	return a.ask("readiness", func() error { return a.API.Ready(ctx) })
}

// etcd is an etcd that logs its requests.
type etcd struct {
	providers.Etcd
	log *Log
	via string
}

func (e *etcd) ask(what string, do func() error, about ...any) error {
	done := e.log.asking("etcd", append([]any{"via", e.via, "for", what}, about...)...)
	err := do()
	done(err)
	return err
}

// Members implements providers.Etcd.
func (e *etcd) Members(ctx context.Context) (members []state.EtcdMember, id string, err error) {
	err = e.ask("members", func() error { members, id, err = e.Etcd.Members(ctx); return err })
	return members, id, err
}

// AddLearner implements providers.Etcd.
func (e *etcd) AddLearner(ctx context.Context, peerURL string) error {
	return e.ask("new learner", func() error { return e.Etcd.AddLearner(ctx, peerURL) }, "peer", peerURL)
}

// Promote implements providers.Etcd.
func (e *etcd) Promote(ctx context.Context, id string) error {
	return e.ask("promotion", func() error { return e.Etcd.Promote(ctx, id) }, "member", id)
}

// Remove implements providers.Etcd.
func (e *etcd) Remove(ctx context.Context, id string) error {
	return e.ask("removal", func() error { return e.Etcd.Remove(ctx, id) }, "member", id)
}

// MoveLeader implements providers.Etcd.
func (e *etcd) MoveLeader(ctx context.Context, to string) error {
	return e.ask("another leader", func() error { return e.Etcd.MoveLeader(ctx, to) }, "member", to)
}

// Compact implements providers.Etcd.
func (e *etcd) Compact(ctx context.Context) error {
	return e.ask("compaction", func() error { return e.Etcd.Compact(ctx) })
}

// Defragment implements providers.Etcd.
func (e *etcd) Defragment(ctx context.Context, id string) error {
	return e.ask("defragmentation", func() error { return e.Etcd.Defragment(ctx, id) }, "member", id)
}

// Disarm implements providers.Etcd.
func (e *etcd) Disarm(ctx context.Context, id, alarm string) error {
	return e.ask("end of an alarm", func() error { return e.Etcd.Disarm(ctx, id, alarm) }, "member", id, "alarm", alarm)
}

// Snapshot implements providers.Etcd.
func (e *etcd) Snapshot(ctx context.Context) (s *providers.EtcdSnapshot, err error) {
	err = e.ask("snapshot", func() error { s, err = e.Etcd.Snapshot(ctx); return err })
	return s, err
}

// LocalMembers implements providers.Etcd.
func (e *etcd) LocalMembers(ctx context.Context) (members []state.EtcdMember, id string, err error) {
	err = e.ask("what each member holds", func() error { members, id, err = e.Etcd.LocalMembers(ctx); return err })
	return members, id, err
}

// LocalSnapshot implements providers.Etcd.
func (e *etcd) LocalSnapshot(ctx context.Context) (s *providers.EtcdSnapshot, err error) {
	err = e.ask("snapshot of a member", func() error { s, err = e.Etcd.LocalSnapshot(ctx); return err })
	return s, err
}

// Clock returns a clock that logs how long the run waits before it observes or tries something
// again.
func (l *Log) Clock(c providers.Clock) providers.Clock {
	if l == nil {
		return c
	}
	return clock{c, l}
}

type clock struct {
	providers.Clock
	log *Log
}

// Sleep implements providers.Clock.
func (c clock) Sleep(ctx context.Context, d time.Duration) error {
	c.log.Trace("waiting before another try", "duration", d)
	return c.Clock.Sleep(ctx, d)
}
