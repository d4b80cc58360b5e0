//go:build !race

package attack

// watched reports whether the race detector is built in, which multiplies memory.
const watched = false
