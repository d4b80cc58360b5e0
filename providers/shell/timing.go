package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/budget"
)

const (
	// silence is how long a host that is observed may send nothing before it is given up. What
	// it looks at it tells as it goes, and nothing that it waits for may take as long: the
	// slowest are a repository's list of packages and the runtime's list of images, with limits
	// of their own below it. Where a disk hangs, whoever reads it does so for ever, and sshd
	// goes on to say that the host is alive.
	silence = time.Minute
	// observeTime is how long an observation may take, besides the time that its bytes take
	// at budget.LeastRate.
	observeTime = 5 * time.Minute
)

// How long a host may take to change, in all and for one operation. A host that hangs must
// not hold the state's lock and the cluster's lease.
const (
	// startTime is how long a batch may take to begin its first operation, besides the wait
	// for the host's lock.
	startTime = 5 * time.Minute
	// shortTime is the limit of an operation that takes seconds on a host in order: systemd
	// gives a unit 90 seconds to start or stop unless the unit says otherwise.
	shortTime = 15 * time.Minute
	// longTime is the limit of an operation that downloads, or that goes through any number
	// of files.
	longTime = time.Hour
	// togetherTime is the limit of all short operations of a batch together.
	togetherTime = 30 * time.Minute

	// An upload goes on as long as uploadStep bytes are taken within uploadTime: 1 KiB per
	// second. The connection takes up to ahead bytes more than the host has read.
	uploadStep = 64 << 10
	uploadRate = 1 << 10
	uploadTime = 2 * uploadStep / uploadRate * time.Second
	ahead      = 2 << 20
)

// limitOf returns how long an operation may take on the host.
func limitOf(op planner.Operation) time.Duration {
	switch op.(type) {
	case planner.Packages, planner.LoadImage, planner.RestoreEtcd, planner.RemovePath, planner.RemovePods, planner.UploadArtifact:
		return longTime
	}
	return shortTime
}

// timing ends a conversation with a host that is too slow, or that sends too much.
type timing struct {
	script  script
	name    string // the host's
	cancel  context.CancelCauseFunc
	watch   *budget.Watch
	uploads int64 // bytes of data that the script takes

	mu    sync.Mutex
	ended *providers.Error // why the conversation was ended; nil where it was not
	began int              // operations that have begun
	sent  int64            // bytes of the upload
	// until is the end of the whole change; zero before the first byte is taken.
	until time.Time
}

func (s *speaker) timing(sc script, cancel context.CancelCauseFunc) *timing {
	t := &timing{script: sc, name: s.name, cancel: cancel}
	for _, f := range sc.frames {
		t.uploads += f.size
	}
	t.watch = sc.pace.Watch(func(err error) { t.end(providers.ErrTimeout, t.explain(err)) })
	return t
}

// end ends the conversation, for the first reason that is given.
func (t *timing) end(kind, cause error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended == nil {
		t.ended = &providers.Error{Kind: kind, Do: t.script.do + " " + t.name, Cause: cause}
		t.cancel(t.ended)
	}
}

// over returns why the conversation was ended; nil where something else ended it.
func (t *timing) over(ctx context.Context) *providers.Error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended == nil || context.Cause(ctx) != error(t.ended) {
		return nil
	}
	return t.ended
}

// tooMuch ends a conversation in which the host sends what it was not asked for.
func (t *timing) tooMuch(cause error) { t.end(providers.ErrProtocol, suspect(cause)) }

// suspect adds what to do about an answer that no script of ours gives.
func suspect(err error) error {
	return providers.WithRemedy(err, "no host in order sends this. See whether its login scripts print without end; "+
		"otherwise take the host for compromised until you know better")
}

// explain adds to what the watch says what hangs, and what to do.
func (t *timing) explain(err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	slow, _ := errors.AsType[*budget.SlowError](err)
	switch {
	case slow == nil:
		return silentError(t.script.pace.Silence)
	case t.script.doing == nil:
		return providers.WithRemedy(slow, fmt.Sprintf("check the load of the host and the link to it, which has to carry %d KiB per second", budget.LeastRate>>10))
	}
	const remedy = "see what hangs there (ps, dmesg, journalctl) and mend it or restart the host. Then run the same command again, which goes on from there"
	if t.began == 0 {
		return providers.WithRemedy(fmt.Errorf("it has begun none of the operations within %s", slow.Took.Round(time.Second)), remedy)
	}
	return providers.WithRemedy(fmt.Errorf("it has not come to the end of %q in time; the batch took %s", t.script.doing(t.began-1), slow.Took.Round(time.Second)), remedy)
}

// op sets the limit of an operation that begins.
func (t *timing) op(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n < len(t.script.limits) {
		t.began = n + 1
		t.watch.Limit(min(t.script.limits[n], time.Until(t.until)))
	}
}

// read says that the host has taken n bytes of what is sent to it.
func (t *timing) read(n int) {
	t.watch.Heard(0)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.script.doing == nil {
		return
	}
	if t.until.IsZero() {
		t.until = time.Now().Add(t.whole())
	}
	before := t.sent
	if t.sent += int64(n); t.sent/uploadStep > before/uploadStep {
		wait := uploadTime + time.Duration(min(t.sent, ahead)/uploadRate)*time.Second
		t.watch.Allow(min(wait, time.Until(t.until)))
	}
}

// whole returns how long the change may take.
func (t *timing) whole() time.Duration {
	all := t.script.pace.Total + togetherTime + time.Duration(t.uploads/uploadRate)*time.Second
	for _, limit := range t.script.limits {
		if limit > shortTime {
			all += limit
		}
	}
	return all
}

// hold makes room for n bytes of the answer. While it waits the host is not to blame.
func (t *timing) hold(ctx context.Context, room *budget.Lease, n int) error {
	if ok, err := room.Try(int64(n)); ok || err != nil {
		return err
	}
	t.watch.Pause()
	defer t.watch.Resume()
	return room.Grow(ctx, int64(n))
}

// silentError says how long nothing has come.
type silentError time.Duration

func (e silentError) Error() string {
	return fmt.Sprintf("it lets us in, and then nothing has come from it for %s: a command hangs there, as where a disk or a network file system does not answer. "+
		"See what the kernel's log says (dmesg) and which processes are in state D (ps), mend that or restart the machine, and try again", time.Duration(e))
}

// watchedReader tells when the host takes what is sent. The first time is when it asks for
// its script: until then a command waits for its place among the sessions that the host
// grants, perhaps behind a batch.
type watchedReader struct {
	io.Reader
	t *timing
}

func (r watchedReader) Read(p []byte) (int, error) {
	r.t.read(0)
	n, err := r.Reader.Read(p)
	r.t.read(n)
	return n, err
}

// watchedWriter tells when something has come.
type watchedWriter struct {
	io.Writer
	watch *budget.Watch
}

func (w watchedWriter) Write(p []byte) (int, error) {
	w.watch.Heard(len(p))
	return w.Writer.Write(p)
}
