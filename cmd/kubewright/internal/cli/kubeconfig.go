package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	clusterpki "github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/pki"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/safefile"
	"github.com/spf13/cobra"
)

// kubeconfigOptions are the flags of the command.
type kubeconfigOptions struct {
	planOptions
	cluster, user, server, context, out string
	groups                              []string
	validity                            time.Duration
	merge                               bool
}

// defaultUserValidity is a working day: what was signed cannot be taken back.
const defaultUserValidity = 8 * time.Hour

func (a *workspace) kubeconfigCommand() *cobra.Command {
	var o kubeconfigOptions
	cmd := &cobra.Command{
		Use: "kubeconfig", Short: "Get a kubeconfig: the administrator's, or one for a user", Args: takes(0, 0),
		Long: "kubeconfig writes a kubeconfig with the administrator's certificate, key and CA, which it fetches from a\n" +
			"control plane over SSH; what else stands in the file there is refused. With -user it makes one\n" +
			"for a user instead: the key is made on this machine, and the certificate signed with the cluster's CA.\n" +
			"It goes to stdout, or into a file of its own (-out). With -merge it goes into the file that kubectl uses, or\n" +
			"into that of -out, which keeps what it holds; files are readable by you alone. Nothing of it is kept in\n" +
			"the state, and nothing is changed on any host. What a user may do, RBAC in the cluster says. A\n" +
			"certificate cannot be taken back: it is believed until it ends.",
		Example: "  kubewright kubeconfig -merge\n" +
			"  kubewright kubeconfig -user=jane -group=developers -validity=8h -out=jane.kubeconfig\n" +
			"  kubectl --kubeconfig <(kubewright kubeconfig) get nodes",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(cmd); err != nil {
				return misuse(cmd.CommandPath(), err)
			}
			a.quietStdout = true
			return a.kubeconfig(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	o.variableFlags(f)
	f.StringVar(&o.cluster, "cluster", "", "the cluster's `label`, where there are several")
	f.StringVar(&o.user, "user", "", "make one for this user `name`")
	f.StringArrayVar(&o.groups, "group", nil, "a `group` of the user's (repeatable)")
	f.DurationVar(&o.validity, "validity", defaultUserValidity, "how long the user's certificate is believed")
	f.StringVar(&o.server, "server", "", "the `URL` of the API (default: the cluster's endpoint)")
	f.StringVar(&o.context, "context", "", "what to call the context (default USER@CLUSTER)")
	f.Var((*fileName)(&o.out), "out", "write to this `file`")
	f.BoolVar(&o.merge, "merge", false, "merge into the file that kubectl uses, or that of -out")
	return cmd
}

// check finds flags that do not fit one another.
func (o kubeconfigOptions) check(cmd *cobra.Command) error {
	switch {
	case o.user == "" && len(o.groups) > 0:
		return errors.New("-group is for the certificate of a user: give -user as well")
	case o.user == "" && cmd.Flags().Changed("validity"):
		return errors.New("-validity is for the certificate of a user: give -user as well")
	case cmd.Flags().Changed("user") && strings.TrimSpace(o.user) == "":
		return errors.New("-user is empty")
	case o.validity < time.Minute:
		return fmt.Errorf("-validity=%s is too short to be of use", o.validity)
	case o.server != "" && !isAPI(o.server):
		return fmt.Errorf("-server=%s is not the URL of an API server: give it as https://HOST:PORT", state.ShellWord(o.server))
	}
	return nil
}

// isAPI reports whether a text is a URL by which clients of Kubernetes call an API server and
// send it what they prove themselves with.
func isAPI(server string) bool {
	u, err := url.Parse(server)
	return err == nil && u.Scheme == "https" && u.Hostname() != "" && u.User == nil && u.RawQuery == "" && u.Fragment == ""
}

func (a *workspace) kubeconfig(ctx context.Context, o kubeconfigOptions) error {
	if file := a.kubeconfigFile(o); file != "" {
		if err := cmp.Or(regular(file, file), spared(file, file, a.folder(), a.paths())); err != nil {
			return err
		}
	}
	s, err := a.open(ctx, o.planOptions, "")
	if err != nil {
		return err
	}
	defer s.close()
	c, which := chosenCluster(s.config, o.cluster, "with -cluster")
	if which != nil {
		return failure(diag.Diagnostics{which})
	}
	user, got := o.user, fetched{}
	if user == "" {
		user = "kubernetes-admin"
	}
	names := pki.Naming{Cluster: c.Label, User: user + "@" + c.Label, Context: o.context, Server: o.server}
	if names.Context == "" {
		names.Context = names.User
	}
	server, _ := clusterpki.AdminServers(s.config, s.recorded, c.Label)
	names.Server = cmp.Or(names.Server, server)
	if got, err = s.fetchKubeconfig(ctx, c, o); err == nil {
		got.content, err = pki.Write(got.access, names)
	}
	if err != nil {
		return err
	}
	got.moving = got.moving && o.server == ""
	a.print(got.warnings(c, server))
	return a.deliver(got, names, o)
}

// fetched is a kubeconfig.
type fetched struct {
	access  providers.ClientAccess
	content state.Secret
	// from is the control plane through which it was got.
	from state.Target
	// until is when its certificate ends, zero where it names none, and ended that it is over.
	until time.Time
	ended bool
	// moving reports that the endpoint of access is the one of the last apply.
	moving bool
	// passing reports whether its certificate is of a CA that a rotation is about to drop.
	passing bool
}

// warnings returns why nobody will believe it, or not for long.
func (f fetched) warnings(c *config.Cluster, server string) diag.Diagnostics {
	var diags diag.Diagnostics
	if f.moving {
		diags.Append(diag.Warningf("Endpoint has not moved yet", "The configuration has the API of cluster %q at %s, which is in the kubeconfig, and the control planes were last set up for %s. "+
			"Until kubewright apply has moved it, the API may not answer there, or with a certificate for other names. For the present one give -server=%s.",
			c.Label, server, f.access.Server, f.access.Server).At(c.Source).For(state.ClusterTarget(c.Label)))
	}
	if f.passing {
		diags.Append(diag.Warningf("CA is being rotated", "The CA of cluster %q is on its way to a new one, and this certificate is still of the old one: "+
			"it is believed only until the rotation drops that, whatever end it names. When the rotation is complete, run the same command again.", c.Label).At(c.Source).For(state.ClusterTarget(c.Label)))
	}
	if f.ended {
		diags.Append(diag.Warningf("Certificate has ended", "The administrator's certificate, in %s on %s, ended on %s: no API server believes it any more. "+
			"kubewright plan shows how it is renewed; apply that, and run the same command again.", clusterpki.AdminKubeconfig, f.from, printedTime(f.until)).At(c.Source).For(state.ClusterTarget(c.Label)))
	}
	return diags
}

// belief says until when it is believed, where that is known.
func (f fetched) belief() string {
	switch end := printedTime(f.until); {
	case f.until.IsZero():
		return ""
	case f.ended:
		return ", and was believed until " + end
	case f.passing:
		return ", and is believed until the rotation of the CA drops the old one, " + end + " at the latest"
	default:
		return ", and is believed until " + end
	}
}

func printedTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 MST") }

// chosenCluster returns the cluster of that label, or the only one; how tells how a command
// takes a label.
func chosenCluster(cfg *config.Config, label, how string) (*config.Cluster, *diag.Diagnostic) {
	var labels []string
	for _, c := range cfg.Clusters {
		labels = append(labels, c.Label)
	}
	switch c := cfg.Cluster(label); {
	case c != nil:
		return c, nil
	case len(labels) == 0:
		return nil, diag.Errorf("No cluster", "The configuration has no cluster block.")
	case label != "":
		return nil, diag.Errorf("Unknown cluster", "The configuration has no cluster %q.%s It has %s.", label, didYouMean("", label, labels), listed(labels))
	case len(labels) == 1:
		return cfg.Clusters[0], nil
	}
	return nil, diag.Errorf("Which cluster?", "The configuration has %d clusters: %s. Name one %s.", len(labels), listed(labels), how)
}

// fetchKubeconfig gets a kubeconfig through the first control plane that can be reached.
func (s *session) fetchKubeconfig(ctx context.Context, c *config.Cluster, o kubeconfigOptions) (fetched, error) {
	op := planner.WriteKubeconfig{}
	contents := map[string]state.Secret{}
	if o.user != "" {
		var err error
		if op, err = clusterpki.ClientKubeconfig(s.config, c.Label, o.user, o.groups, o.validity); err != nil {
			return fetched{}, err
		}
		for _, r := range planner.References(op) {
			if contents[r.Ref], err = s.config.Resolve(r.Ref); err != nil {
				return fetched{}, err
			}
		}
	}
	var failed []string
	for _, n := range s.config.NodesOf(c.Label, config.ControlPlane) {
		got, err := s.kubeconfigThrough(ctx, c, n.Target, op, contents)
		if err == nil || errors.As(err, new(*diagError)) {
			return got, err
		}
		failed = append(failed, fmt.Sprintf("  %s: %s", n.Target, err))
		if ctx.Err() != nil || errors.Is(err, errOtherCluster) {
			break
		}
	}
	return fetched{}, failure(diag.Diagnostics{diag.Errorf("No kubeconfig", "No control plane of cluster %q could be used to get one:\n\n%s",
		c.Label, strings.Join(failed, "\n"))})
}

var errOtherCluster = errors.New("the host holds another cluster than the state remembers")

// kubeconfigThrough gets a kubeconfig through a control plane, after a look at
// whose CA that has.
func (s *session) kubeconfigThrough(ctx context.Context, c *config.Cluster, t state.Target, op planner.WriteKubeconfig, contents map[string]state.Secret) (fetched, error) {
	h, err := s.fleet.Host(ctx, t)
	if err != nil {
		return fetched{}, err
	}
	ca := clusterpki.CAFile(c)
	shown, r, err := s.authoritiesOn(ctx, c, h)
	if err != nil {
		return fetched{}, err
	}
	certs, known := shown.own, s.recordedCA(c)
	switch {
	case len(certs) == 0:
		return fetched{}, fmt.Errorf("there is no %s: the cluster is not there yet", ca)
	case known != "" && !holds(certs, known):
		return fetched{}, errOtherCluster
	}
	now := s.fleet.world.Clock().Now()
	signer, got := certs[0].KeyDigest, fetched{from: t}
	switch k := r.Files[clusterpki.AdminKubeconfig].Kubeconfig; {
	case op.CommonName != "":
		got.until = now.Add(op.Validity)
	case k != nil && k.Client != nil:
		signer, got.until, got.ended = k.Client.IssuerKeyDigest, k.Client.NotAfter, !now.Before(k.Client.NotAfter)
	}
	if successor := shown.next; len(successor) > 0 {
		got.passing = signer != successor[0].KeyDigest && holds(certs, successor[0].KeyDigest)
	}
	source := ca // what the credentials are from
	if op.CommonName == "" {
		source = clusterpki.AdminKubeconfig
		got.access, got.moving, err = s.adminAccess(ctx, c, t, h)
	} else {
		if d := outlives(certs[0], ca, op.Validity, now); d != nil {
			return fetched{}, failure(diag.Diagnostics{d})
		}
		got.access, err = s.fleet.world.Issuer().Kubeconfig(ctx, h, op, contents)
	}
	if err == nil {
		err = s.trustworthy(ctx, c, t, source, shown, got.access.Trusted)
	}
	return got, err
}

// outlives refuses a certificate that would end after the CA that signs it, as the
// configuration's own may not: nobody would believe it to the end that it names.
func outlives(ca state.CertificateInfo, file string, validity time.Duration, now time.Time) *diag.Diagnostic {
	const summary = "Certificate outlives its CA"
	until := printedTime(ca.NotAfter)
	switch left := ca.NotAfter.Sub(now).Truncate(time.Minute); {
	case left >= validity:
		return nil
	case left < time.Minute:
		return diag.Errorf(summary, "The CA %q (%s) is valid until %s, and it is %s: what it signs is worth nothing. Replace the CA first; kubewright plan says how.",
			ca.CommonName, file, until, printedTime(now))
	default:
		return diag.Errorf(summary, "The CA %q (%s) is valid until %s, which is sooner than -validity=%s from now, and a certificate is worth nothing after its CA. "+
			"Give -validity=%s at most, or replace the CA first.", ca.CommonName, file, until, validity, left)
	}
}

// holds reports whether the CA is among certificates: while it is rotated it is not alone.
func holds(certs []state.CertificateInfo, ca string) bool {
	return slices.ContainsFunc(certs, func(c state.CertificateInfo) bool { return c.KeyDigest == ca })
}

// maxKubeconfig bounds in bytes what is read of a kubeconfig to merge into.
const maxKubeconfig = 16 << 20

// deliver prints a kubeconfig, or puts it into a file.
func (a *workspace) deliver(got fetched, names pki.Naming, o kubeconfigOptions) error {
	file, content := a.kubeconfigFile(o), got.content
	if file == "" {
		_, err := a.Stdout.Write(content.Reveal())
		return err
	}
	present, err := safefile.Read(file, maxKubeconfig)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case o.merge:
		if content, err = pki.Merge(present, content.Reveal()); err != nil {
			return fmt.Errorf("cannot merge into %s, which stays as it is: %w", file, err)
		}
	default:
		if err := replaceable(file, present, names); err != nil {
			return err
		}
	}
	if err := writeSecret(file, content); err != nil {
		return fmt.Errorf("cannot write %s: %w", file, err)
	}
	return a.say("Context %s is in %s%s.\n", names.Context, file, got.belief())
}

// replaceable refuses a file that holds more than what is to be rewritten: another
// cluster, or the certificate of another user.
func replaceable(file string, present []byte, names pki.Naming) error {
	clusters, users, err := pki.Named(present)
	what := ""
	switch {
	case err != nil || slices.ContainsFunc(clusters, func(c string) bool { return c != names.Cluster }):
		what = fmt.Sprintf("something else than a kubeconfig for cluster %q", names.Cluster)
	case slices.ContainsFunc(users, func(u string) bool { return u != names.User }):
		what = fmt.Sprintf("that of %s, and not of %s", listed(users), names.User)
	default:
		return nil
	}
	return fmt.Errorf("cannot write %s: it is there, and holds %s. Give -merge to keep what it holds, or another file", file, what)
}

// writeSecret puts a file in place that its owner alone can read, whoever could
// read the one that was there.
func writeSecret(file string, content state.Secret) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return safefile.WriteFile(file, content.Reveal(), 0o600)
}

// kubeconfigFile returns the file to write; empty for none. That of
// kubectl is the first of KUBECONFIG, or ~/.kube/config.
func (a *workspace) kubeconfigFile(o kubeconfigOptions) string {
	file := o.out
	switch {
	case file == "" && !o.merge:
		return ""
	case file == "":
		for _, f := range filepath.SplitList(a.Getenv("KUBECONFIG")) {
			if f != "" {
				file = a.fromHere(f)
				break
			}
		}
		if file == "" {
			file = filepath.Join(a.Getenv("HOME"), ".kube", "config")
		}
	}
	return a.named(file)
}
