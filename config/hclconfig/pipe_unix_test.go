//go:build unix

package hclconfig_test

import "syscall"

// makePipe makes a named pipe, whose reader would block forever.
func makePipe(name string) error { return syscall.Mkfifo(name, 0o600) }
