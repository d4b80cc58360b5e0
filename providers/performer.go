package providers

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-multierror"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers/diagnosis"
	"github.com/kubewright/kubewright/state"
)

// ErrUnavailable: the API or etcd answered that it cannot serve at the moment: it is
// starting, has no leader, or sheds load. Nothing was written; an answer that leaves that
// open is ErrTimeout. A retry helps.
var ErrUnavailable = errors.New("not available at the moment")

// ErrHasLeader: a member of etcd cannot be asked alone, because it is part of a quorum.
var ErrHasLeader = errors.New("etcd has a leader")

// ErrNotFound: the object to be changed does not exist. A retry helps if another component
// is about to create it.
var ErrNotFound = errors.New("not found")

// Performer performs the operations of steps, several steps at once if need be. It opens
// connections to APIs and etcd when they are first needed and keeps them until Close.
//
// It repeats nothing that could do harm when repeated: it sends a host's operations once;
// it repeats requests to the API and etcd while those are unavailable, because each such
// operation reads before it writes.
type Performer struct {
	// Host returns the connected host of a node: the same one as long as its connection
	// lives. Connections through a replaced host are reopened.
	Host func(ctx context.Context, t state.Target) (Host, error)
	// Seat is how a control plane is reached.
	Seat func(t state.Target) (Seat, error)
	// Others returns the other control planes of the same cluster, verified by their CA,
	// through which API and etcd can be reached when they do not answer through the node.
	// None when nil.
	Others func(t state.Target) []state.Target
	Access Access
	Issuer Issuer
	Clock  Clock
	// Artifacts returns the operator's folder with the artifacts for a node.
	Artifacts func(t state.Target) (string, error)
	// SnapshotFolder is the folder with the snapshot that etcd is restored from, where it is not among
	// the artifacts.
	SnapshotFolder string
	// Snapshots is the operator's folder for snapshots of etcd.
	Snapshots string
	// Sealing encrypts these snapshots; nil for none.
	Sealing Sealing
	// Interrupted returns since when the interrupted plan that this run continues has been
	// under way, if that plan has begun the step; zero otherwise, or when nil.
	Interrupted func(step state.Address) time.Time
	// Content fetches the value of any other reference: config:ADDRESS#FIELD. For a leaf of
	// an object it is JSON, otherwise the bytes themselves. It fails if the fingerprint
	// belongs to another secret.
	Content func(ctx context.Context, s state.Sensitive) (state.Secret, error)
	// Gates evaluates the gates of a step on a fresh observation. It is called within the
	// step, right before an operation stops etcd or an API server after other operations.
	// Never called when nil.
	Gates func(ctx context.Context, step *planner.Step) error
	// Secrets masks the operator's secrets in errors and in log lines from elsewhere.
	Secrets *state.Redactor
	// Made gets the secrets that a step has made, as soon as there are any, possibly from
	// several steps at once. Not called when nil.
	Made func(*state.Redactor)

	mu sync.Mutex
	// made has all secrets made so far: the host of a later step may quote them.
	made  *state.Redactor
	apis  map[state.Target]*opened[API]
	etcds map[state.Target]*opened[Etcd]
	// discarded closes connections that are no longer used.
	discarded []func() error
}

// Run is what a step needs to know of its run.
type Run struct {
	// Token is the fence, ID the run's own name, Lineage that of the hosts' state.
	Token   int64
	ID      string
	Lineage string
	// Void are the hosts' tokens that do not count and that Token may replace.
	Void map[state.Target]int64
	// Output returns an output of an earlier step.
	Output func(state.Pending) (Output, bool)
}

// Output is a named result of a step: a value, or a secret that stays in memory.
type Output struct {
	Value  state.Value
	Secret state.Secret
}

// Progress reports a step's operations, one call after another. A nil function is not
// called.
type Progress struct {
	// Begin is called before count operations, from op on, are performed together. If it
	// returns an error they are not begun, and Perform returns that error.
	Begin func(op, count int) error
	// Done is called after they were performed, or found to be done already.
	Done func(op, count int) error
	// Log gets a line for the user, without secrets and control characters.
	Log func(op int, text string)
	// Output gets the latest output of the operation under way, or its progress, at most
	// once a second, without secrets and control characters. It is called concurrently with
	// the others.
	Output func(op int, text string)
}

