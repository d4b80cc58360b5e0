package providers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// Polling: quickly at first, later once a second. Each attempt has a deadline of its own,
// so that a hanging host does not use up the whole wait.
const (
	firstPoll   = 250 * time.Millisecond
	lastPoll    = time.Second
	attemptTime = 10 * time.Second
	waitTime    = 4 * time.Minute
	// tellEvery is how often the last observation is logged.
	tellEvery = 10 * time.Second
)

// ObjectReader is an API that can read one object without reading all of the cluster.
type ObjectReader interface {
	// Node returns nil for a node that does not exist.
	Node(ctx context.Context, name string) (*state.NodeReport, error)
	// StaticPod returns nil for a mirror pod that does not exist.
	StaticPod(ctx context.Context, name string) (*state.StaticPodReport, error)
	// Object returns null for an object that does not exist; managedFields are left out.
	Object(ctx context.Context, ref state.ObjectRef) (state.Value, error)
}

// waiting is the wait for one condition.
type waiting struct {
	*work
	want planner.Wait
}

// poll waits until the condition holds. If it does not in time, the error wraps ErrTimeout
// and names the last observation.
func (w waiting) poll(ctx context.Context) error {
	if w.want.HashRef != "" {
		hash, err := w.resolve(ctx, state.Sensitive{Ref: w.want.HashRef})
		if err != nil {
			return err
		}
		w.want.Hash = string(hash.Reveal())
	}
	limit := timeoutOf(w.want.Timeout, waitTime)
	began := w.Clock.Now()
	told := began
	exits := watch{waiting: w, last: began}
	for pause := firstPoll; ; pause = min(2*pause, lastPoll) {
		seen := w.look(ctx)
		if seen == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if hopeless(seen) {
			return fmt.Errorf("cannot %s: %w", w.want.Summary(), seen)
		}
		now := w.Clock.Now()
		if err := exits.hopeless(ctx, now); err != nil {
			return err
		}
		if now.Add(pause).Sub(began) > limit {
			return &Error{Kind: ErrTimeout, Do: w.want.Summary(), Cause: fmt.Errorf("not so after %s; last seen: %w", limit, seen)}
		}
		if now.Sub(told) >= tellEvery {
			told = now
			w.log("waiting; last seen: " + seen.Error())
		}
		if err := w.Clock.Sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// hopeless reports whether waiting cannot cure an error.
func hopeless(err error) bool {
	return slices.ContainsFunc([]error{
		ErrAuth, ErrHostKeyChanged, ErrHostKeyUnknown, ErrSudo, ErrNoForwarding, ErrSuperseded, ErrUnsupported,
	}, func(kind error) bool { return errors.Is(err, kind) })
}

// look is one attempt: nil if the condition holds, otherwise what was observed.
func (w waiting) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, attemptTime)
	defer cancel()
	switch w.want.For {
	case planner.WaitHTTP:
		return w.http(ctx)
	case planner.WaitClosed:
		return w.closed(ctx)
	case planner.WaitFile:
		return w.file(ctx)
	case planner.WaitRestarted:
		return w.process(ctx)
	case planner.WaitServed:
		return w.served(ctx)
	case planner.WaitEtcdStarted:
		return w.etcdStarted(ctx)
	case planner.WaitEncryption:
		return w.encryptionLoaded(ctx)
	case planner.WaitAPI:
		a, err := w.api(ctx, w.own())
		if err != nil {
			return err
		}
		return a.Ready(ctx)
	}
	return w.Through(ctx, w.via(), func(ctx context.Context, a API) error {
		switch w.want.For {
		case planner.WaitStaticPod:
			return w.staticPod(ctx, a)
		case planner.WaitRootCA:
			return w.rootCA(ctx, a)
		case planner.WaitNodeRegistered, planner.WaitNodeReady:
			return w.node(ctx, a)
		case planner.WaitPause:
			return w.pause(ctx, a)
		}
		return fmt.Errorf("internal error: no way to wait for %s", w.want.For)
	})
}

func (w waiting) http(ctx context.Context) error {
	host, err := w.host(ctx)
	if err != nil {
		return err
	}
	status, err := host.HTTPStatus(ctx, w.want.URL, w.want.CA)
	if err != nil {
		return err
	}
	if status != 200 {
		return fmt.Errorf("%s answered %d", w.want.URL, status)
	}
	return nil
}

// closed accepts only a proof that the port is closed: that the host refuses a connection
// to its own port. A host that cannot be asked, or does not answer, may still serve; and a
// server that answers does serve, whatever certificate it shows.
func (w waiting) closed(ctx context.Context) error {
	host, err := w.host(ctx)
	if err != nil {
		return err
	}
	status, err := host.HTTPStatus(ctx, w.want.URL, "")
	switch {
	case errors.Is(err, ErrRefused):
		return nil
	case err != nil:
		return err
	}
	return fmt.Errorf("%s still answers %d", w.want.URL, status)
}

func (w waiting) file(ctx context.Context) error {
	host, err := w.host(ctx)
	if err != nil {
		return err
	}
	q := state.Query{Files: []state.FileQuery{{Path: w.want.Name}}}
	for _, f := range w.want.Files {
		q.Files = append(q.Files, state.FileQuery{Path: f})
	}
	report, err := host.Observe(ctx, q)
	if err != nil {
		return err
	}
	if !report.Files[w.want.Name].Exists {
		return fmt.Errorf("%s is not there", w.want.Name)
	}
	for _, f := range w.want.Files {
		if report.Files[w.want.Name].Modified.Before(report.Files[f].Modified) {
			return fmt.Errorf("%s has not been written since %s was", w.want.Name, f)
		}
	}
	return nil
}

