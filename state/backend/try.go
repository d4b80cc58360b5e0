package backend

import "context"

// Try is one of the requests that a question to a backend takes.
type Try struct {
	Method string
	// Number counts from 0; above that the request is repeated.
	Number int
}

type tryKey struct{}

// OnTry has a function told of each request that is made with the context, as far
// as a backend makes requests of its own.
func OnTry(ctx context.Context, tell func(Try)) context.Context {
	return context.WithValue(ctx, tryKey{}, tell)
}

// Tried tells of a request, if somebody wants to know.
func Tried(ctx context.Context, t Try) {
	if tell, ok := ctx.Value(tryKey{}).(func(Try)); ok {
		tell(t)
	}
}