// Perform performs the operations of a step in order and returns its outputs. It stops at
// the first failure; after an error the caller observes again. The error's text holds no
// secret. The step's preconditions are checked right before the files in question are
// overwritten. The caller evaluates its gates before it begins; recheck does so again
// before the step stops a serving component.
func (p *Performer) Perform(ctx context.Context, step *planner.Step, run Run, progress Progress) (map[string]Output, error) {
	ctx, done := p.Clock.Busy(ctx)
	defer done()
	w := &work{Performer: p, step: step, run: run, progress: progress, outputs: map[string]Output{}, checked: map[string]bool{}}
	w.recheck = &recheck{work: w}
	for _, g := range groups(step.Operations) {
		if err := ctx.Err(); err != nil {
			return w.outputs, err
		}
		if err := w.recheck.before(ctx, g); err != nil {
			return w.outputs, w.masked(err)
		}
		if err := progress.begin(g); err != nil {
			return w.outputs, err
		}
		w.op = g.first
		if err := w.perform(ctx, g); err != nil {
			return w.outputs, w.masked(w.diagnosed(ctx, g, err))
		}
		if err := progress.done(g); err != nil {
			return w.outputs, err
		}
	}
	return w.outputs, nil
}

// Through calls do with the API of a cluster, reached through a node or, when it does not
// answer there, through the next control plane. The error is the node's own.
func (p *Performer) Through(ctx context.Context, t state.Target, do func(context.Context, API) error) error {
	return p.fallOver(t, func(t state.Target) error {
		a, err := p.api(ctx, t)
		if err != nil {
			return err
		}
		return do(ctx, a)
	})
}

// ThroughEtcd is Through for the cluster's etcd.
func (p *Performer) ThroughEtcd(ctx context.Context, t state.Target, do func(context.Context, Etcd) error) error {
	return p.fallOver(t, func(t state.Target) error {
		e, err := p.etcd(ctx, t)
		if err != nil {
			return err
		}
		return do(ctx, e)
	})
}

// fallOver tries a node, and the others only while nothing was served at all. It never
// repeats elsewhere an operation that may have been done.
func (p *Performer) fallOver(t state.Target, try func(state.Target) error) error {
	first := try(t)
	if p.Others == nil || !unserved(first) {
		return first
	}
	for _, other := range p.Others(t) {
		if err := try(other); !unserved(err) {
			return err
		}
	}
	return first
}

// unserved reports whether an error means that no server was there to do anything.
func unserved(err error) bool {
	return errors.Is(err, ErrUnreachable) || errors.Is(err, ErrUnavailable)
}

// Close ends the connections to APIs and etcd. Hosts stay open.
func (p *Performer) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all *multierror.Error
	for _, o := range p.apis {
		all = multierror.Append(all, o.close())
	}
	for _, o := range p.etcds {
		all = multierror.Append(all, o.close())
	}
	for _, closeOne := range p.discarded {
		all = multierror.Append(all, closeOne())
	}
	p.apis, p.etcds, p.discarded = nil, nil, nil
	return all.ErrorOrNil()
}

// work is one step under way. It belongs to one goroutine.
type work struct {
	*Performer
	step     *planner.Step
	run      Run
	progress Progress
	outputs  map[string]Output
	// checked has the files that were found to be as expected; from then on they contain
	// the step's own changes.
	checked map[string]bool
	recheck *recheck
	// op is the index of the operation that is under way.
	op int
}

// class determines which operations may travel together.
type class int

const (
	alone class = iota
	hostClass
	keyClass
)

// group is consecutive operations that travel together.
type group struct {
	first, count int
	class        class
	operations   []planner.Operation
}

// groups splits a step's operations.
func groups(ops []planner.Operation) []group {
	var out []group
	for i, op := range ops {
		c := classOf(op)
		if n := len(out); n > 0 && c != alone && out[n-1].class == c {
			out[n-1].count++
			out[n-1].operations = ops[out[n-1].first : i+1]
			continue
		}
		out = append(out, group{first: i, count: 1, class: c, operations: ops[i : i+1]})
	}
	return out
}

