package cli

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/access"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/flagvalue"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/workspace"
	"github.com/kubewright/kubewright/state"
	"github.com/spf13/cobra"
)

func kubeconfigCommand(a *workspace.Workspace) *cobra.Command {
	var o access.Options
	cmd := &cobra.Command{
		Use: "kubeconfig", Short: "Get a kubeconfig: the administrator's, or one for a user", Args: takes(0, 0),
		Long: "kubeconfig writes a kubeconfig with the administrator's certificate, key and CA, which it fetches from a\n" +
			"control plane over SSH; what else stands in the file there is refused. With -user it makes one\n" +
			"for a user instead: the key is made on this machine, and the certificate signed with the cluster's CA.\n" +
			"It goes to stdout, or into a file of its own (-out). With -merge it goes into the file that kubectl uses, or\n" +
			"into that of -out, which keeps what it holds; files are readable by you alone. Nothing of it is kept in\n" +
			"the state, and nothing is changed on any host. What a user may do, RBAC in the cluster says. A\n" +
			"certificate cannot be taken back: it is accepted until it expires.",
		Example: "  kubewright kubeconfig -merge\n" +
			"  kubewright kubeconfig -user=jane -group=developers -validity=8h -out=jane.kubeconfig\n" +
			"  kubectl --kubeconfig <(kubewright kubeconfig) get nodes",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := check(o, cmd); err != nil {
				return console.Misuse(cmd.CommandPath(), err)
			}
			a.QuietStdout = true
			return access.Kubeconfig(cmd.Context(), a, o)
		},
	}
	f := cmd.Flags()
	variableFlags(&o.Options, f)
	f.StringVar(&o.Cluster, "cluster", "", "the cluster's `label`, where there are several")
	f.StringVar(&o.User, "user", "", "make one for this user `name`")
	f.StringArrayVar(&o.Groups, "group", nil, "a `group` of the user's (repeatable)")
	f.DurationVar(&o.Validity, "validity", access.DefaultUserValidity, "how long the user's certificate is accepted")
	f.StringVar(&o.Server, "server", "", "the `URL` of the API (default: the cluster's endpoint)")
	f.StringVar(&o.Context, "context", "", "what to call the context (default USER@CLUSTER)")
	f.Var((*flagvalue.FileName)(&o.Out), "out", "write to this `file`")
	f.BoolVar(&o.Merge, "merge", false, "merge into the file that kubectl uses, or that of -out")
	return cmd
}

// check refuses flags that do not go together.
func check(o access.Options, cmd *cobra.Command) error {
	switch {
	case o.User == "" && len(o.Groups) > 0:
		return errors.New("-group is for the certificate of a user: give -user as well")
	case o.User == "" && cmd.Flags().Changed("validity"):
		return errors.New("-validity is for the certificate of a user: give -user as well")
	case cmd.Flags().Changed("user") && strings.TrimSpace(o.User) == "":
		return errors.New("-user is empty")
	case o.Validity < time.Minute:
		return fmt.Errorf("-validity=%s is too short to be of use", o.Validity)
	case o.Server != "" && !isAPI(o.Server):
		return fmt.Errorf("-server=%s is not the URL of an API server: give it as https://HOST:PORT", state.ShellWord(o.Server))
	}
	return nil
}

// isAPI reports whether a text is a URL at which Kubernetes clients call an API server and send
// it their credentials.
func isAPI(server string) bool {
	u, err := url.Parse(server)
	return err == nil && u.Scheme == "https" && u.Hostname() != "" && u.User == nil && u.RawQuery == "" && u.Fragment == ""
}
