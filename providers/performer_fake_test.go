package providers_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/diagnosis"
	"github.com/kubewright/kubewright/providers/rehearsal"
	"github.com/kubewright/kubewright/state"
)

// scene is hosts, an API, an etcd and a clock in memory, with a log of their requests.
type scene struct {
	log []string
	now time.Time

	files    map[string]string
	status   []int
	probeErr []error // returned before any status
	apiErrs  []error
	// diagnoses are the answers of hosts, the last one again and again.
	diagnoses []diagnosis.Report
	rootCAs   map[string][]string
	applied   state.Value
	patched   planner.PatchNode
	uploaded  map[string]state.Secret
	members   []state.EtcdMember
	etcdErr   []error
	// attempted, if set, runs after an attempt to add or promote a member.
	attempted func()
	batches   []providers.Batch
	issued    []providers.KeyRequest
	hostErr   error
	// membersErr is etcd's answer to a request for its members.
	membersErr error
	// moveErr makes a move of leadership fail.
	moveErr error
	// started are processes, served is the serial of the certificate that the server shows.
	started map[string]time.Time
	served  string
	nodes   map[string]state.NodeReport
	pods    map[string]state.StaticPodReport
	objects map[state.ObjectRef]state.Value
	sent    map[string]string // contents of artifacts, by name
	streams []io.Reader       // the snapshots that etcd sends, one after the other
	full    bool              // alarms come back
	// quorumErr is etcd's error without a quorum, aloneErr that of a member asked alone.
	quorumErr, aloneErr error
	// snapshots is the operator's folder.
	snapshots string
	// interrupted is since when a plan has been under way.
	interrupted time.Time
	// applying, if set, replaces an attempt to apply an object.
	applying func() error
	// patching, if set, runs in addition to an attempt to patch a node.
	patching func()
	// printing, if set, prints as the commands of a host do.
	printing func(providers.Batch)
	// stored are etcd's objects with a key and with others, at one reading after the other; rewritten is
	// how many the API stores again.
	stored    [][2]int
	rewritten int
	// loaded is the digest of the file of keys that the API server has loaded, keys what is in the file,
	// and unusable why it cannot be used.
	loaded   string
	keys     *state.EncryptionInfo
	unusable string
	// deleting, if set, runs at each attempt to delete an object.
	deleting func()
}

func newScene() *scene { return &scene{now: time.Unix(0, 0), files: map[string]string{}} }

func (s *scene) say(format string, args ...any) { s.log = append(s.log, fmt.Sprintf(format, args...)) }

// pop removes the first of a list of errors and returns it; nil if the list is empty.
func pop(errs *[]error) error {
	if len(*errs) == 0 {
		return nil
	}
	err := (*errs)[0]
	*errs = (*errs)[1:]
	return err
}

func (s *scene) performer() *providers.Performer {
	hosts := map[state.Target]providers.Host{}
	return &providers.Performer{
		Host: func(_ context.Context, t state.Target) (providers.Host, error) {
			if hosts[t] == nil {
				hosts[t] = &fakeHost{scene: s, name: t.String()}
			}
			return hosts[t], nil
		},
		Seat:   func(t state.Target) (providers.Seat, error) { return providers.Seat{API: t.Key + ":6443"}, nil },
		Access: access{s}, Issuer: issuer{scene: s}, Clock: clock{s}, Snapshots: s.snapshots,
		Interrupted: func(state.Address) time.Time { return s.interrupted },
		Content: func(_ context.Context, x state.Sensitive) (state.Secret, error) {
			if x.Fingerprint == "leaf" {
				return state.NewSecret([]byte(`"leaf of ` + x.Ref + `"`)), nil
			}
			return state.NewSecret([]byte("content of " + x.Ref)), nil
		},
		Secrets: state.NewRedactor([]string{"hunter22"}),
	}
}

type clock struct{ *scene }

func (c clock) Now() time.Time                                     { return c.now }
func (c clock) Busy(ctx context.Context) (context.Context, func()) { return ctx, func() {} }
func (c clock) Sleep(ctx context.Context, d time.Duration) error {
	c.now = c.now.Add(d)
	return ctx.Err()
}

type fakeHost struct {
	providers.Host
	*scene
	name string
}

