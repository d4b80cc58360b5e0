package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/session"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/workspace"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/state/backend"
	"github.com/kubewright/kubewright/state/statefile"
	"github.com/spf13/cobra"
)

func lockCommand(a *workspace.Workspace) *cobra.Command {
	cmd := group(&cobra.Command{
		Use: "lock", Short: "Show the state's lock",
		Long: "lock shows the lock that keeps two runs from changing one state at once. A run that was killed leaves\n" +
			"none that hinders its folder; force-unlock ends one that another user's run left behind.",
		Example: "  kubewright lock status",
	})
	var asJSON bool
	status := &cobra.Command{
		Use: "status", Short: "Show who holds the state's lock", Args: takes(0, 0),
		Long: "status says whether a run holds the state's lock, whose, since when, and when it last showed a sign of\n" +
			"life where the backend keeps such signs. Nothing is changed.",
		Example: "  kubewright lock status\n  kubewright lock status -json | jq .locked",
		RunE:    func(cmd *cobra.Command, _ []string) error { return lockStatus(cmd.Context(), a, asJSON) },
	}
	status.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.AddCommand(status)
	return cmd
}

// lockJSON is what lock status prints for programs.
type lockJSON struct {
	FormatVersion string            `json:"format_version"`
	Place         string            `json:"place"`
	Locked        bool              `json:"locked"`
	Holder        *backend.LockInfo `json:"holder,omitempty"`
	// Silent reports whether the holder has not renewed the lock for a while.
	Silent bool `json:"silent,omitempty"`
}

func lockStatus(ctx context.Context, a *workspace.Workspace, asJSON bool) error {
	store, err := a.StoreAlone()
	if err != nil {
		return err
	}
	holder, err := store.Backend().Holder(ctx)
	if err != nil {
		return err
	}
	status := lockJSON{FormatVersion: ui.JSONVersion, Place: store.Place(), Locked: holder != nil, Holder: holder, Silent: silent(a, holder)}
	if asJSON {
		return ui.WriteJSON(a.Stdout, status)
	}
	text := "The state at " + status.Place + " is not locked.\n"
	if holder != nil {
		text = "The state at " + status.Place + " is locked by " + holderText(a, store, holder) + "\n"
	}
	return a.Printf("%s", text)
}

// silent reports whether a holder that should renew its lock does not.
func silent(a *workspace.Workspace, i *backend.LockInfo) bool {
	return i != nil && !i.Renewed.IsZero() && a.Now().Sub(i.Renewed) > backend.Silent
}

// holderText says who holds a lock and what that means. The holder itself wrote that text, so
// that it gets only one line.
func holderText(a *workspace.Workspace, store *statefile.Store, i *backend.LockInfo) string {
	text := ui.Clean(i.String()) + ".\n"
	switch {
	case i.Certain && store.Local():
		text += "Its process runs, or is stopped: the lock goes with it."
	case i.Certain:
		text += "Its connection is open: the lock goes with it."
	case silent(a, i):
		text += fmt.Sprintf("Its last sign of life was %s ago, at %s: its process is gone, its machine sleeps, or it does not reach the backend.",
			a.Now().Sub(i.Renewed).Round(time.Second), i.Renewed.Format(time.RFC3339))
	case !i.Renewed.IsZero():
		text += "Its last sign of life was at " + i.Renewed.Format(time.RFC3339) + "."
	default:
		text += "This backend keeps no signs of life: ask who that is whether it still runs."
	}
	return text
}

func forceUnlockCommand(a *workspace.Workspace) *cobra.Command {
	var force bool
	o := session.Options{}
	cmd := &cobra.Command{
		Use: "force-unlock ID", Short: "End the state's lock of a run that is gone", Args: takes(1, 1),
		Long: "force-unlock ends the lock of the run with this ID, which lock status and every refusal name. Do it when\n" +
			"that run's process is gone for good. One that still lives finds its lock gone before its next step,\n" +
			"stops, and writes its state into a file beside the journal instead of the place that others use.",
		Example: "  kubewright lock status\n  kubewright force-unlock 3f1c52a09e7b4d68a1c20f9e5b7d6c48",
		RunE: func(cmd *cobra.Command, args []string) error {
			return forceUnlock(cmd.Context(), a, o, args[0], force)
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "do not ask")
	cmd.Flags().BoolVar(&o.Input, "input", true, "ask on a terminal")
	return cmd
}

func forceUnlock(ctx context.Context, a *workspace.Workspace, o session.Options, id string, force bool) error {
	store, err := a.StoreAlone()
	if err != nil {
		return err
	}
	holder, err := store.Backend().Holder(ctx)
	if err != nil {
		return err
	}
	if holder == nil {
		return a.Printf("The state at %s is not locked. Nothing was changed.\n", store.Place())
	}
	if holder.ID != id {
		return console.Failure(diag.Diagnostics{diag.Errorf("Another run holds the lock", "Nothing was changed: run %s does not hold the lock of the state at %s. It is held by %s",
			id, store.Place(), holderText(a, store, holder))})
	}
	if !force {
		question := "The lock of the state at " + store.Place() + " is ended. It is held by " + holderText(a, store, holder) +
			"\nIf that run still works, it stops before its next step, and what it has done is found on the hosts."
		if err := agreed(ctx, a, o, question, "-force"); err != nil {
			return err
		}
	}
	if err := store.ForceUnlock(ctx, id); err != nil {
		return err
	}
	return a.Printf("Ended the lock of run %s. Plan before you apply: that run may have left something half done.\n", id)
}
