package kubeconfig

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// ReadFile returns the content of a regular file of at most MaxSize bytes. It waits
// for nothing: a pipe or a device is refused without being read.
func ReadFile(name string) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is a folder, a pipe or a device, and no file")
	}
	b, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err == nil && len(b) > MaxSize {
		err = fmt.Errorf("it has more than %d KiB", MaxSize>>10)
	}
	return b, err
}
