package kube

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubewright/kubewright/planner"
)

// gonePoll is the pause between two reads of a pod that was evicted.
const gonePoll = time.Second

// eviction is the removal of pods from a node.
type eviction struct {
	client *clients
	op     planner.Drain

	mu  sync.Mutex
	log func(string)
}

// run evicts pods, or deletes them where evictions are disabled, and waits until they are gone.
// Each pod is addressed by its UID: minutes later a pod of the same name, such as a StatefulSet's,
// may run on another node.
func (e *eviction) run(ctx context.Context, pods []corev1.Pod) error {
	if e.op.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, e.op.Timeout)
		defer cancel()
	}
	remove := e.evict
	if e.op.DisableEviction {
		remove = e.delete
	}
	failures := make([]error, len(pods))
	var all sync.WaitGroup
	for i := range pods {
		all.Go(func() { failures[i] = e.remove(ctx, &pods[i], remove) })
	}
	all.Wait()
	return errors.Join(failures...)
}

// remove removes a pod, and waits until it is gone. Its errors are text: an API server refuses the
// eviction of a pod with two budgets with 500, and whether a failure is temporary is what the
// transport has seen (noting).
func (e *eviction) remove(ctx context.Context, p *corev1.Pod, remove func(context.Context, *corev1.Pod) error) error {
	name := p.Namespace + "/" + p.Name
	if err := remove(ctx, p); err != nil {
		if e.replaced(ctx, p, err) {
			return nil
		}
		return fmt.Errorf("pod %s: %v", name, err)
	}
	for {
		now, err := e.client.CoreV1().Pods(p.Namespace).Get(ctx, p.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err), err == nil && now.UID != p.UID:
			e.say("pod %s is gone", name)
			return nil
		case err != nil:
			return fmt.Errorf("pod %s: %v", name, err)
		case terminatingFor(now, e.op.SkipWait):
			e.say("pod %s has been terminating for more than %s; continuing without it", name, e.op.SkipWait)
			return nil
		}
		if err := wait(ctx, gonePoll); err != nil {
			return fmt.Errorf("pod %s has not ended: %v", name, err)
		}
	}
}

// evict requests the eviction of a pod until the API server accepts it.
func (e *eviction) evict(ctx context.Context, p *corev1.Pod) error {
	e.say("evicting pod %s/%s", p.Namespace, p.Name)
	for {
		err := e.client.PolicyV1().Evictions(p.Namespace).Evict(ctx, &policyv1.Eviction{
			ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name}, DeleteOptions: e.options(p),
		})
		switch {
		case err == nil:
			return nil
		case apierrors.IsForbidden(err) && apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
			// The API server refuses evictions in a namespace that is being deleted. Its pods
			// end by themselves: each is marked at some moment.
			if now, err := e.client.CoreV1().Pods(p.Namespace).Get(ctx, p.Name, metav1.GetOptions{}); err == nil && !now.DeletionTimestamp.IsZero() {
				return nil
			}
		case !apierrors.IsTooManyRequests(err) || e.replaced(ctx, p, err):
			return err
		}
		again := pause(e.op.Timeout)
		e.say("pod %s/%s is not evicted yet, trying again in %s: %v", p.Namespace, p.Name, again, err)
		if err := wait(ctx, again); err != nil {
			return err
		}
	}
}

func (e *eviction) delete(ctx context.Context, p *corev1.Pod) error {
	e.say("deleting pod %s/%s", p.Namespace, p.Name)
	return e.client.CoreV1().Pods(p.Namespace).Delete(ctx, p.Name, *e.options(p))
}

func (e *eviction) options(p *corev1.Pod) *metav1.DeleteOptions {
	out := &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &p.UID}}
	if seconds := int64(e.op.GracePeriod); seconds >= 0 {
		out.GracePeriodSeconds = &seconds
	}
	return out
}

// replaced reports whether a refusal means that the pod is gone, or concerns another pod of its
// name: the API server checks the budgets first, and compares the UID only when it deletes.
func (e *eviction) replaced(ctx context.Context, p *corev1.Pod, refusal error) bool {
	if apierrors.IsNotFound(refusal) {
		return true
	}
	if !apierrors.IsConflict(refusal) && !apierrors.IsTooManyRequests(refusal) {
		return false
	}
	now, err := e.client.CoreV1().Pods(p.Namespace).Get(ctx, p.Name, metav1.GetOptions{})
	return apierrors.IsNotFound(err) || err == nil && now.UID != p.UID
}

func (e *eviction) say(format string, args ...any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.log(fmt.Sprintf(format, args...))
}

// wait waits, or returns the error of the context.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// servesEvictions reports whether the API server has the eviction of pods.
func servesEvictions(client *clients) (bool, error) {
	list, err := client.Discovery().ServerResourcesForGroupVersion("v1")
	if err != nil {
		return false, err
	}
	for i := range list.APIResources {
		if r := &list.APIResources[i]; r.Name == "pods/eviction" && r.Kind == "Eviction" && r.Version == "v1" {
			return true, nil
		}
	}
	return false, nil
}
