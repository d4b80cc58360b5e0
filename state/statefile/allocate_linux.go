package statefile

import (
	"errors"
	"syscall"
)

// fallocKeepSize is FALLOC_FL_KEEP_SIZE: reserve blocks, leave the length.
const fallocKeepSize = 1

func (f diskFile) Allocate(size int64) error {
	for {
		err := syscall.Fallocate(int(f.Fd()), fallocKeepSize, 0, size)
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EOPNOTSUPP), errors.Is(err, syscall.ENOSYS):
			return probe(f.File, size)
		default:
			return err
		}
	}
}
