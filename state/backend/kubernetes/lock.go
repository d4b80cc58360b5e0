package kubernetes

import (
	"context"
	"encoding/json"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubewright/kubewright/state/backend"
)

type lock struct {
	b    *Backend
	info backend.LockInfo
}

// Lock implements backend.Backend.
func (b *Backend) Lock(ctx context.Context, info backend.LockInfo) (backend.Lock, error) {
	lease, err := b.lookAtLease(ctx)
	if err != nil {
		return nil, err
	}
	if holder := holderOf(lease); holder != nil && holder.ID != info.ID {
		return nil, b.locked(*holder)
	}
	if err := b.hold(ctx, lease, info); err != nil {
		return nil, b.overtaken(ctx, err)
	}
	b.own.Set(info.ID)
	return &lock{b, info}, nil
}

func (b *Backend) locked(holder backend.LockInfo) error {
	return &backend.LockedError{Path: "lease " + b.namespace + "/" + b.lease + " at " + b.host, Info: holder, Remote: true}
}

// overtaken returns the error of a lease that was changed meanwhile, with its new holder.
func (b *Backend) overtaken(ctx context.Context, err error) error {
	if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
		return b.fail(ctx, "lock state", err)
	}
	lease, err := b.lookAtLease(ctx)
	if err != nil {
		return err
	}
	if holder := holderOf(lease); holder != nil {
		return b.locked(*holder)
	}
	return b.locked(backend.LockInfo{})
}

// lookAtLease reads the lease; nil when there is none yet.
func (b *Backend) lookAtLease(ctx context.Context) (*coordinationv1.Lease, error) {
	lease, err := b.client.coordination.Leases(b.namespace).Get(ctx, b.lease, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, b.fail(ctx, "read the lock", err)
	}
	return lease, nil
}

// holderOf returns the holder of a lease; nil when it is free.
func holderOf(lease *coordinationv1.Lease) *backend.LockInfo {
	if lease == nil || lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
		return nil
	}
	info := backend.LockInfo{}
	_ = json.Unmarshal([]byte(lease.Annotations[lockAnnotation]), &info) // the identity is enough
	info.ID = *lease.Spec.HolderIdentity
	if lease.Spec.RenewTime != nil {
		info.Renewed = lease.Spec.RenewTime.Time
	}
	return &info
}

// hold writes the holder into the lease that was read, or into a new one. A holder without an ID
// releases it.
func (b *Backend) hold(ctx context.Context, lease *coordinationv1.Lease, info backend.LockInfo) error {
	leases := b.client.coordination.Leases(b.namespace)
	now, seconds := metav1.NewMicroTime(time.Now()), int32(backend.Silent/time.Second)
	made := lease == nil
	if made {
		lease = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
			Name: b.lease, Namespace: b.namespace, Labels: map[string]string{"app.kubernetes.io/managed-by": "kubewright"},
		}}
	}
	if lease.Annotations == nil {
		lease.Annotations = map[string]string{}
	}
	if info.ID == "" {
		lease.Spec = coordinationv1.LeaseSpec{}
		delete(lease.Annotations, lockAnnotation)
	} else {
		text, err := json.Marshal(info)
		if err != nil {
			return err
		}
		lease.Annotations[lockAnnotation] = string(text)
		lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds, lease.Spec.RenewTime = &info.ID, &seconds, &now
		if lease.Spec.AcquireTime == nil {
			lease.Spec.AcquireTime = &now
		}
	}
	var err error
	if made {
		_, err = leases.Create(ctx, lease, metav1.CreateOptions{})
	} else {
		_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
	}
	return err
}

// Holder implements backend.Backend.
func (b *Backend) Holder(ctx context.Context) (*backend.LockInfo, error) {
	lease, err := b.lookAtLease(ctx)
	return holderOf(lease), err
}

// ForceUnlock implements backend.Backend.
func (b *Backend) ForceUnlock(ctx context.Context, id string) error {
	for {
		lease, err := b.lookAtLease(ctx)
		if err != nil {
			return err
		}
		holder := holderOf(lease)
		if holder == nil {
			return nil
		}
		if holder.ID != id {
			return b.locked(*holder)
		}
		err = b.hold(ctx, lease, backend.LockInfo{})
		switch {
		case err == nil:
			return nil
		case !apierrors.IsConflict(err): // the holder has renewed it meanwhile
			return b.fail(ctx, "unlock state", err)
		}
	}
}

// Confirm implements backend.Lock.
func (l *lock) Confirm(ctx context.Context) error {
	lease, err := l.b.lookAtLease(ctx)
	if err != nil {
		return err
	}
	if holder := holderOf(lease); holder == nil || holder.ID != l.info.ID {
		return backend.Lost(l.b.String(), holder)
	}
	err = l.b.hold(ctx, lease, l.info)
	if apierrors.IsConflict(err) {
		return l.b.own.Confirm(ctx, l.b)
	}
	if err != nil {
		return l.b.fail(ctx, "show a sign of life", err)
	}
	return nil
}

// Release implements backend.Lock.
func (l *lock) Release(ctx context.Context) error {
	return l.b.own.GiveBack(ctx, l.b, l.info.ID)
}
