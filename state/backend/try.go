package backend

import "context"

// Try is one request of a call to a backend.
type Try struct {
	Method string
	// Number counts the tries from 0; a higher number is a retry.
	Number int
}

type tryKey struct{}

// OnTry returns a context whose requests are reported to a function, for backends that send
// requests themselves.
func OnTry(ctx context.Context, tell func(Try)) context.Context {
	return context.WithValue(ctx, tryKey{}, tell)
}

// Tried reports a request to the function of OnTry, if there is one.
func Tried(ctx context.Context, t Try) {
	if tell, ok := ctx.Value(tryKey{}).(func(Try)); ok {
		tell(t)
	}
}
