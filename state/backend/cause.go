package backend

import (
	"context"
	"errors"
	"fmt"
)

// Cause is err as the cause of an Error: that a call was cancelled, or took too
// long, is seen through whatever a library says of it.
func Cause(ctx context.Context, err error) error {
	if over := ctx.Err(); over != nil && !errors.Is(err, over) {
		return fmt.Errorf("%w: %w", over, err)
	}
	return err
}
