package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/planview"
	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/hclconfig"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/pipeline"
	"github.com/kubewright/kubewright/planner/record"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/safefile"
	"github.com/kubewright/kubewright/state/statefile"
	"github.com/spf13/cobra"
)

// importOptions are the flags of import.
type importOptions struct {
	planOptions
	label, out string
	// How hosts are reached, as in a connection block.
	keys, knownHosts, bastions []string
	sshConfig                  string
	acceptNew                  bool
}

func (a *app) importCommand() *cobra.Command {
	var o importOptions
	cmd := &cobra.Command{
		Use: "import ssh://[USER@]HOST[:PORT]", Short: "Write the configuration and the state of a cluster that kubeadm made", Args: takes(1, 1),
		Long: "import reads a running cluster through one of its control planes, and from there every other node\n" +
			"over SSH with the same user and keys. It writes the configuration as a person would have written it,\n" +
			"and a state, so that the next plan has nothing to do. What it cannot say is shown as the plan\n" +
			"that would change it. Nothing is changed on any host, and nothing here is written over.",
		Example: "  kubewright import ssh://root@10.0.0.11\n  kubewright import -cluster=prod -private-key=~/.ssh/prod ssh://ubuntu@cp1.example.com",
		RunE:    func(cmd *cobra.Command, args []string) error { return a.importCluster(cmd.Context(), args[0], o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.label, "cluster", "", "the `name` of the cluster block (default the cluster's own name)")
	f.StringVar(&o.out, "out", "cluster.hcl", "write the configuration to this `file`")
	f.StringArrayVar(&o.keys, "private-key", nil, "log in with the key in this `file` (repeatable)")
	f.StringArrayVar(&o.knownHosts, "known-hosts", nil, "know hosts by this `file` (repeatable)")
	f.StringArrayVar(&o.bastions, "bastion", nil, "pass this `[USER@]HOST[:PORT]` on the way (repeatable)")
	f.StringVar(&o.sshConfig, "ssh-config", "", "read this OpenSSH configuration `file`; none reads none")
	f.BoolVar(&o.acceptNew, "accept-new-host-keys", false, "accept the keys of hosts that were never seen")
	f.BoolVar(&o.input, "input", true, "ask for passphrases on a terminal")
	o.lockFlag(f)
	return cmd
}

// connection returns how the host of the command line is reached.
func (o importOptions) connection(id string) (config.Connection, error) {
	c, err := hop(id)
	if err != nil {
		return c, err
	}
	c.PrivateKeys, c.KnownHosts, c.SSHConfig, c.AcceptNewHostKey = o.keys, o.knownHosts, o.sshConfig, o.acceptNew
	for _, b := range o.bastions {
		via, err := hop("ssh://" + b)
		if err != nil {
			return c, err
		}
		via.AcceptNewHostKey = o.acceptNew
		c.Bastions = append(c.Bastions, via)
	}
	return c, nil
}

// fromFolder has files of the command line as the configuration names them: from its
// folder.
func (a *app) fromFolder(o *importOptions) {
	named := func(file string) string {
		if file == "" || filepath.IsAbs(file) || strings.HasPrefix(file, "~/") {
			return file
		}
		from, err := filepath.Rel(a.folder(), a.named(file))
		if err != nil {
			return a.named(file)
		}
		return from
	}
	for _, files := range [][]string{o.keys, o.knownHosts} {
		for i := range files {
			files[i] = named(files[i])
		}
	}
	if o.sshConfig != noSSHConfig {
		o.sshConfig = named(o.sshConfig)
	}
}

// hop reads ssh://USER@HOST:PORT.
func hop(id string) (config.Connection, error) {
	shown := id
	if i := strings.LastIndex(id, "@"); i >= 0 && strings.Contains(strings.TrimPrefix(id[:i], "ssh://"), ":") {
		shown = "…" + id[i:] // what stands before it may be a password
	}
	u, err := url.Parse(id)
	if err != nil || u.Hostname() == "" || u.Scheme != "ssh" && u.Scheme != "sim" || strings.Trim(u.Path, "/")+u.RawQuery+u.Fragment != "" {
		return config.Connection{}, fmt.Errorf("%q is no host: write ssh://USER@HOST, or ssh://USER@HOST:PORT", shown)
	}
	if _, given := u.User.Password(); given {
		return config.Connection{}, errors.New("a password does not belong onto the command line: others see it there. Use a key")
	}
	c := config.Connection{Type: u.Scheme, Host: u.Hostname(), User: u.User.Username(), Agent: true}
	c.Port, _ = strconv.Atoi(u.Port())
	return c, nil
}

// importCluster reads a cluster and writes configuration and state.
func (a *app) importCluster(ctx context.Context, id string, o importOptions) error {
	a.fromFolder(&o)
	connection, err := o.connection(id)
	if err != nil {
		return &usageError{"kubewright import", err}
	}
	s := &session{app: a, opts: o.planOptions, store: statefile.NewStore(a.paths(), nil)}
	defer s.close()
	file := filepath.Join(a.folder(), filepath.Base(o.out))
	if err := s.vacant(ctx, file, o.out); err != nil {
		return err
	}
	if err := s.hold(ctx, "import"); err != nil {
		return err
	}
	d := discovery{session: s, options: o, first: connection}
	found, err := d.cluster(ctx)
	if err != nil {
		return err
	}
	text := slices.Concat([]byte("# Written by kubewright import, of a cluster that was there. It is yours to change.\n\n"), hclconfig.Write(found))
	if err := s.take(filepath.Base(file), text); err != nil {
		return err
	}
	st, err := s.adopted(ctx)
	if err != nil {
		return err
	}
	if err := s.keep(ctx, file, text, st); err != nil {
		return err
	}
	if err := s.imported(id, filepath.Base(file), st); err != nil {
		return err
	}
	return planview.Imported(a.Stdout, d.unsaid, s.options())
}

// vacant refuses a folder in which there is a configuration or a state already.
func (s *session) vacant(ctx context.Context, file, out string) error {
	const summary = "Folder is taken"
	if filepath.Ext(file) != ".hcl" || filepath.Base(out) != out {
		return &usageError{"kubewright import", fmt.Errorf("-out=%s: the configuration is a file *.hcl in the configuration folder", out)}
	}
	loaded, err := s.store.Load(ctx)
	if err != nil {
		return err
	}
	if there := s.present(loaded); there != "" {
		return &diagError{diag.Diagnostics{diag.Errorf(summary, "%s, and nothing is imported over it. "+
			"Import in a folder of its own.", there)}}
	}
	for _, pattern := range []string{"*.hcl", "*.hcl.json"} {
		names, _ := filepath.Glob(filepath.Join(s.folder(), pattern))
		if len(names) > 0 {
			return &diagError{diag.Diagnostics{diag.Errorf(summary, "%s is there already, and nothing is written over or beside it. "+
				"Import in a folder of its own.", filepath.Base(names[0]))}}
		}
	}
	return nil
}

// take loads the configuration that was written, as every later command will.
func (s *session) take(name string, text []byte) error {
	dir, err := os.MkdirTemp("", "kubewright-import-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := safefile.Overwrite(filepath.Join(dir, name), text); err != nil {
		return err
	}
	cfg, diags := hclconfig.Load(hclconfig.Options{Dir: dir, ToolVersion: Version})
	s.sources = func(string) []byte { return text }
	if !diags.HasErrors() {
		diags = append(diags, pipeline.Check(cfg)...)
	}
	if diags.HasErrors() {
		diags = undescribed(diags, s.sources)
	}
	if err := s.failed(diags); err != nil {
		return err
	}
	s.config = cfg
	s.hide(cfg.Secrets)
	return nil
}

// undescribed are errors about the configuration of a cluster that runs.
func undescribed(diags diag.Diagnostics, sources func(string) []byte) diag.Diagnostics {
	diags = unwritten(diags, sources)
	diags.Append(diag.Errorf("Cluster cannot be described", "The cluster runs with what kubewright would not accept, as said above. Nothing was written. "+
		"Put it right in the cluster first: kubeadm init phase upload-config and kubeadm upgrade node write it down."))
	return diags
}

// refused is failed for a configuration that is not written when there are errors.
func (s *session) refused(diags diag.Diagnostics) error {
	if diags.HasErrors() {
		diags = unwritten(diags, s.sources)
	}
	return s.failed(diags)
}

// unwritten are findings about a configuration that is in no file: each shows the
// text that would have been written, and the hosts with the same finding share one.
func unwritten(diags diag.Diagnostics, sources func(string) []byte) diag.Diagnostics {
	var out diag.Diagnostics
	first, hosts := map[string]*diag.Diagnostic{}, map[*diag.Diagnostic][]string{}
	for _, d := range diags {
		d.Snippet = d.Excerpt(sources)
		d.Subject, d.Context, d.Values = state.Source{}, state.Source{}, nil
		about := d.Address
		same := d.Summary + "\n" + d.Detail
		if about != "" {
			same = strings.ReplaceAll(same, about, "")
		}
		if d.Snippet != nil && d.Snippet.HighlightEnd <= len(d.Snippet.Code) && d.Snippet.HighlightStart <= d.Snippet.HighlightEnd {
			same += "\n" + d.Snippet.Code[d.Snippet.HighlightStart:d.Snippet.HighlightEnd]
		}
		kept := first[same]
		if kept == nil {
			first[same], kept = d, d
			out.Append(d)
		}
		if about != "" && !slices.Contains(hosts[kept], about) {
			hosts[kept] = append(hosts[kept], about)
		}
	}
	for _, d := range out {
		if len(hosts[d]) > 1 {
			d.Address = strings.Join(hosts[d], ", ")
		}
	}
	return out
}

// adopted returns the state of the cluster, and leaves the next plan in the session.
func (s *session) adopted(ctx context.Context) (*state.State, error) {
	var err error
	if s.fleet, err = s.openFleet(s.config, nil, s.passphrase(ctx, s.opts)); err != nil {
		return nil, err
	}
	v := s.look(ctx)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	v.ObservedAt = s.fleet.world.clock().Now()
	learned, diags := record.Adopt(v, []string{s.config.Clusters[0].Label})
	if err := s.refused(diags); err != nil {
		return nil, err
	}
	if v.Recorded, err = statefile.Fold(s.ensureState(), []state.Entry{{Kind: state.EntryDone, Learned: learned}}); err != nil {
		return nil, err
	}
	v.Key, s.recorded = s.key(), v.Recorded
	result, diags := pipeline.Plan(v, s.header(), planner.Options{})
	if err := s.refused(diags); err != nil {
		return nil, err
	}
	s.view, s.result = v, result
	return statefile.Fold(v.Recorded, []state.Entry{{Kind: state.EntryDone, Learned: record.Record(v, result)}})
}

// keep writes the configuration, and then the state that belongs to it.
func (s *session) keep(ctx context.Context, file string, text []byte, st *state.State) error {
	f, err := safefile.Create(file, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s has appeared meanwhile, and is not written over", filepath.Base(file))
	}
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = s.store.Write(ctx, st)
	}
	if err != nil {
		_ = os.Remove(file)
	}
	return err
}

// imported says what was read and written, and what the next plan is.
func (s *session) imported(id, file string, st *state.State) error {
	c := s.config.Clusters[0]
	planes, workers := len(s.config.NodesOf(c.Label, config.ControlPlane)), len(s.config.NodesOf(c.Label, config.Worker))
	if !s.result.Plan.Empty() {
		if err := s.show(); err != nil {
			return err
		}
	}
	err := s.say("Imported cluster %q through %s:\nKubernetes %s, %s and %s.\n\nWritten %s, and the state with %d items. Nothing was changed on any host.\n\n",
		c.Label, id, c.KubernetesVersion, count(planes, "control plane"), count(workers, "worker"), file, len(st.Items))
	if err != nil {
		return err
	}
	next := "The next plan has no changes. Read " + file + ", and keep both files where you keep such things."
	if !s.result.Plan.Empty() {
		next = "The plan above is what kubewright apply would change: the cluster is not in all as\n" +
			"its own configuration says, or the language cannot say it. Read it before you apply;\n" +
			"what is to stay as it is goes into " + file + "."
	}
	return s.say("%s\n", next)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
