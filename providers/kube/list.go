package kube

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

const (
	// pageSize is how many items of a list are requested at once.
	pageSize = 500
	// restarts is how often an expired list is read again from the start: etcd keeps
	// history for five minutes.
	restarts = 3
)

// Limits for the items of a list. Kubernetes supports 5,000 nodes and 150,000 pods.
const (
	mostNodes   = 20_000
	mostPods    = 500_000
	mostVolumes = 200_000
	mostOthers  = 100_000
	// mostDrained limits the pods of all nodes that are to be drained.
	mostDrained = 20_000
)

// tooManyError reports a list with more items than any cluster has.
type tooManyError struct {
	what string
	most int
}

func (e *tooManyError) Error() string {
	return fmt.Sprintf("the API server lists more than %d %s", e.most, e.what)
}

// pages is a list that is read page by page.
type pages[L interface {
	runtime.Object
	metav1.ListInterface
}] struct {
	// what names the items, and most limits their number.
	what    string
	most    int
	options metav1.ListOptions
	list    func(context.Context, metav1.ListOptions) (L, error)
	// begin is called before the first page, and again when the list is restarted.
	begin func()
	take  func(L) error
}

// each reads every page. If a page is too large it requests smaller ones. If the rest of
// the list has expired it starts again.
func (p pages[L]) each(ctx context.Context) error {
	size := int64(pageSize)
	for n := 0; ; {
		err := p.once(ctx, size)
		large, is := errors.AsType[*tooLargeError](err)
		switch {
		case is && large.page && size > 1:
			size = max(1, size/5)
		case apierrors.IsResourceExpired(err) && n < restarts:
			n++
		default:
			return err
		}
	}
}

func (p pages[L]) once(ctx context.Context, size int64) error {
	p.begin()
	options := p.options
	options.Limit = size
	// Do not follow a server that makes no progress for ever.
	for requests, items := 0, 0; ; requests++ {
		page, err := p.list(ctx, options)
		if err != nil {
			return err
		}
		items += meta.LenList(page)
		if items > p.most || int64(requests) > 2*int64(p.most)/size {
			return &tooManyError{p.what, p.most}
		}
		if err := p.take(page); err != nil {
			return err
		}
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return nil
		}
	}
}

// keptCap limits the bytes that are kept of all items of a list.
const keptCap = 64 << 20

// kept counts the bytes kept of a list's items.
type kept struct {
	what  string
	bytes int
}

func (k *kept) add(n int) error {
	if k.bytes += n; k.bytes > keptCap {
		return &tooManyError{"MiB of " + k.what, keptCap >> 20}
	}
	return nil
}
