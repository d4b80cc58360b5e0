package access

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/session"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/workspace"
	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	clusterpki "github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/pki"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/safefile"
)

// Options are the flags of the command.
type Options struct {
	session.Options
	Cluster, User, Server, Context, Out string
	Groups                              []string
	Validity                            time.Duration
	Merge                               bool
}

// DefaultUserValidity is one working day: a signed certificate cannot be revoked.
const DefaultUserValidity = 8 * time.Hour

// Kubeconfig gets a kubeconfig and prints it or writes it to a file.
func Kubeconfig(ctx context.Context, a *workspace.Workspace, o Options) error {
	if file := kubeconfigFile(a, o); file != "" {
		if err := cmp.Or(workspace.CheckRegular(file, file), workspace.CheckNotOurs(file, file, a.Folder(), a.Paths())); err != nil {
			return err
		}
	}
	s, err := session.Open(ctx, a, o.Options, "")
	if err != nil {
		return err
	}
	defer s.Close()
	c, which := session.ChosenCluster(s.Config, o.Cluster, "with -cluster")
	if which != nil {
		return console.Failure(diag.Diagnostics{which})
	}
	user, got := o.User, fetched{}
	if user == "" {
		user = "kubernetes-admin"
	}
	names := pki.Naming{Cluster: c.Label, User: user + "@" + c.Label, Context: o.Context, Server: o.Server}
	if names.Context == "" {
		names.Context = names.User
	}
	server, _ := clusterpki.AdminServers(s.Config, s.Recorded, c.Label)
	names.Server = cmp.Or(names.Server, server)
	if got, err = fetchKubeconfig(ctx, s, c, o); err == nil {
		got.content, err = pki.Write(got.access, names)
	}
	if err != nil {
		return err
	}
	got.moving = got.moving && o.Server == ""
	a.Print(got.warnings(c, server))
	return deliver(a, got, names, o)
}

// fetched is a kubeconfig with what is known about its credentials.
type fetched struct {
	access  providers.ClientAccess
	content state.Secret
	// from is the control plane that provided it.
	from state.Target
	// until is when its certificate expires, zero if it has none; ended reports whether it has
	// expired.
	until time.Time
	ended bool
	// moving reports whether the endpoint of access is the one of the last apply.
	moving bool
	// passing reports whether its certificate is signed by a CA that a rotation is about to
	// drop.
	passing bool
}

// warnings returns why its certificate is not accepted, or not for long.
func (f fetched) warnings(c *config.Cluster, server string) diag.Diagnostics {
	var diags diag.Diagnostics
	if f.moving {
		diags.Append(diag.Warningf("Endpoint has not moved yet", "The configuration has the API of cluster %q at %s, which is in the kubeconfig, and the control planes were last set up for %s. "+
			"Until kubewright apply has moved it, the API may not answer there, or with a certificate for other names. For the present one give -server=%s.",
			c.Label, server, f.access.Server, f.access.Server).At(c.Source).For(state.ClusterTarget(c.Label)))
	}
	if f.passing {
		diags.Append(diag.Warningf("CA is being rotated", "The CA of cluster %q is on its way to a new one, and this certificate is still of the old one: "+
			"it is accepted only until the rotation drops that CA, whatever expiry it names. When the rotation is complete, run the same command again.", c.Label).At(c.Source).For(state.ClusterTarget(c.Label)))
	}
	if f.ended {
		diags.Append(diag.Warningf("Certificate has expired", "The administrator's certificate, in %s on %s, expired on %s: no API server accepts it any more. "+
			"kubewright plan shows how it is renewed; apply that, and run the same command again.", clusterpki.AdminKubeconfig, f.from, console.PrintedTime(f.until)).At(c.Source).For(state.ClusterTarget(c.Label)))
	}
	return diags
}

// belief says until when it is accepted, if that is known.
func (f fetched) belief() string {
	switch end := console.PrintedTime(f.until); {
	case f.until.IsZero():
		return ""
	case f.ended:
		return ", and was accepted until " + end
	case f.passing:
		return ", and is accepted until the rotation of the CA drops the old one, " + end + " at the latest"
	default:
		return ", and is accepted until " + end
	}
}

// fetchKubeconfig gets a kubeconfig through the first reachable control plane.
func fetchKubeconfig(ctx context.Context, s *session.Session, c *config.Cluster, o Options) (fetched, error) {
	op := planner.WriteKubeconfig{}
	contents := map[string]state.Secret{}
	if o.User != "" {
		var err error
		if op, err = clusterpki.ClientKubeconfig(s.Config, c.Label, o.User, o.Groups, o.Validity); err != nil {
			return fetched{}, err
		}
		for _, r := range planner.References(op) {
			if contents[r.Ref], err = s.Config.Resolve(r.Ref); err != nil {
				return fetched{}, err
			}
		}
	}
	var failed []string
	for _, n := range s.Config.NodesOf(c.Label, config.ControlPlane) {
		got, err := kubeconfigThrough(ctx, s, c, n.Target, op, contents)
		if err == nil || errors.As(err, new(*console.FindingsError)) {
			return got, err
		}
		failed = append(failed, fmt.Sprintf("  %s: %s", n.Target, err))
		if ctx.Err() != nil || errors.Is(err, errOtherCluster) {
			break
		}
	}
	return fetched{}, console.Failure(diag.Diagnostics{diag.Errorf("No kubeconfig", "No control plane of cluster %q could be used to get one:\n\n%s",
		c.Label, strings.Join(failed, "\n"))})
}

