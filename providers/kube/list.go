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
	// pageSize is how many items of a list are asked for at once.
	pageSize = 500
	// restarts is how often a list is begun again whose rest has expired on the way: etcd
	// keeps the past for five minutes.
	restarts = 3
)

// The items that a list has at most. Kubernetes is made for 5,000 nodes and 150,000 pods.
const (
	mostNodes   = 20_000
	mostPods    = 500_000
	mostVolumes = 200_000
	mostOthers  = 100_000
	// mostDrained are the pods of all nodes that are to be drained.
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
	// what names the items, and most is how many there may be.
	what    string
	most    int
	options metav1.ListOptions
	list    func(context.Context, metav1.ListOptions) (L, error)
	// begin is called before the first page, and again where the list begins again.
	begin func()
	take  func(L) error
}

// each takes every page. Where a page is too large it asks for smaller ones. Where the rest
// of the list has expired on the way it begins again.
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
	// A server that makes no headway is not followed for ever.
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

// keptCap is how many bytes are kept of all items of a list.
const keptCap = 64 << 20

// kept counts what is kept of the items of a list.
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
