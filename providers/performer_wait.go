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

// Polling: soon at first, later once a second. One attempt has a deadline of
// its own, so that a host that hangs does not stop the others' attempts.
const (
	firstPoll   = 250 * time.Millisecond
	lastPoll    = time.Second
	attemptTime = 10 * time.Second
	waitTime    = 4 * time.Minute
	// tellEvery is how often what was last seen is told to the reader.
	tellEvery = 10 * time.Second
)

// ObjectReader is an API that can look at one thing without reading all of the cluster.
type ObjectReader interface {
	// Node returns nil for a node that does not exist.
	Node(ctx context.Context, name string) (*state.NodeReport, error)
	// StaticPod returns nil for a mirror pod that does not exist.
	StaticPod(ctx context.Context, name string) (*state.StaticPodReport, error)
	// Object returns null for an object that does not exist; managedFields are left out.
	Object(ctx context.Context, ref state.ObjectRef) (state.Value, error)
}

// wait polls until the condition holds. When it does not in time the error
// wraps ErrTimeout and says what was last seen.
func (w *work) wait(ctx context.Context, op planner.Wait) error {
	if op.HashRef != "" {
		hash, err := w.resolve(ctx, state.Sensitive{Ref: op.HashRef})
		if err != nil {
			return err
		}
		op.Hash = string(hash.Reveal())
	}
	limit := timeoutOf(op.Timeout, waitTime)
	began := w.Clock.Now()
	told := began
	for pause := firstPoll; ; pause = min(2*pause, lastPoll) {
		seen := w.look(ctx, op)
		if seen == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if hopeless(seen) {
			return fmt.Errorf("cannot %s: %w", op.Summary(), seen)
		}
		now := w.Clock.Now()
		if now.Add(pause).Sub(began) > limit {
			return &Error{Kind: ErrTimeout, Do: op.Summary(), Cause: fmt.Errorf("not so after %s; last seen: %w", limit, seen)}
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

// hopeless reports an error that waiting does not cure.
func hopeless(err error) bool {
	return slices.ContainsFunc([]error{
		ErrAuth, ErrHostKeyChanged, ErrHostKeyUnknown, ErrSudo, ErrNoForwarding, ErrSuperseded, ErrUnsupported,
	}, func(kind error) bool { return errors.Is(err, kind) })
}

// look is one attempt: nil when the condition holds, otherwise what was seen.
func (w *work) look(ctx context.Context, op planner.Wait) error {
	ctx, cancel := context.WithTimeout(ctx, attemptTime)
	defer cancel()
	switch op.For {
	case planner.WaitHTTP:
		return w.lookHTTP(ctx, op)
	case planner.WaitClosed:
		return w.lookClosed(ctx, op)
	case planner.WaitFile:
		return w.lookFile(ctx, op)
	case planner.WaitRestarted:
		return w.lookProcess(ctx, op)
	case planner.WaitServed:
		return w.lookServed(ctx, op)
	case planner.WaitEtcdStarted:
		return w.lookEtcd(ctx, op)
	case planner.WaitAPI:
		a, err := w.api(ctx, w.own())
		if err != nil {
			return err
		}
		return a.Ready(ctx)
	}
	return w.Through(ctx, w.via(), func(ctx context.Context, a API) error {
		switch op.For {
		case planner.WaitStaticPod:
			return lookStaticPod(ctx, a, op)
		case planner.WaitRootCA:
			return w.lookRootCA(ctx, a, op)
		case planner.WaitNodeRegistered, planner.WaitNodeReady:
			return lookNode(ctx, a, op)
		case planner.WaitPause:
			return lookPause(ctx, a, op, w.Clock.Now())
		}
		return fmt.Errorf("internal error: nobody knows how to wait for %s", op.For)
	})
}

func (w *work) lookHTTP(ctx context.Context, op planner.Wait) error {
	host, err := w.host(ctx)
	if err != nil {
		return err
	}
	status, err := host.HTTPStatus(ctx, op.URL, op.CA)
	if err != nil {
		return err
	}
	if status != 200 {
		return fmt.Errorf("%s answered %d", op.URL, status)
	}
	return nil
}

// lookClosed takes for closed only what proves it: that the host says of its own port
// that nobody listens there. Who cannot be asked, or does not answer, may serve still;
// and whoever answers does, whatever certificate he shows.
func (w *work) lookClosed(ctx context.Context, op planner.Wait) error {
	host, err := w.host(ctx)
	if err != nil {
		return err
	}
	status, err := host.HTTPStatus(ctx, op.URL, "")
	switch {
	case errors.Is(err, ErrRefused):
		return nil
	case err != nil:
		return err
	}
	return fmt.Errorf("%s still answers %d", op.URL, status)
}

func (w *work) lookFile(ctx context.Context, op planner.Wait) error {
	host, err := w.host(ctx)
	if err != nil {
		return err
	}
	q := state.Query{Files: []state.FileQuery{{Path: op.Name}}}
	for _, f := range op.Files {
		q.Files = append(q.Files, state.FileQuery{Path: f})
	}
	report, err := host.Observe(ctx, q)
	if err != nil {
		return err
	}
	if !report.Files[op.Name].Exists {
		return fmt.Errorf("%s is not there", op.Name)
	}
	for _, f := range op.Files {
		if report.Files[op.Name].Modified.Before(report.Files[f].Modified) {
			return fmt.Errorf("%s has not been written since %s was", op.Name, f)
		}
	}
	return nil
}

func (w *work) lookEtcd(ctx context.Context, op planner.Wait) error {
	var members []state.EtcdMember
	err := w.ThroughEtcd(ctx, w.via(), func(ctx context.Context, e Etcd) (err error) {
		members, _, err = e.Members(ctx)
		return err
	})
	if err != nil {
		return err
	}
	for _, m := range members {
		if m.Name == op.Name {
			return nil
		}
	}
	return fmt.Errorf("etcd has %d members, and none that started is called %s", len(members), op.Name)
}

func lookStaticPod(ctx context.Context, a API, op planner.Wait) error {
	pod, err := staticPod(ctx, a, op.Name)
	switch {
	case err != nil:
		return err
	case pod == nil:
		return fmt.Errorf("pod %s does not exist", op.Name)
	case op.Hash != "" && !slices.Contains(strings.Fields(op.Hash), pod.Hash):
		return fmt.Errorf("pod %s still runs another manifest", op.Name)
	case op.Hash != "" && pod.Stale():
		return fmt.Errorf("pod %s has not been restarted yet", op.Name)
	case !pod.Running:
		return fmt.Errorf("pod %s is not running", op.Name)
	case !pod.Ready:
		return fmt.Errorf("pod %s is not ready", op.Name)
	}
	return nil
}

func staticPod(ctx context.Context, a API, name string) (*state.StaticPodReport, error) {
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

func lookNode(ctx context.Context, a API, op planner.Wait) error {
	n, err := nodeOf(ctx, a, op.Name)
	switch {
	case err != nil:
		return err
	case n == nil:
		return fmt.Errorf("node %s does not exist", op.Name)
	case op.For == planner.WaitNodeReady && !n.Ready:
		return fmt.Errorf("node %s is not ready", op.Name)
	case op.Version != "" && strings.TrimPrefix(n.KubeletVersion, "v") != op.Version:
		return fmt.Errorf("the kubelet of node %s reports version %s", op.Name, strings.TrimPrefix(n.KubeletVersion, "v"))
	}
	return nil
}

// lookPause tells how long a pause goes on that began when the node was let in.
func lookPause(ctx context.Context, a API, op planner.Wait, now time.Time) error {
	n, err := nodeOf(ctx, a, op.Name)
	if err != nil || n == nil {
		return err
	}
	began, version, _ := strings.Cut(n.Annotations[planner.LetInAnnotation], " ")
	at, err := time.Parse(time.RFC3339, began)
	if err != nil || version != op.Version {
		return nil //nolint:nilerr // it was upgraded by somebody else: there is nothing to wait for
	}
	if left := at.Add(op.Pause).Sub(now); left > 0 {
		return fmt.Errorf("the pause of %s behind node %s ends in %s", op.Pause, op.Name, left.Round(time.Second))
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
