// Command kubewright builds, changes and removes Kubernetes clusters on hosts
// that are there already: plan shows what would change where, apply does
// exactly that over SSH, destroy gives the hosts back.
package main

import (
	"os"
	_ "time/tzdata" // freezes name time zones, and a container may have none

	"github.com/kubewright/kubewright/cmd/kubewright/internal/cli"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
)

func main() { os.Exit(cli.Main(console.System(os.Args[1:]))) }
