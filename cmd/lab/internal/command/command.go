// Package command is the lab's command line. Flags are written with one dash or two, as for
// kubewright.
package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"

	"github.com/spf13/cobra"

	"github.com/kubewright/kubewright/cmd/lab/internal/build"
	"github.com/kubewright/kubewright/cmd/lab/internal/lab"
)

// ErrOnHost marks the failure of a command that the user ran on a host, which has printed its own
// error.
var ErrOnHost = errors.New("the command failed on the host")

// Run runs the command line.
func Run(ctx context.Context, args []string) error {
	root := &cobra.Command{
		Use:           "lab",
		Short:         "Real hosts on this machine, for demos, tests and benchmarks of kubewright",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	var s session
	root.PersistentFlags().StringVar(&s.name, "lab", "lab", "name of the lab")
	root.AddCommand(tools(), s.fetch(), s.build(), s.up(), s.down(), s.status(), s.exec(), s.listing(), s.serve(), s.host(), s.kubeadm(), s.kubeconfig(), s.install(), s.artifacts(), s.conformance())
	root.SetArgs(doubleDashes(args))
	return root.ExecuteContext(ctx)
}

// doubleDashes turns -flag into --flag, up to a lone --, after which everything belongs to a
// command on a host.
func doubleDashes(args []string) []string {
	out := slices.Clone(args)
	for i, arg := range out {
		if arg == "--" {
			break
		}
		if len(arg) > 2 && arg[0] == '-' && arg[1] != '-' {
			out[i] = "-" + arg
		}
	}
	return out
}

// session holds the settings that all commands share.
type session struct {
	name string
}

func (s *session) cache(log io.Writer) (*build.Cache, error) {
	c, err := build.DefaultCache()
	if err == nil {
		c.Log = log
	}
	return c, err
}

func (s *session) open() (*lab.Lab, error) {
	cache, err := s.cache(nil)
	if err != nil {
		return nil, err
	}
	return lab.Open(cache, s.name)
}

func (s *session) build() *cobra.Command {
	var only []string
	cmd := s.ofRelease(&cobra.Command{
		Use:   "build",
		Short: "Build what hosts are made of, into the cache",
		Args:  cobra.NoArgs,
	}, func(cmd *cobra.Command, cache *build.Cache, release build.Release, _ []string) error {
		return buildThings(cmd, cache, release, only)
	})
	cmd.Flags().StringSliceVar(&only, "only", nil, "build these programs only, such as kubeadm")
	return cmd
}

func (s *session) fetch() *cobra.Command {
	return &cobra.Command{
		Use:   "fetch VERSION…",
		Short: "Download what these versions of Kubernetes are built of, where it is not built yet",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cache, err := s.cache(cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			for _, version := range args {
				release, err := build.FindRelease(version)
				if err != nil {
					return err
				}
				if err := cache.Fetch(cmd.Context(), release); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func tools() *cobra.Command {
	return &cobra.Command{
		Use:   "tools",
		Short: "Install what the end-to-end tests call on this machine, where it is missing",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return build.InstallTestTools(cmd.Context()) },
	}
}

// buildThings prints the path of each requested program, or of the artifacts.
func buildThings(cmd *cobra.Command, cache *build.Cache, release build.Release, only []string) error {
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	if len(only) > 0 {
		paths, err := cache.Programs(ctx, release, only...)
		for _, name := range only {
			if paths[name] != "" {
				fmt.Fprintln(out, paths[name])
			}
		}
		return err
	}
	if err := build.InstallTools(ctx); err != nil {
		return err
	}
	artifacts, err := cache.Prepare(ctx, release)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, artifacts.Dir)
	return nil
}

func (s *session) up() *cobra.Command {
	o := lab.Options{}
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Bring up a lab: hosts, their network, a balancer",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			self, err := os.Executable()
			if err != nil {
				return err
			}
			o.Name, o.Log = s.name, cmd.ErrOrStderr()
			o.Balancer = []string{self, "balancer", "--lab"}
			l, err := lab.Up(cmd.Context(), o)
			if err != nil {
				return err
			}
			describe(cmd.OutOrStdout(), l)
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Kubernetes, "kubernetes", build.DefaultKubernetes, "version of Kubernetes")
	f.IntVar(&o.ControlPlanes, "control-planes", 3, "number of hosts named cp1, cp2, …")
	f.IntVar(&o.Workers, "workers", 2, "number of hosts named w1, w2, …")
	f.StringVar((*string)(&o.Families), "families", "", "families of addresses: ipv6 or dual-stack (IPv4 first); default IPv4")
	f.BoolVar(&o.Bare, "bare", false, "hosts with nothing but Debian and sshd")
	f.StringSliceVar(&o.MoreImages, "more-images", nil, "versions of Kubernetes whose images the hosts hold too")
	return cmd
}

func (s *session) down() *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "Take a lab down, or what is left of it",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cache, err := s.cache(cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			return lab.Clear(cmd.Context(), cache, s.name)
		},
	}
}

