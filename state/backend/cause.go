package backend

import (
	"context"
	"errors"
	"fmt"
)

// Cause returns err as the cause of an Error. It makes sure that a cancellation or a timeout of
// the context stays visible to errors.Is, whatever error the library returned.
func Cause(ctx context.Context, err error) error {
	if over := ctx.Err(); over != nil && !errors.Is(err, over) {
		return fmt.Errorf("%w: %w", over, err)
	}
	return err
}
