// Command kubewright builds, changes and removes Kubernetes clusters on existing hosts: plan
// shows what would change where, apply makes exactly those changes over SSH, and destroy
// resets the hosts.
package main

import (
	"os"
	_ "time/tzdata" // freezes name time zones, and a container image may lack the database

	"github.com/kubewright/kubewright/cmd/kubewright/internal/cli"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
)

func main() { os.Exit(cli.Main(console.System(os.Args[1:]))) }