func (h *fakeHost) Perform(_ context.Context, b providers.Batch) ([]providers.Outcome, error) {
	var ops []string
	for _, op := range b.Operations {
		ops = append(ops, op.Op())
	}
	h.say("%s performs %s", h.name, strings.Join(ops, " "))
	h.batches = append(h.batches, b)
	for name, a := range b.Artifacts {
		r, err := a.Open()
		if err != nil {
			return nil, err
		}
		defer r.Close()
		content, err := io.ReadAll(r)
		if err != nil {
			return nil, err
		}
		if h.sent == nil {
			h.sent = map[string]string{}
		}
		h.sent[name] = string(content)
	}
	if h.printing != nil {
		h.printing(b)
	}
	return make([]providers.Outcome, len(ops)), h.hostErr
}

func (h *fakeHost) Observe(_ context.Context, q state.Query) (*state.Report, error) {
	r := &state.Report{Files: map[string]state.FileReport{}, Started: h.started}
	for _, f := range q.Files {
		serial, ok := h.files[f.Path]
		r.Files[f.Path] = state.FileReport{Exists: ok, Modified: time.Unix(100, 0)}
		if f.Path == "/new" {
			r.Files[f.Path] = state.FileReport{Exists: true, Modified: time.Unix(200, 0)}
		}
		if f.Read == state.ReadEncryption {
			r.Files[f.Path] = state.FileReport{Exists: ok, SHA256: serial, Encryption: h.keys, Invalid: h.unusable}
		}
		if f.Read == state.ReadCertificate && ok {
			r.Files[f.Path] = state.FileReport{Exists: ok, Certificates: []state.CertificateInfo{{Serial: serial, KeyDigest: serial}}}
		}
	}
	return r, nil
}

func (h *fakeHost) ServedCertificate(_ context.Context, address string) (state.CertificateInfo, error) {
	h.say("%s looks at %s", h.name, address)
	return state.CertificateInfo{Serial: h.served, KeyDigest: h.served}, nil
}

func (h *fakeHost) Rehearse(context.Context, rehearsal.Request) (*rehearsal.Report, error) {
	return nil, errors.ErrUnsupported
}

func (h *fakeHost) Diagnose(context.Context) (*diagnosis.Report, error) {
	h.say("%s is diagnosed", h.name)
	if len(h.diagnoses) == 0 {
		return &diagnosis.Report{}, nil
	}
	r := h.diagnoses[0]
	if len(h.diagnoses) > 1 {
		h.diagnoses = h.diagnoses[1:]
	}
	return &r, nil
}

func (h *fakeHost) ReadSecrets(_ context.Context, paths []string) (map[string]state.Secret, error) {
	out := map[string]state.Secret{}
	for _, p := range paths {
		if b, ok := h.files[p]; ok {
			out[p] = state.NewSecret([]byte(b))
		}
	}
	return out, h.hostErr
}

func (h *fakeHost) HTTPStatus(_ context.Context, url, _ string) (int, error) {
	h.say("%s asks %s", h.name, url)
	if err := pop(&h.probeErr); err != nil {
		return 0, err
	}
	if len(h.status) == 0 {
		return 0, providers.ErrUnreachable
	}
	code := h.status[0]
	h.status = h.status[1:]
	return code, nil
}

// issuer is a GroupIssuer.
type issuer struct {
	providers.Issuer
	*scene
}

func (i issuer) IssueAll(_ context.Context, on providers.Host, rs []providers.KeyRequest, b providers.Batch) ([]providers.Outcome, error) {
	var ops []string
	for _, r := range rs {
		ops = append(ops, r.Operation.Op())
	}
	i.say("issuer makes %s for %s, token %d", strings.Join(ops, " "), on.(*fakeHost).name, b.Token)
	i.issued = append(i.issued, rs...)
	return make([]providers.Outcome, len(rs)), nil
}

type access struct{ *scene }

func (a access) API(_ context.Context, via providers.Host, endpoint string) (providers.API, error) {
	a.say("API through %s at %s", via.(*fakeHost).name, endpoint)
	return &fakeAPI{scene: a.scene}, nil
}

func (a access) ExternalEtcd(context.Context, providers.Host, []string, providers.EtcdCredentials, string) (state.ExternalEtcdReport, error) {
	return state.ExternalEtcdReport{}, errors.New("nothing of a plan's steps asks for this")
}

