// Command lab creates real hosts on this machine, as root, for demos, end-to-end tests and
// benchmarks of kubewright.
//
//	lab tools                  install what the end-to-end tests call, where it is missing
//	lab build                  build what hosts are made of, into the cache
//	lab up                     bring up a lab: hosts, their network, a balancer
//	lab status                 labs that are up, and how to reach their hosts
//	lab exec HOST -- CMD…      run a command on a host
//	lab listing HOST           what a host is made of, as text to compare
//	lab down                   take a lab down; nothing stays
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/kubewright/kubewright/cmd/lab/internal/command"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(status(command.Run(ctx, os.Args[1:])))
}

// status returns the exit code: the code of the command on the host, if that failed.
func status(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit) && errors.Is(err, command.ErrOnHost):
		return exit.ExitCode()
	}
	fmt.Fprintln(os.Stderr, "lab:", err)
	return 1
}
