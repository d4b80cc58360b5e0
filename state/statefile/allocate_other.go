//go:build !linux

package statefile

func (f diskFile) Allocate(size int64) error { return probe(f.File, size) }
