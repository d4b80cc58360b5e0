package kube

import (
	"context"
	"strconv"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubewright/kubewright/providers"
)

// leaseNamespace is the namespace with the leases of Kubernetes' own components.
const leaseNamespace = metav1.NamespaceSystem

// The annotations of a lease hold its holder's run token and lineage.
const (
	tokenAnnotation   = "kubewright/run-token"
	lineageAnnotation = "kubewright/lineage"
)

// Lease implements providers.API.
func (a *API) Lease(ctx context.Context, name string) (*providers.Lease, error) {
	var out *providers.Lease
	err := a.as("read lease "+name, func(s *session) error {
		l, err := s.typed.CoordinationV1().Leases(leaseNamespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return ignoreAbsent(err)
		}
		out = leaseOf(l)
		return nil
	})
	return out, err
}

// PutLease implements providers.API.
func (a *API) PutLease(ctx context.Context, l providers.Lease) (string, error) {
	version := ""
	err := a.as("take lease "+l.Name, func(s *session) error {
		leases := s.typed.CoordinationV1().Leases(leaseNamespace)
		var put *coordinationv1.Lease
		var err error
		if l.Version == "" {
			put, err = leases.Create(ctx, leaseObject(l), metav1.CreateOptions{FieldManager: fieldManager})
		} else {
			put, err = leases.Update(ctx, leaseObject(l), metav1.UpdateOptions{FieldManager: fieldManager})
		}
		switch {
		case apierrors.IsAlreadyExists(err), apierrors.IsConflict(err), apierrors.IsNotFound(err):
			return &providers.Error{Kind: providers.ErrMoved, Do: "take lease " + l.Name, Cause: err}
		case err != nil:
			return written(err)
		}
		version = put.ResourceVersion
		return nil
	})
	return version, err
}

// DeleteLease implements providers.API.
func (a *API) DeleteLease(ctx context.Context, l providers.Lease) error {
	return a.as("give back lease "+l.Name, func(s *session) error {
		err := s.typed.CoordinationV1().Leases(leaseNamespace).Delete(ctx, l.Name, metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{ResourceVersion: &l.Version},
		})
		if apierrors.IsConflict(err) {
			return nil // another run has taken or renewed it
		}
		return ignoreAbsent(written(err))
	})
}

func leaseObject(l providers.Lease) *coordinationv1.Lease {
	holder := l.Who + " " + l.Run
	seconds := int32(l.Duration / time.Second)
	since, renewed := metav1.NewMicroTime(l.Since), metav1.NewMicroTime(l.Renewed)
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Name: l.Name, Namespace: leaseNamespace, ResourceVersion: l.Version,
			Annotations: map[string]string{tokenAnnotation: strconv.FormatInt(l.Token, 10), lineageAnnotation: l.Lineage},
		},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, AcquireTime: &since, RenewTime: &renewed},
	}
}

// leaseOf reads a lease that leaseObject wrote. If another client has changed it beyond
// recognition, it counts as a lease that was never renewed.
func leaseOf(l *coordinationv1.Lease) *providers.Lease {
	out := &providers.Lease{Name: l.Name, Version: l.ResourceVersion, Lineage: l.Annotations[lineageAnnotation]}
	if h := l.Spec.HolderIdentity; h != nil {
		i := strings.LastIndex(*h, " ")
		out.Who, out.Run = (*h)[:max(i, 0)], (*h)[i+1:]
	}
	out.Token, _ = strconv.ParseInt(l.Annotations[tokenAnnotation], 10, 64)
	if s := l.Spec.LeaseDurationSeconds; s != nil {
		out.Duration = time.Duration(*s) * time.Second
	}
	if t := l.Spec.AcquireTime; t != nil {
		out.Since = t.Time
	}
	if t := l.Spec.RenewTime; t != nil {
		out.Renewed = t.Time
	}
	return out
}