func (s *session) status() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Labs that are up, and how to reach their hosts",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cache, err := s.cache(nil)
			if err != nil {
				return err
			}
			for _, name := range lab.Names(cache) {
				l, err := lab.Open(cache, name)
				if err != nil {
					return err
				}
				if asJSON {
					err = printJSON(cmd.OutOrStdout(), l)
				} else {
					describe(cmd.OutOrStdout(), l)
				}
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one line of JSON per lab")
	return cmd
}

// printJSON prints the information of describe for programs.
func printJSON(w io.Writer, l *lab.Lab) error {
	name, address := l.Endpoint()
	states := map[string]string{}
	for _, h := range l.Hosts() {
		states[h.Name] = l.State(h.Name)
	}
	return json.NewEncoder(w).Encode(map[string]any{
		"name":            l.Name(),
		"kubernetes":      l.Release().Kubernetes,
		"hosts":           l.Hosts(),
		"states":          states,
		"endpoint":        fmt.Sprintf("%s:%d", name, address.Port()),
		"endpointAddress": address,
		"privateKey":      l.PrivateKey(),
		"knownHosts":      l.KnownHosts(),
		"sshConfig":       l.SSHConfig(),
		"artifacts":       l.Artifacts().Dir,
	})
}

// describe prints what a user needs to work with a lab.
func describe(w io.Writer, l *lab.Lab) {
	name, address := l.Endpoint()
	fmt.Fprintf(w, "lab %s (Kubernetes %s)\n", l.Name(), l.Release().Kubernetes)
	for _, h := range l.Hosts() {
		fmt.Fprintf(w, "  %-6s %-15s %-14s pods %-16s %s\n", h.Name, h.Address(), h.Role, h.Pods[0], l.State(h.Name))
	}
	fmt.Fprintf(w, "  endpoint     %s:%d at %s\n", name, address.Port(), address)
	fmt.Fprintf(w, "  private key  %s\n", l.PrivateKey())
	fmt.Fprintf(w, "  known hosts  %s\n", l.KnownHosts())
	fmt.Fprintf(w, "  ssh          ssh -F %s HOST\n", l.SSHConfig())
	fmt.Fprintf(w, "  artifacts    %s\n", l.Artifacts().Dir)
}

func (s *session) exec() *cobra.Command {
	return &cobra.Command{
		Use:   "exec HOST -- COMMAND [ARGUMENT…]",
		Short: "Run a command on a host as root",
		Args:  cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := s.open()
			if err != nil {
				return err
			}
			run, err := l.Command(cmd.Context(), args[0], args[1:]...)
			if err != nil {
				return err
			}
			// In our own process group, so that the command can read from a terminal.
			run.SysProcAttr = nil
			run.Cancel = func() error { return run.Process.Kill() }
			if term := os.Getenv("TERM"); term != "" {
				run.Env = append(run.Env, "TERM="+term)
			}
			run.Stdin, run.Stdout, run.Stderr = os.Stdin, os.Stdout, os.Stderr
			err = run.Run()
			var exit *exec.ExitError
			if errors.As(err, &exit) {
				return fmt.Errorf("%w: %w", ErrOnHost, err)
			}
			return err
		},
	}
}

func (s *session) listing() *cobra.Command {
	var before string
	cmd := &cobra.Command{
		Use:   "listing HOST",
		Short: "What a host is made of, as text to compare",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := s.open()
			if err != nil {
				return err
			}
			text, err := l.Listing(cmd.Context(), args[0])
			if err != nil || before == "" {
				fmt.Fprint(cmd.OutOrStdout(), text)
				return err
			}
			old, err := os.ReadFile(before)
			if err != nil {
				return err
			}
			if diff := lab.DiffListings(string(old), text); diff != "" {
				fmt.Fprint(cmd.OutOrStdout(), diff)
				return fmt.Errorf("host %s is not as %s says", args[0], before)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&before, "compare", "", "print only what differs from this earlier listing, and fail if anything does")
	return cmd
}

func (s *session) serve() *cobra.Command {
	return &cobra.Command{
		Use:   "balancer",
		Short: "Serve a lab's API endpoint until interrupted",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := s.open()
			if err != nil {
				return err
			}
			return l.Serve(cmd.Context())
		},
	}
}

// host groups the faults of a host in a fault test.
func (s *session) host() *cobra.Command {
	parent := &cobra.Command{Use: "host", Short: "Let things happen to a host"}
	for _, action := range []struct {
		name, short string
		do          func(*lab.Lab, context.Context, string) error
	}{
		{"kill", "Cut the power", (*lab.Lab).Kill},
		{"start", "Switch it on again", (*lab.Lab).Start},
		{"restart", "Cut the power and switch it on again", (*lab.Lab).Restart},
		{"pause", "Stop all its processes where they are", (*lab.Lab).Pause},
		{"resume", "Resume its processes", (*lab.Lab).Resume},
		{"disconnect", "Pull its network cable", (*lab.Lab).Disconnect},
		{"connect", "Plug its network cable in", (*lab.Lab).Connect},
	} {
		parent.AddCommand(&cobra.Command{
			Use:   action.name + " HOST",
			Short: action.short,
			Args:  cobra.ExactArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error {
				l, err := s.open()
				if err != nil {
					return err
				}
				return action.do(l, cmd.Context(), args[0])
			},
		})
	}
	return parent
}
