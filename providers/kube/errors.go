package kube

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/budget"
)

func forbidden(err error) bool { return apierrors.IsForbidden(err) }

func notFound(err error) bool { return apierrors.IsNotFound(err) }

// failure gives an error its kind.
func failure(do string, err error) error {
	if err == nil {
		return nil
	}
	if unasked := unaskedFor(err); unasked != nil {
		return &providers.Error{Kind: providers.ErrProtocol, Do: do, Cause: providers.WithRemedy(unasked,
			"no API server in order answers so. Take its host for compromised until you know better")}
	}
	if kind := kindOf(err); kind != nil {
		return &providers.Error{Kind: kind, Do: do, Cause: err}
	}
	return fmt.Errorf("cannot %s: %w", do, err)
}

// unaskedFor finds the error of an answer with a size or form that was not requested.
func unaskedFor(err error) error {
	if e, is := errors.AsType[*tooLargeError](err); is {
		return e
	}
	if e, is := errors.AsType[*tooManyError](err); is {
		return e
	}
	if e, is := errors.AsType[*budget.TooLargeError](err); is {
		return e
	}
	if errors.Is(err, errOtherForm) {
		return errOtherForm
	}
	return nil
}

// kindOf returns the kind of an error, or nil if it has one already or none fits.
func kindOf(err error) error {
	for _, known := range []error{
		providers.ErrUnreachable, providers.ErrDisconnected, providers.ErrTimeout, providers.ErrNoForwarding,
		providers.ErrUnavailable, context.Canceled,
	} {
		if errors.Is(err, known) {
			return nil
		}
	}
	if kind, answered := answerKind(err); answered {
		return kind
	}
	var transport *url.Error
	var untrusted *tls.CertificateVerificationError
	var timeout net.Error
	switch {
	case errors.As(err, &untrusted):
		return nil
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return providers.ErrTimeout
	case errors.Is(err, syscall.ECONNREFUSED):
		return providers.ErrUnreachable
	case errors.As(err, &transport):
		return providers.ErrDisconnected
	}
	return nil
}

// written converts the error of a write request. A server that sheds the request has not
// executed it. Any other server error leaves that open: a request that timed out there, or
// in etcd, may still be executed.
func written(err error) error {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return err
	}
	if code := answer.Status().Code; code < http.StatusInternalServerError || code == http.StatusServiceUnavailable {
		return err
	}
	return openError{err}
}

// openError is an answer that leaves open whether something was written.
type openError struct{ error }

func (e openError) Unwrap() []error { return []error{providers.ErrTimeout, e.error} }

// answerKind returns the kind of an API answer, if err is one. Errors of write requests go
// through written first.
func answerKind(err error) (kind error, answered bool) {
	switch {
	case meta.IsNoMatchError(err):
		// A CustomResourceDefinition that was just applied is served a moment later.
		return providers.ErrUnavailable, true
	case notFound(err):
		return providers.ErrNotFound, true
	case apierrors.IsTooManyRequests(err), apierrors.IsServiceUnavailable(err), apierrors.IsServerTimeout(err),
		apierrors.IsTimeout(err), apierrors.IsResourceExpired(err), apierrors.IsInternalError(err), apierrors.IsConflict(err):
		return providers.ErrUnavailable, true
	}
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return nil, false
	}
	if answer.Status().Code >= 500 {
		return providers.ErrUnavailable, true
	}
	return nil, true
}
