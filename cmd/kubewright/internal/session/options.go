package session

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/commandline"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner/pipeline"
	"github.com/kubewright/kubewright/planner/rotation"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
	"github.com/spf13/pflag"
)

// ChangeOptions are the flags that make a plan treat single targets differently than
// configuration and state alone would.
type ChangeOptions struct {
	Excludes []string
	// Replace has addresses of nodes and CAs, Accept and Forget addresses of nodes.
	Replace, Accept, Forget []string
	// RefreshOnly makes a plan that updates only the state.
	RefreshOnly bool
}

// Given reports whether any of the flags is given.
func (o *ChangeOptions) Given() bool {
	return o.RefreshOnly || len(o.Excludes)+len(o.Replace)+len(o.Accept)+len(o.Forget) > 0
}

// ChangeFlags adds the flags of ChangeOptions that refer to targets.
func (o *ChangeOptions) ChangeFlags(f *pflag.FlagSet) {
	f.StringArrayVar(&o.Excludes, "exclude", nil, "leave out this `address`, a node, a phase, or a phase of a node, and what needs it (repeatable)")
	f.StringArrayVar(&o.Replace, commandline.Replace, nil, "take out and join again the node with this `address`, or rotate cluster.NAME/CA, where CA is ca, front-proxy-ca, etcd-ca or service-account (repeatable)")
	f.StringArrayVar(&o.Accept, commandline.AcceptNewHost, nil, "with -replace: the host of the node with this `address` is expected to be another machine, or a reinstalled one (repeatable)")
	f.StringArrayVar(&o.Forget, commandline.ForgetUnreachable, nil, "take the node with this `address`, whose block is gone and whose host is gone for good, out of its cluster through the others (repeatable)")
}

// replaced splits the addresses to replace into nodes and CAs.
func (o *ChangeOptions) replaced() (nodes []string, cas []topology.Rotation) {
	for _, a := range o.Replace {
		if r, ok := rotation.ParseRotation(a); ok {
			cas = append(cas, r)
		} else {
			nodes = append(nodes, a)
		}
	}
	return nodes, cas
}

// DropForgotten keeps in Forget only the nodes that the state still has.
func (s *Session) DropForgotten() {
	s.Opts.Forget = slices.DeleteFunc(slices.Clone(s.Opts.Forget), func(a string) bool {
		t, err := state.ParseTarget(a)
		return err == nil && s.Recorded.Nodes[t] == nil
	})
}

// passOver warns about addresses whose targets an interrupted apply has removed: the user
// repeats the same command, and nothing is left to do for them.
func (s *Session) passOver() diag.Diagnostics {
	var gone []string
	left := func(flag, address string, t state.Target) bool {
		passed := !s.addresses().exists(t) && matchesAny(t, s.departed)
		if passed {
			gone = append(gone, fmt.Sprintf("  -%s=%s", flag, state.ShellWord(address)))
		}
		return passed
	}
	s.Opts.Forget = slices.DeleteFunc(slices.Clone(s.Opts.Forget), func(a string) bool {
		t, err := state.ParseTarget(a)
		return err == nil && left(commandline.ForgetUnreachable, a, t)
	})
	for flag, addresses := range map[string][]string{"target": s.Opts.Targets, "exclude": s.Opts.Excludes} { // only one of them is given
		for _, a := range addresses {
			if of, err := pipeline.Selectors(a); err == nil {
				left(flag, a, of[0].Target)
			}
		}
	}
	if len(gone) == 0 {
		return nil
	}
	return diag.Diagnostics{diag.Warningf("Target was removed already", "The last apply was interrupted, and these targets were removed by it or by an earlier one. They are ignored:\n\n%s", strings.Join(gone, "\n"))}
}

// request returns what the flags ask for, at the time of the observation.
func (s *Session) request() (topology.Request, error) {
	var diags diag.Diagnostics
	nodes, cas := s.Opts.replaced()
	r := topology.Request{
		Destroy: s.Opts.Destroy, AllowUnreachable: s.Opts.AllowUnreachable, AllowOlderState: s.Opts.AllowOlderState, RefreshOnly: s.Opts.RefreshOnly,
		Replace: s.addresses().nodes(commandline.Replace, nodes, &diags), Rotate: cas,
		AcceptNewHost:     s.addresses().nodes(commandline.AcceptNewHost, s.Opts.Accept, &diags),
		ForgetUnreachable: s.addresses().nodes(commandline.ForgetUnreachable, s.Opts.Forget, &diags),
		Moved:             s.Moved, ObservedAt: s.Hosts.World.Clock().Now(), Key: s.Key(),
	}
	return r, s.Report(diags)
}

// fits refuses flags that exclude each other.
func (o Options) fits() error {
	switch {
	case o.RefreshOnly && o.Destroy:
		return fmt.Errorf("-refresh-only changes no host, and -destroy takes all of them apart: give one of them")
	case o.RefreshOnly && len(o.Replace)+len(o.Forget)+len(o.Accept) > 0:
		return fmt.Errorf("-refresh-only changes no host: give it without -%s, -%s and -%s", commandline.Replace, commandline.AcceptNewHost, commandline.ForgetUnreachable)
	case o.Destroy && len(o.Replace)+len(o.Forget)+len(o.Accept) > 0:
		return fmt.Errorf("-%s, -%s and -%s are about single nodes and CAs of clusters that live on, and a destroy takes all of them apart. "+
			"To take out one node, remove its block or its key; to leave out hosts that do not answer, give -%s",
			commandline.Replace, commandline.AcceptNewHost, commandline.ForgetUnreachable, commandline.AllowUnreachable)
	case o.Destroy && o.BeforeLoad != nil:
		return fmt.Errorf("-destroy takes everything apart, and -%s describes what is to stay: give one of them", GenerateFlag)
	case len(o.Targets) > 0 && len(o.Excludes) > 0:
		return fmt.Errorf("-target says what to plan and -exclude what not: give one of them")
	}
	return nil
}

// GenerateFlag makes plan write the blocks of clusters that import blocks refer to.
const GenerateFlag = "generate-config-out"
