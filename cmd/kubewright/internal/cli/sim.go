package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/session"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/workspace"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/hclconfig"
	"github.com/kubewright/kubewright/engine/hosts"
	"github.com/kubewright/kubewright/providers/sim"
	"github.com/kubewright/kubewright/state/statefile"
	"github.com/spf13/cobra"
)

func simCommand(a *workspace.Workspace) *cobra.Command {
	cmd := group(&cobra.Command{
		Use: "sim", Short: "Look into and change simulated hosts",
		Long: "sim works on the simulated hosts of connection { type = \"sim\" }, which live in\n" + workspace.SimFile + " beside the state. With them the whole life of a cluster can be tried, and what happens when\n" +
			"a host is changed by hand, is off or reinstalled, or a connection breaks.",
		Example: "  kubewright sim listing 10.77.0.11\n  kubewright sim edit 10.77.0.21 power off",
	})
	cmd.AddCommand(simEditCommand(a), &cobra.Command{
		Use: "listing HOST", Short: "List everything on a simulated host", Args: takes(1, 1),
		Long: "listing prints all files, units, images and what else a simulated host holds, line by line, so that two\n" +
			"of them can be compared. HOST is the address of the node, or its name.",
		Example: "  kubewright sim listing 10.77.0.11\n  kubewright sim listing 10.77.0.11 > before.txt",
		RunE: func(_ *cobra.Command, args []string) error {
			w, host, err := simHost(a, args[0])
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(a.Stdout, w.Listing(host))
			return err
		},
	})
	return cmd
}

func simEditCommand(a *workspace.Workspace) *cobra.Command {
	cmd := &cobra.Command{
		Use: "edit HOST CHANGE…", Short: "Change something on a simulated host by hand, as on a real one",
		Long: "edit changes something on a simulated host, or in the cluster that it is a node of. HOST is the\naddress of the node, or its name. CHANGE is one of\n\n" + indent(sim.EditHelp),
		Example: "  kubewright sim edit 10.0.0.11 file /etc/kubernetes/manifests/kube-apiserver.yaml set-arg profiling=false\n" +
			"  kubewright sim edit 10.0.0.11 label cp1 pool=batch\n  kubewright sim edit 10.0.0.21 power off",
		Args: takes(2, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			end, err := holdSim(cmd.Context(), a)
			if err != nil {
				return err
			}
			defer end()
			w, host, err := simHost(a, args[0])
			if err != nil {
				return err
			}
			if err := sim.Edit(w, host, strings.Join(args[1:], " ")); err != nil {
				return err
			}
			return w.Save()
		},
	}
	// Arguments after HOST belong to the change, a negative number included.
	cmd.Flags().SetInterspersed(false)
	return cmd
}

// holdSim keeps other runs from the simulated hosts, by the lock of the state beside them,
// until end is called. A run reads all simulated hosts at its beginning and writes all of them
// with each step: an edit in between would be lost. Without a lock file no run has begun here
// yet.
func holdSim(ctx context.Context, a *workspace.Workspace) (end func(), err error) {
	path := a.Paths().Lock
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return func() {}, nil
	}
	lock, err := statefile.Acquire(ctx, path, statefile.LockInfo{Who: a.Who, Operation: "sim edit", ID: a.NewID(), Time: a.Now(), PID: os.Getpid()}, 0)
	var locked *statefile.LockedError
	if errors.As(err, &locked) {
		return nil, console.Failure(diag.Diagnostics{diag.Errorf("Simulated hosts are in use", "%s works on them, and would overwrite what is edited meanwhile. Nothing is changed. "+
			"Edit them when that has ended, or before it begins.", locked.Info)})
	}
	if err != nil {
		return nil, err
	}
	return func() { _ = lock.Return() }, nil
}

// simHost returns the simulated world, and the address of one of its hosts; a node name of the
// configuration is accepted, too. A host that neither the world nor the configuration has is
// refused: the world would make it up, and the edit would have no effect. Without a
// configuration every address is accepted.
func simHost(a *workspace.Workspace, given string) (*sim.World, string, error) {
	opened, err := hosts.OpenSimulated(session.HostOptions(a, nil))
	if err != nil {
		return nil, "", err
	}
	w := opened.World
	cfg, _ := hclconfig.Load(hclconfig.Options{Dir: a.Folder(), Decrypt: a.DecryptFile, Env: a.Environ, ToolVersion: console.Version})
	if cfg == nil || slices.Contains(w.Hosts(), given) {
		return w, given, nil
	}
	var have []string
	for _, n := range cfg.Nodes {
		if n.Connection.Type != "sim" {
			continue
		}
		address := cmp.Or(n.Connection.Host, n.AdvertiseAddress())
		if slices.Contains([]string{address, n.Name, n.Target.String()}, given) {
			return w, address, nil
		}
		if n.Name != "" {
			address += " (" + n.Name + ")"
		}
		have = append(have, address)
	}
	if len(have) == 0 {
		return w, given, nil
	}
	return nil, "", console.Failure(diag.Diagnostics{diag.Errorf("No such simulated host", "%q is none of the hosts of the configuration, which are %s.", given, strings.Join(have, ", "))})
}

func indent(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n  ") }