func classOf(op planner.Operation) class {
	_, backup := op.(planner.TakeBackup)
	switch {
	case backup: // its name is an output
		return alone
	case planner.IsKeyOperation(op):
		return keyClass
	case planner.IsHostOperation(op):
		return hostClass
	}
	return alone
}

func (p Progress) begin(g group) error {
	if p.Begin == nil {
		return nil
	}
	return p.Begin(g.first, g.count)
}

func (p Progress) done(g group) error {
	if p.Done == nil {
		return nil
	}
	return p.Done(g.first, g.count)
}

// log prints a line about the operation under way.
func (w *work) log(text string) {
	if w.progress.Log != nil {
		w.progress.Log(w.op, w.mask(Sanitize(text, 512)))
	}
}

func (w *work) perform(ctx context.Context, g group) error {
	switch g.class {
	case hostClass:
		_, err := w.performHost(ctx, g.operations)
		return err
	case keyClass:
		defer w.forget(w.own(), g.operations)
		return keyWork{w}.perform(ctx, g.operations)
	}
	etcd := etcdWork{w}
	switch op := g.operations[0].(type) {
	case planner.AddEtcdMember:
		return etcd.addMember(ctx, op)
	case planner.RenderEtcdManifest:
		return etcd.renderManifest(ctx, op)
	case planner.PromoteEtcdMember:
		return etcd.promoteMember(ctx, op)
	case planner.RemoveEtcdMember:
		return etcd.removeMember(ctx, op)
	case planner.SnapshotEtcd:
		return etcd.snapshot(ctx, op)
	case planner.TakeBackup:
		return w.takeBackup(ctx, op)
	case planner.CompactEtcd:
		return etcd.retry(ctx, memberTime, passing, func(ctx context.Context, e Etcd) error { return e.Compact(ctx) })
	case planner.DefragmentEtcd:
		return etcd.defragment(ctx, op)
	case planner.MoveEtcdLeader:
		return etcd.moveLeader(ctx, op)
	case planner.DisarmEtcd:
		return etcd.disarm(ctx, op)
	case planner.Wait:
		return waiting{w, op}.poll(ctx)
	}
	return apiWork{w}.perform(ctx, g.operations[0])
}

// via returns the node through which a step reaches API and etcd.
func (w *work) via() state.Target {
	if !w.step.Via.IsZero() {
		return w.step.Via
	}
	return w.step.Target
}

// own returns the node that a step acts on; for a cluster or an addon, the node it goes
// through.
func (w *work) own() state.Target {
	if w.step.Target.Type == state.TypeNode {
		return w.step.Target
	}
	return w.step.Via
}

func (w *work) host(ctx context.Context) (Host, error) { return w.Host(ctx, w.own()) }

// output returns an output of this step or of an earlier one.
func (w *work) output(p state.Pending) (Output, bool) {
	if p.Step == w.step.ID.String() {
		if o, ok := w.outputs[p.Output]; ok {
			return o, true
		}
	}
	if w.run.Output == nil {
		return Output{}, false
	}
	return w.run.Output(p)
}

// hide has a newly made secret masked from here on. Of a bootstrap token the second half
// alone is secret too; the first half is its name.
func (p *Performer) hide(made state.Secret) {
	text := string(made.Reveal())
	_, half, _ := strings.Cut(text, ".")
	secrets := state.NewRedactor([]string{text, half})
	p.mu.Lock()
	p.made = p.made.And(secrets)
	p.mu.Unlock()
	if p.Made != nil {
		p.Made(secrets)
	}
}

// mask masks the operator's secrets and those that were made in a text.
func (w *work) mask(text string) string {
	w.mu.Lock()
	made := w.made
	w.mu.Unlock()
	return w.Secrets.Text(made.Text(text))
}

// maskedError is an error whose text holds no secret. The kind of what it wraps can be
// tested.
type maskedError struct {
	text  string
	cause error
}

func (e *maskedError) Error() string { return e.text }
func (e *maskedError) Unwrap() error { return e.cause }

