package cli

import (
	"context"
	"errors"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner/record"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/statefile"
	"github.com/spf13/cobra"
)

func (a *workspace) stateRecoverCommand() *cobra.Command {
	var o planOptions
	cmd := &cobra.Command{
		Use: "recover", Short: "Make a state file that was lost anew, from what the hosts hold", Args: takes(0, 0),
		Long: "recover is for when the state file is lost and there is no copy. Every host remembers whose it is;\n" +
			"from that, from the configuration and from what is observed it writes a new state file with the\n" +
			"same lineage. Nothing is changed on any host. It refuses when a state file is there, when a host\n" +
			"cannot be looked at, and when hosts belong to different states or to another configuration.\n" +
			"A node that was imported and never changed has no mark: it is recovered where the cluster knows it\n" +
			"and another host of the cluster has one. A control plane whose host was reinstalled, and which etcd\n" +
			"still counts, is recovered as well: the next plan says how it is replaced.",
		Example: "  kubewright state recover\n  kubewright plan",
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.recover(cmd.Context(), o) },
	}
	o.variableFlags(cmd.Flags())
	o.lockFlag(cmd.Flags())
	return cmd
}

func (a *workspace) recover(ctx context.Context, o planOptions) error {
	s, err := a.open(ctx, o, "state recover")
	if err != nil {
		return err
	}
	defer s.close()
	if there := s.present(statefile.Loaded{State: s.recorded}); there != "" {
		return failure(diag.Diagnostics{diag.Errorf("State is there", "%s, and nothing is recovered over it. "+
			"If it is the wrong one, move what there is of %s and %s away first.", there, s.store.Place(), s.store.Journal)})
	}
	st, err := s.recovered(ctx)
	if err != nil {
		return err
	}
	if err := s.store.Write(ctx, st); err != nil {
		return err
	}
	return s.say("Recovered the state with lineage %s: %d nodes, %d items.\nWritten to %s.\n\n"+
		"Run kubewright plan to see what differs from the configuration.\n", st.Lineage, len(st.Nodes), len(st.Items), s.store.Place())
}

// recovered returns the state that hosts and configuration amount to. Nothing is written.
func (s *session) recovered(ctx context.Context) (*state.State, error) {
	v := s.fleet.observe(ctx, s.config, nil)
	v.ObservedAt = s.fleet.world.Clock().Now()
	st, diags := record.Recover(v)
	if err := s.failed(diags); err != nil {
		return nil, err
	}
	st.ToolVersion, st.FingerprintKey = Version, newFingerprintKey()
	v.Recorded, s.recorded = st, st
	v.Key = s.key()
	result, diags := record.Relearn(v, s.header())
	if errs := diags.Errors(); len(errs) > 0 {
		return nil, failure(errs)
	}
	learned := record.Record(v, result)
	out, err := statefile.Fold(st, []state.Entry{{Kind: state.EntryDone, Lineage: st.Lineage, Learned: learned}})
	if err != nil {
		return nil, err
	}
	if out.Lineage == "" {
		return nil, errors.New("internal error: a state without a lineage was recovered")
	}
	out.Outputs = result.Plan.Outputs
	return out, nil
}
