//go:build unix

package hclconfig_test

import "syscall"

// makePipe makes a named pipe, whose reader would wait for ever.
func makePipe(name string) error { return syscall.Mkfifo(name, 0o600) }
