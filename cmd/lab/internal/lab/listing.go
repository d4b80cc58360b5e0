package lab

import "context"

// Listing is to be written.
func (l *Lab) Listing(ctx context.Context, host string) (string, error) { return "", nil }