func (w waiting) etcdStarted(ctx context.Context) error {
	var members []state.EtcdMember
	err := w.ThroughEtcd(ctx, w.via(), func(ctx context.Context, e Etcd) (err error) {
		members, _, err = e.Members(ctx)
		return err
	})
	if err != nil {
		return err
	}
	for _, m := range members {
		if m.Name == w.want.Name {
			return nil
		}
	}
	return fmt.Errorf("etcd has %d members, and none that started is called %s", len(members), w.want.Name)
}

func (w waiting) staticPod(ctx context.Context, a API) error {
	pod, err := mirrorPod(ctx, a, w.want.Name)
	switch {
	case err != nil:
		return err
	case pod == nil:
		return fmt.Errorf("pod %s does not exist", w.want.Name)
	case w.want.Hash != "" && !slices.Contains(strings.Fields(w.want.Hash), pod.Hash):
		return fmt.Errorf("pod %s still runs another manifest", w.want.Name)
	case w.want.Hash != "" && pod.Unreported() && w.started(ctx, pod.Hash):
		return nil
	case w.want.Hash != "" && pod.Stale():
		return fmt.Errorf("pod %s has not been restarted yet", w.want.Name)
	case !pod.Running:
		return fmt.Errorf("pod %s is not running", w.want.Name)
	case !pod.Ready:
		return fmt.Errorf("pod %s is not ready", w.want.Name)
	}
	return nil
}

// started reports whether the host's kubelet has started the static pod with a hash, whatever the API
// shows: a kubelet whose API server was away reports a pod up to 40 s late, since its watches
// back off. It writes a pod's hosts file when it starts the first container, and it does that
// once the former pod of the same name has ended. An API server has to be ready; the health of
// other components is a wait of its own.
func (w waiting) started(ctx context.Context, hash string) bool {
	host, err := w.host(ctx)
	if err != nil {
		return false
	}
	if strings.HasPrefix(w.want.Name, "kube-apiserver-") {
		if a, err := w.api(ctx, w.own()); err != nil || a.Ready(ctx) != nil {
			return false
		}
	}
	file := "/var/lib/kubelet/pods/" + hash + "/etc-hosts"
	report, err := host.Observe(ctx, state.Query{Files: []state.FileQuery{{Path: file}}})
	return err == nil && report.Files[file].Exists
}

func mirrorPod(ctx context.Context, a API, name string) (*state.StaticPodReport, error) {
	if r, ok := a.(ObjectReader); ok {
		return r.StaticPod(ctx, name)
	}
	report, err := a.Observe(ctx, state.ClusterQuery{})
	if err != nil {
		return nil, err
	}
	if pod, ok := report.StaticPods[name]; ok {
		return &pod, nil
	}
	return nil, nil
}

func (w waiting) node(ctx context.Context, a API) error {
	n, err := nodeOf(ctx, a, w.want.Name)
	switch {
	case err != nil:
		return err
	case n == nil:
		return fmt.Errorf("node %s does not exist", w.want.Name)
	case w.want.For == planner.WaitNodeReady && !n.Ready:
		return fmt.Errorf("node %s is not ready", w.want.Name)
	case w.want.Version != "" && strings.TrimPrefix(n.KubeletVersion, "v") != w.want.Version:
		return fmt.Errorf("the kubelet of node %s reports version %s", w.want.Name, strings.TrimPrefix(n.KubeletVersion, "v"))
	case w.want.For == planner.WaitNodeReady && w.want.Process.Name != "":
		return w.reported(ctx, n)
	}
	return nil
}

// reported returns an error if a node's status is older than its kubelet. One that was started otherwise
// than by kubeadm's arguments is not found, and then what the API shows has to do.
func (w waiting) reported(ctx context.Context, n *state.NodeReport) error {
	host, err := w.host(ctx)
	if err != nil {
		return err
	}
	r, err := host.Observe(ctx, state.Query{Processes: []state.Process{w.want.Process}})
	if err != nil {
		return err
	}
	started, runs := r.Started[w.want.Process.Name]
	if runs && n.Reported.Before(started.Truncate(time.Second)) {
		return fmt.Errorf("the kubelet of node %s has not reported since it was started", w.want.Name)
	}
	return nil
}

// pause waits for the rest of a pause that began when the node was uncordoned.
func (w waiting) pause(ctx context.Context, a API) error {
	n, err := nodeOf(ctx, a, w.want.Name)
	if err != nil || n == nil {
		return err
	}
	began, version, _ := strings.Cut(n.Annotations[planner.LetInAnnotation], " ")
	at, err := time.Parse(time.RFC3339, began)
	if err != nil || version != w.want.Version {
		return nil //nolint:nilerr // this run did not upgrade it: there is nothing to wait for
	}
	if left := at.Add(w.want.Pause).Sub(w.Clock.Now()); left > 0 {
		return fmt.Errorf("the pause of %s after node %s ends in %s", w.want.Pause, w.want.Name, left.Round(time.Second))
	}
	return nil
}

func nodeOf(ctx context.Context, a API, name string) (*state.NodeReport, error) {
	if r, ok := a.(ObjectReader); ok {
		return r.Node(ctx, name)
	}
	report, err := a.Observe(ctx, state.ClusterQuery{})
	if err != nil {
		return nil, err
	}
	if n, ok := report.Nodes[name]; ok {
		return &n, nil
	}
	return nil, nil
}
