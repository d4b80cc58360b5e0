//go:build unix

package statefile

import (
	"fmt"
	"os"
	"syscall"
)

// identity tells a file from a copy of it; empty when that cannot be told.
func identity(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%d:%d", s.Dev, s.Ino)
}