var errOtherCluster = errors.New("the host holds another cluster than the state remembers")

// kubeconfigThrough gets a kubeconfig through a control plane, after checking that its CA is
// the cluster's.
func kubeconfigThrough(ctx context.Context, s *session.Session, c *config.Cluster, t state.Target, op planner.WriteKubeconfig, contents map[string]state.Secret) (fetched, error) {
	h, err := s.Hosts.Host(ctx, t)
	if err != nil {
		return fetched{}, err
	}
	ca := clusterpki.CAFile(c)
	shown, r, err := authoritiesOn(ctx, s, c, h)
	if err != nil {
		return fetched{}, err
	}
	certs, known := shown.own, recordedCA(s, c)
	switch {
	case len(certs) == 0:
		return fetched{}, fmt.Errorf("there is no %s: the cluster is not there yet", ca)
	case known != "" && !holds(certs, known):
		return fetched{}, errOtherCluster
	}
	now := s.Hosts.World.Clock().Now()
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
	source := ca // where the credentials come from
	if op.CommonName == "" {
		source = clusterpki.AdminKubeconfig
		got.access, got.moving, err = adminAccess(ctx, s, c, t, h)
	} else {
		if d := outlives(certs[0], ca, op.Validity, now); d != nil {
			return fetched{}, console.Failure(diag.Diagnostics{d})
		}
		got.access, err = s.Hosts.World.Issuer().Kubeconfig(ctx, h, op, contents)
	}
	if err == nil {
		err = trustworthy(ctx, s, c, t, source, shown, got.access.Trusted)
	}
	return got, err
}

// outlives refuses a certificate that would expire after the CA that signs it: it would not be
// accepted until the end that it names. Certificates in the configuration have the same limit.
func outlives(ca state.CertificateInfo, file string, validity time.Duration, now time.Time) *diag.Diagnostic {
	const summary = "Certificate outlives its CA"
	until := console.PrintedTime(ca.NotAfter)
	switch left := ca.NotAfter.Sub(now).Truncate(time.Minute); {
	case left >= validity:
		return nil
	case left < time.Minute:
		return diag.Errorf(summary, "The CA %q (%s) is valid until %s, and it is %s: what it signs is worth nothing. Replace the CA first; kubewright plan says how.",
			ca.CommonName, file, until, console.PrintedTime(now))
	default:
		return diag.Errorf(summary, "The CA %q (%s) is valid until %s, which is sooner than -validity=%s from now, and a certificate is worth nothing after its CA. "+
			"Give -validity=%s at most, or replace the CA first.", ca.CommonName, file, until, validity, left)
	}
}

// holds reports whether the CA is among certificates: during a rotation there are several.
func holds(certs []state.CertificateInfo, ca string) bool {
	return slices.ContainsFunc(certs, func(c state.CertificateInfo) bool { return c.KeyDigest == ca })
}

// maxKubeconfig limits, in bytes, how much is read of a kubeconfig to merge into.
const maxKubeconfig = 16 << 20

// deliver prints a kubeconfig or writes it to a file.
func deliver(a *workspace.Workspace, got fetched, names pki.Naming, o Options) error {
	file, content := kubeconfigFile(a, o), got.content
	if file == "" {
		_, err := a.Stdout.Write(content.Reveal())
		return err
	}
	present, err := safefile.Read(file, maxKubeconfig)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case o.Merge:
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
	return a.Printf("Context %s is in %s%s.\n", names.Context, file, got.belief())
}

// replaceable refuses a file that holds more than the entries to rewrite: another cluster, or
// another user's certificate.
func replaceable(file string, present []byte, names pki.Naming) error {
	clusters, users, err := pki.Named(present)
	what := ""
	switch {
	case err != nil || slices.ContainsFunc(clusters, func(c string) bool { return c != names.Cluster }):
		what = fmt.Sprintf("something else than a kubeconfig for cluster %q", names.Cluster)
	case slices.ContainsFunc(users, func(u string) bool { return u != names.User }):
		what = fmt.Sprintf("that of %s, and not of %s", console.ListOf(users), names.User)
	default:
		return nil
	}
	return fmt.Errorf("cannot write %s: it is there, and holds %s. Give -merge to keep what it holds, or another file", file, what)
}

// writeSecret writes a file that only its owner can read, whatever the mode of the file it
// replaces.
func writeSecret(file string, content state.Secret) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return safefile.WriteFile(file, content.Reveal(), 0o600)
}

// kubeconfigFile returns the file to write; empty for stdout. kubectl's file is the first of
// KUBECONFIG, or ~/.kube/config.
func kubeconfigFile(a *workspace.Workspace, o Options) string {
	file := o.Out
	switch {
	case file == "" && !o.Merge:
		return ""
	case file == "":
		for _, f := range filepath.SplitList(a.Getenv("KUBECONFIG")) {
			if f != "" {
				file = a.FromHere(f)
				break
			}
		}
		if file == "" {
			file = filepath.Join(a.Getenv("HOME"), ".kube", "config")
		}
	}
	return a.Named(file)
}
