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
	// silence is how long an observed host may send nothing before it is given up. The host
	// sends results as it proceeds, and no single command may take that long: the slowest
	// are a repository's list of packages and the runtime's list of images, which have
	// lower limits of their own. A read from a hanging disk blocks for ever, while sshd
	// still answers keepalives.
	silence = time.Minute
	// observeTime bounds an observation, in addition to the time that its bytes take at
	// budget.LeastRate.
	observeTime = 5 * time.Minute
)

// Limits for a change, in all and per operation. A hanging host must not hold the state's
// lock and the cluster's lease.
const (
	// startTime bounds the time until a batch begins its first operation, in addition to
	// the wait for the host's lock.
	startTime = 5 * time.Minute
	// shortTime is the limit of an operation that takes seconds on a healthy host: systemd
	// gives a unit 90 seconds to start or stop unless the unit overrides that.
	shortTime = 15 * time.Minute
	// longTime is the limit of an operation that downloads, or that processes any number of
	// files.
	longTime = time.Hour
	// togetherTime is the limit of all short operations of a batch together.
	togetherTime = 30 * time.Minute

	// An upload continues as long as uploadStep bytes are read within uploadTime: 1 KiB per
	// second. The connection buffers up to ahead bytes more than the host has read.
	uploadStep = 64 << 10
	uploadRate = 1 << 10
	uploadTime = 2 * uploadStep / uploadRate * time.Second
	ahead      = 2 << 20
)

// limitOf returns how long an operation may take on the host.
func limitOf(op planner.Operation) time.Duration {
	switch op.(type) {
	case planner.Packages, planner.LoadImage, planner.RestoreEtcd, planner.TakeBackup, planner.RemovePath, planner.RemovePods, planner.UploadArtifact:
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
	uploads int64 // bytes of data that the script reads

	mu    sync.Mutex
	ended *providers.Error // why the conversation was ended; nil if it was not
	began int              // operations that have begun
	sent  int64            // bytes of the upload
	// until is the end of the whole change; zero before the first byte is read.
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

// end ends the conversation; only the first reason counts.
func (t *timing) end(kind, cause error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended == nil {
		t.ended = &providers.Error{Kind: kind, Do: t.script.do + " " + t.name, Cause: cause}
		t.cancel(t.ended)
	}
}

// over returns why the conversation was ended; nil if something else ended it.
func (t *timing) over(ctx context.Context) *providers.Error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended == nil || context.Cause(ctx) != error(t.ended) {
		return nil
	}
	return t.ended
}

// tooMuch ends a conversation in which the host sends something unrequested.
func (t *timing) tooMuch(cause error) { t.end(providers.ErrProtocol, suspect(cause)) }

// suspect adds the remedy for an answer that none of our scripts produces.
func suspect(err error) error {
	return providers.WithRemedy(err, "no host in order sends this. See whether its login scripts print without end; "+
		"otherwise take the host for compromised until you know better")
}

// explain adds to the watch's error what hangs, and the remedy.
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
	const remedy = "see what hangs there (ps, dmesg, journalctl) and repair it, or restart the host. Then run the same command again, which continues from there"
	if t.began == 0 {
		return providers.WithRemedy(fmt.Errorf("it has begun none of the operations within %s", slow.Took.Round(time.Second)), remedy)
	}
	return providers.WithRemedy(fmt.Errorf("it has not come to the end of %q in time; the batch took %s", t.script.doing(t.began-1), slow.Took.Round(time.Second)), remedy)
}

// op sets the time limit of an operation that begins.
func (t *timing) op(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n < len(t.script.limits) {
		t.began = n + 1
		t.watch.Limit(min(t.script.limits[n], time.Until(t.until)))
	}
}

// read records that the host has read n bytes of its input.
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

// whole returns the time limit of the whole change.
func (t *timing) whole() time.Duration {
	all := t.script.pace.Total + togetherTime + time.Duration(t.uploads/uploadRate)*time.Second
	for _, limit := range t.script.limits {
		if limit > shortTime {
			all += limit
		}
	}
	return all
}

// hold makes room for n bytes of the answer. While it waits, the host's time does not
// count.
func (t *timing) hold(ctx context.Context, room *budget.Lease, n int) error {
	if ok, err := room.Try(int64(n)); ok || err != nil {
		return err
	}
	t.watch.Pause()
	defer t.watch.Resume()
	return room.Grow(ctx, int64(n))
}

// silentError reports how long nothing has arrived.
type silentError time.Duration

func (e silentError) Error() string {
	return fmt.Sprintf("it lets us in, and then nothing has come from it for %s: a command hangs there, as where a disk or a network file system does not answer. "+
		"See what the kernel's log says (dmesg) and which processes are in state D (ps), mend that or restart the machine, and try again", time.Duration(e))
}

// watchedReader reports when the host reads its input. The first read is for its script:
// until then a command waits for one of the sessions that the host grants, perhaps after
// another batch.
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

// watchedWriter reports when data arrives.
type watchedWriter struct {
	io.Writer
	watch *budget.Watch
}

func (w watchedWriter) Write(p []byte) (int, error) {
	w.watch.Heard(len(p))
	return w.Writer.Write(p)
}
