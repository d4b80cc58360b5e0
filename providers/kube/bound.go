package kube

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	typedpolicyv1 "k8s.io/client-go/kubernetes/typed/policy/v1"
)

// bound is a client that evicts and deletes only the pods of a list. kubectl's drain
// addresses a pod by its name alone, even when it retries minutes later: by then a pod of
// the same name, such as a StatefulSet's, may run on another node. In that case bound
// answers that the listed pod is not found, which ends the retries.
type bound struct {
	kubernetes.Interface

	// uids are the UIDs of the listed pods, by NAMESPACE/NAME.
	uids map[string]types.UID
}

func bind(client kubernetes.Interface, pods []corev1.Pod) bound {
	b := bound{client, map[string]types.UID{}}
	for i := range pods {
		b.uids[pods[i].Namespace+"/"+pods[i].Name] = pods[i].UID
	}
	return b
}

// PolicyV1 implements kubernetes.Interface.
func (b bound) PolicyV1() typedpolicyv1.PolicyV1Interface {
	return boundPolicy{b.Interface.PolicyV1(), b}
}

// CoreV1 implements kubernetes.Interface.
func (b bound) CoreV1() typedcorev1.CoreV1Interface { return boundCore{b.Interface.CoreV1(), b} }

type boundPolicy struct {
	typedpolicyv1.PolicyV1Interface
	bound bound
}

// Evictions implements typedpolicyv1.EvictionsGetter.
func (p boundPolicy) Evictions(namespace string) typedpolicyv1.EvictionInterface {
	return boundEvictions{p.PolicyV1Interface.Evictions(namespace), p.bound}
}

type boundEvictions struct {
	typedpolicyv1.EvictionInterface
	bound bound
}

// Evict implements typedpolicyv1.EvictionExpansion.
func (e boundEvictions) Evict(ctx context.Context, eviction *policyv1.Eviction) error {
	out := eviction.DeepCopy()
	if out.DeleteOptions == nil {
		out.DeleteOptions = &metav1.DeleteOptions{}
	}
	out.DeleteOptions.Preconditions = e.bound.precondition(out.Namespace, out.Name)
	return e.bound.settle(ctx, out.Namespace, out.Name, e.EvictionInterface.Evict(ctx, out))
}

type boundCore struct {
	typedcorev1.CoreV1Interface
	bound bound
}

// Pods implements typedcorev1.PodsGetter.
func (c boundCore) Pods(namespace string) typedcorev1.PodInterface {
	return boundPods{c.CoreV1Interface.Pods(namespace), namespace, c.bound}
}

type boundPods struct {
	typedcorev1.PodInterface
	namespace string
	bound     bound
}

// Delete implements typedcorev1.PodInterface.
func (p boundPods) Delete(ctx context.Context, name string, options metav1.DeleteOptions) error {
	options.Preconditions = p.bound.precondition(p.namespace, name)
	return p.bound.settle(ctx, p.namespace, name, p.PodInterface.Delete(ctx, name, options))
}

func (b bound) precondition(namespace, name string) *metav1.Preconditions {
	uid := b.uids[namespace+"/"+name]
	return &metav1.Preconditions{UID: &uid}
}

// settle answers "not found" if a refusal concerns another pod of the same name: the API
// server checks the budgets first, and compares the UID only when it deletes.
func (b bound) settle(ctx context.Context, namespace, name string, err error) error {
	if !apierrors.IsConflict(err) && !apierrors.IsTooManyRequests(err) {
		return err
	}
	now, failed := b.Interface.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
	if failed == nil && now.UID != b.uids[namespace+"/"+name] {
		return apierrors.NewNotFound(corev1.Resource("pods"), name)
	}
	return err
}