func (w *work) masked(err error) error {
	if command, ok := errors.AsType[*CommandError](err); ok {
		for i, line := range command.Stderr {
			command.Stderr[i] = w.mask(line)
		}
	}
	if found, ok := errors.AsType[*diagnosis.Error](err); ok {
		for _, c := range found.Causes {
			for i, line := range c.Log {
				c.Log[i] = w.mask(line)
			}
		}
	}
	if text := w.mask(err.Error()); text != err.Error() {
		return &maskedError{text, err}
	}
	return err
}

// opened is a connection that is made when first needed, and made again when the host that
// it goes through has been reconnected.
type opened[T interface{ Close() error }] struct {
	mu    sync.Mutex
	ready bool
	via   Host
	conn  T
	// former go through lost hosts. Their users get the error from the connection.
	former []T
}

// get returns the connection through a host, and makes it if there is none. After a failure
// the next call tries again.
func (o *opened[T]) get(via Host, open func() (T, error)) (T, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ready && o.via == via {
		return o.conn, nil
	}
	conn, err := open()
	if err != nil {
		return conn, err
	}
	if o.ready {
		o.former = append(o.former, o.conn)
	}
	o.conn, o.via, o.ready = conn, via, true
	return conn, nil
}

func (o *opened[T]) close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.ready {
		return nil
	}
	var all *multierror.Error
	for _, c := range append(o.former, o.conn) {
		all = multierror.Append(all, c.Close())
	}
	o.ready, o.former = false, nil
	return all.ErrorOrNil()
}

// api returns the API as reached through a node.
func (p *Performer) api(ctx context.Context, t state.Target) (API, error) {
	return through(ctx, p, &p.apis, t, func(host Host, seat Seat) (API, error) {
		return p.Access.API(ctx, host, seat.API)
	})
}

// etcd returns the etcd as reached through a node.
func (p *Performer) etcd(ctx context.Context, t state.Target) (Etcd, error) {
	return through(ctx, p, &p.etcds, t, func(host Host, seat Seat) (Etcd, error) {
		return p.Access.Etcd(ctx, host, []string{seat.EtcdURL()}, seat.Folder)
	})
}

// through returns the connection through a node, opened when first needed and reopened when
// the node's host has been replaced; the seat is the node's.
func through[T interface{ Close() error }](
	ctx context.Context, p *Performer, all *map[state.Target]*opened[T], t state.Target, open func(host Host, seat Seat) (T, error),
) (T, error) {
	p.mu.Lock()
	if *all == nil {
		*all = map[state.Target]*opened[T]{}
	}
	o := (*all)[t]
	if o == nil {
		o = &opened[T]{}
		(*all)[t] = o
	}
	p.mu.Unlock()
	host, err := p.Host(ctx, t)
	if err != nil {
		var none T
		return none, err
	}
	return o.get(host, func() (none T, err error) {
		seat, err := p.Seat(t)
		if err != nil {
			return none, err
		}
		return open(host, seat)
	})
}

// Retries: as often and as long as kubeadm does.
const (
	retryInterval = 500 * time.Millisecond
	retryTime     = time.Minute
	// addressTime is how long a Service is retried: an address that an interrupted request
	// left allocated is freed after a minute.
	addressTime = 3 * time.Minute
	// goneTime bounds the deletion of an object: a namespace goes only after its contents.
	goneTime = 5 * time.Minute
)

// passing reports whether an error may be temporary, for operations that are safe to
// repeat.
func passing(err error) bool {
	return errors.Is(err, ErrUnavailable) || errors.Is(err, ErrUnreachable) || errors.Is(err, ErrDisconnected) || errors.Is(err, ErrTimeout)
}

// retry repeats do while its error qualifies, for a bounded time, and returns the last
// error.
func (w *work) retry(ctx context.Context, limit time.Duration, again func(error) bool, do func(context.Context) error) error {
	deadline := w.Clock.Now().Add(limit)
	for told := false; ; told = true {
		err := do(ctx)
		if err == nil || !again(err) || ctx.Err() != nil {
			return err
		}
		if !w.Clock.Now().Add(retryInterval).Before(deadline) {
			return fmt.Errorf("%w (tried for %s)", err, limit)
		}
		if !told {
			w.log("trying again: " + err.Error())
		}
		if err := w.Clock.Sleep(ctx, retryInterval); err != nil {
			return err
		}
	}
}
