package cli

import (
	"context"
	"errors"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/session"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/workspace"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner/record"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/statefile"
	"github.com/spf13/cobra"
)

func stateRecoverCommand(a *workspace.Workspace) *cobra.Command {
	var o session.Options
	cmd := &cobra.Command{
		Use: "recover", Short: "Rebuild a lost state file from what the hosts hold", Args: takes(0, 0),
		Long: "recover is for when the state file is lost and there is no copy. Every host remembers whose it is;\n" +
			"from that, from the configuration and from what is observed it writes a new state file with the\n" +
			"same lineage. Nothing is changed on any host. It refuses when a state file is there, when a host\n" +
			"cannot be observed, and when hosts belong to different states or to another configuration.\n" +
			"A node that was imported and never changed has no mark: it is recovered where the cluster knows it\n" +
			"and another host of the cluster has one. A control plane whose host was reinstalled, and which etcd\n" +
			"still counts, is recovered as well: the next plan says how it is replaced.",
		Example: "  kubewright state recover\n  kubewright plan",
		RunE:    func(cmd *cobra.Command, _ []string) error { return recoverState(cmd.Context(), a, o) },
	}
	variableFlags(&o, cmd.Flags())
	lockFlag(&o, cmd.Flags())
	return cmd
}

func recoverState(ctx context.Context, a *workspace.Workspace, o session.Options) error {
	s, err := session.Open(ctx, a, o, "state recover")
	if err != nil {
		return err
	}
	defer s.Close()
	if there := s.Present(statefile.Loaded{State: s.Recorded}); there != "" {
		return console.Failure(diag.Diagnostics{diag.Errorf("State is there", "%s, and nothing is recovered over it. "+
			"If it is the wrong one, move what there is of %s and %s away first.", there, s.Store.Place(), s.Store.Journal)})
	}
	st, err := recovered(ctx, s)
	if err != nil {
		return err
	}
	if err := s.Store.Write(ctx, st); err != nil {
		return err
	}
	return s.Printf("Recovered the state with lineage %s: %d nodes, %d items.\nWritten to %s.\n\n"+
		"Run kubewright plan to see what differs from the configuration.\n", st.Lineage, len(st.Nodes), len(st.Items), s.Store.Place())
}

// recovered returns the state derived from hosts and configuration. It writes nothing.
func recovered(ctx context.Context, s *session.Session) (*state.State, error) {
	v := s.Hosts.Observe(ctx, s.Config, nil)
	request := session.ObservedNow(s)
	v = v.WithRequest(request)
	st, diags := record.Recover(v)
	if err := s.Report(diags); err != nil {
		return nil, err
	}
	st.ToolVersion, st.FingerprintKey = console.Version, session.NewFingerprintKey()
	s.Recorded = st
	result, diags := record.Relearn(v.WithState(st, state.Learned{}).WithRequest(request.WithKey(s.Key())), s.Header())
	if errs := diags.Errors(); len(errs) > 0 {
		return nil, console.Failure(errs)
	}
	learned := record.Record(result.Fleet, result)
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