func (a access) Etcd(_ context.Context, via providers.Host, endpoints []string, _ string) (providers.Etcd, error) {
	a.say("etcd through %s at %v", via.(*fakeHost).name, endpoints)
	return &fakeEtcd{a.scene}, nil
}

func (a access) StoredUnder(_ context.Context, via providers.Host, at providers.EtcdAt, prefix, id string) (under, other int, err error) {
	a.say("etcd of %s at %v is read below %s for %s", via.(*fakeHost).name, at.Endpoints, prefix, id)
	if len(a.stored) == 0 {
		return 0, 0, nil
	}
	n := a.stored[0]
	if len(a.stored) > 1 {
		a.stored = a.stored[1:]
	}
	return n[0], n[1], nil
}

type fakeAPI struct {
	providers.API
	*scene
}

func (a *fakeAPI) Apply(_ context.Context, o state.Value, createOnly bool) error {
	a.say("apply %s", o.Get("metadata.name").AsString())
	a.applied = o
	if a.applying != nil {
		return a.applying()
	}
	return pop(&a.apiErrs)
}

func (a *fakeAPI) Delete(_ context.Context, ref state.ObjectRef) error {
	a.say("delete %s", ref)
	if a.deleting != nil {
		a.deleting()
	}
	return pop(&a.apiErrs)
}

func (a *fakeAPI) Restart(_ context.Context, op planner.RestartPods) error {
	a.say("restart %s", op.Name)
	return pop(&a.apiErrs)
}

func (a *fakeAPI) PatchNode(_ context.Context, op planner.PatchNode, expect func(state.NodeReport) error) error {
	a.say("patch %s", op.Node)
	if expect != nil {
		if err := expect(a.nodes[op.Node]); err != nil {
			return err
		}
	}
	a.patched = op
	if a.patching != nil {
		a.patching()
	}
	return pop(&a.apiErrs)
}

const token = "abcdef.0123456789abcdef"

func (a *fakeAPI) CreateToken(context.Context, planner.CreateToken, state.Secret) (state.Secret, error) {
	a.say("create token")
	if err := pop(&a.apiErrs); err != nil {
		return state.Secret{}, err
	}
	return state.NewSecret([]byte(token)), nil
}

func (a *fakeAPI) DeleteToken(_ context.Context, s state.Secret) error {
	a.say("delete token %v", string(s.Reveal()) == token)
	return pop(&a.apiErrs)
}

func (a *fakeAPI) DeleteJoinTokens(_ context.Context, keep []string) error {
	a.say("delete tokens for joining but %v", keep)
	return pop(&a.apiErrs)
}

func (a *fakeAPI) Drain(_ context.Context, op planner.Drain, log func(string)) error {
	log("evicting \x1b[31m")
	return pop(&a.apiErrs)
}

func (a *fakeAPI) Cordon(context.Context, planner.Cordon) error { return pop(&a.apiErrs) }

func (a *fakeAPI) RootCAs(context.Context) (map[string][]string, error) {
	return a.rootCAs, pop(&a.apiErrs)
}

func (a *fakeAPI) LoadedEncryption(context.Context) (string, error) { return a.loaded, nil }

func (a *fakeAPI) Rewrite(_ context.Context, resource string) (int, error) {
	a.say("API stores %s again", resource)
	return a.rewritten, nil
}

func (a *fakeAPI) Ready(context.Context) error { return pop(&a.apiErrs) }

func (a *fakeAPI) Observe(context.Context, state.ClusterQuery) (*state.ClusterReport, error) {
	if err := pop(&a.apiErrs); err != nil {
		return nil, err
	}
	return &state.ClusterReport{Nodes: a.nodes, StaticPods: a.pods, Objects: a.objects}, nil
}

func (a *fakeAPI) Close() error { a.say("API closed"); return nil }

type fakeEtcd struct{ *scene }

func (e *fakeEtcd) Members(context.Context) ([]state.EtcdMember, string, error) {
	return slices.Clone(e.members), "1", e.membersErr
}

func (e *fakeEtcd) Identity(context.Context) (state.EtcdIdentity, error) {
	return state.EtcdIdentity{ClusterID: "1"}, nil
}

func (e *fakeEtcd) AddLearner(_ context.Context, peerURL string) error {
	e.say("add learner %s", peerURL)
	defer e.attempt()
	if err := pop(&e.etcdErr); err != nil {
		return err
	}
	e.members = append(e.members, state.EtcdMember{ID: "4", PeerURLs: []string{peerURL}, Learner: true})
	return nil
}

func (e *fakeEtcd) Promote(_ context.Context, id string) error {
	e.say("promote %s", id)
	defer e.attempt()
	return pop(&e.etcdErr)
}

func (e *fakeEtcd) attempt() {
	if e.attempted != nil {
		e.attempted()
	}
}

func (e *fakeEtcd) Remove(_ context.Context, id string) error {
	e.say("remove %s", id)
	return pop(&e.etcdErr)
}

func (e *fakeEtcd) MoveLeader(_ context.Context, to string) error {
	e.say("move leader to %s", to)
	return e.moveErr
}

var errNoStream = errors.New("no stream is left")

func (e *fakeEtcd) Compact(context.Context) error {
	e.say("compact etcd")
	return pop(&e.etcdErr)
}

func (e *fakeEtcd) Defragment(_ context.Context, id string) error {
	e.say("defragment %s", id)
	return pop(&e.etcdErr)
}

func (e *fakeEtcd) Disarm(_ context.Context, id, alarm string) error {
	e.say("disarm %s of %s", alarm, id)
	for i := range e.members {
		if e.members[i].ID == id && !e.full {
			e.members[i].Alarms = nil
		}
	}
	return pop(&e.etcdErr)
}

func (e *fakeEtcd) LocalMembers(context.Context) ([]state.EtcdMember, string, error) {
	return slices.Clone(e.members), "1", e.aloneErr
}

func (e *fakeEtcd) Snapshot(context.Context) (*providers.EtcdSnapshot, error) {
	return e.stream("cp1", e.quorumErr)
}

func (e *fakeEtcd) LocalSnapshot(context.Context) (*providers.EtcdSnapshot, error) {
	return e.stream("cp3", e.aloneErr)
}

func (e *fakeEtcd) stream(member string, err error) (*providers.EtcdSnapshot, error) {
	if err != nil {
		return nil, err
	}
	if len(e.streams) == 0 {
		return nil, errNoStream
	}
	r := e.streams[0]
	e.streams = e.streams[1:]
	return &providers.EtcdSnapshot{EtcdID: "1", Member: member, Revision: 7, ReadCloser: io.NopCloser(r)}, nil
}

func (e *fakeEtcd) Close() error { e.say("etcd closed"); return nil }

var (
	cp1 = state.NodeKeyTarget("cp", "cp1")
	cp2 = state.NodeKeyTarget("cp", "cp2")
)

// perform runs operations as a step of cp2 through cp1.
func (s *scene) perform(t *testing.T, run providers.Run, ops ...planner.Operation) (map[string]providers.Output, error) {
	t.Helper()
	return s.performStep(t, run, nil, ops...)
}

// performStep is perform of a step with preconditions.
func (s *scene) performStep(t *testing.T, run providers.Run, expect map[string]string, ops ...planner.Operation) (map[string]providers.Output, error) {
	t.Helper()
	step := &planner.Step{ID: state.Address{Target: cp2, Phase: "x"}, Target: cp2, Via: cp1, Expect: expect, Operations: ops}
	return s.performer().Perform(t.Context(), step, run, providers.Progress{
		Begin: func(op, count int) error { s.say("begin %d+%d", op, count); return nil },
		Done:  func(op, count int) error { s.say("done %d+%d", op, count); return nil },
		Log:   func(op int, text string) { s.say("log %d: %s", op, text) },
	})
}

func (s *scene) expect(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(s.log, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(s.log, "\n"), strings.Join(want, "\n"))
	}
}

var errRefused = errors.New("refused")

func (a *fakeAPI) UploadCerts(_ context.Context, _ planner.UploadCerts, files map[string]state.Secret, key state.Secret) (state.Secret, error) {
	a.uploaded = files
	if key.IsZero() {
		key = state.NewSecret([]byte("generated-key"))
	}
	return key, pop(&a.apiErrs)
}
