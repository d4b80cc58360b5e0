package adoption

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

	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/session"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/planview"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/workspace"
	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/hclconfig"
	"github.com/kubewright/kubewright/config/hclwriter"
	"github.com/kubewright/kubewright/engine/hosts"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/pipeline"
	"github.com/kubewright/kubewright/planner/record"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/safefile"
	"github.com/kubewright/kubewright/state/statefile"
)

// Options are the flags of import.
type Options struct {
	session.Options
	Label, Out string
	// Keys, KnownHosts, Bastions and the fields below say how to reach hosts, as in a
	// connection block.
	Keys, KnownHosts, Bastions []string
	SshConfig                  string
	AcceptNew                  bool
}

// connection returns how to reach the host of the command line.
func (o Options) connection(id string) (config.Connection, error) {
	c, err := hop(id)
	if err != nil {
		return c, err
	}
	c.PrivateKeys, c.KnownHosts, c.SSHConfig, c.AcceptNewHostKey = o.Keys, o.KnownHosts, o.SshConfig, o.AcceptNew
	for _, b := range o.Bastions {
		via, err := hop("ssh://" + b)
		if err != nil {
			return c, err
		}
		via.AcceptNewHostKey = o.AcceptNew
		c.Bastions = append(c.Bastions, via)
	}
	return c, nil
}

// fromFolder makes file names of the command line relative to the configuration folder.
func fromFolder(a *workspace.Workspace, o *Options) {
	named := func(file string) string {
		if file == "" || filepath.IsAbs(file) || strings.HasPrefix(file, "~/") {
			return file
		}
		from, err := filepath.Rel(a.Folder(), a.Named(file))
		if err != nil {
			return a.Named(file)
		}
		return from
	}
	for _, files := range [][]string{o.Keys, o.KnownHosts} {
		for i := range files {
			files[i] = named(files[i])
		}
	}
	if o.SshConfig != hosts.NoSSHConfig {
		o.SshConfig = named(o.SshConfig)
	}
}

// hop parses ssh://USER@HOST:PORT.
func hop(id string) (config.Connection, error) {
	shown := id
	if i := strings.LastIndex(id, "@"); i >= 0 && strings.Contains(strings.TrimPrefix(id[:i], "ssh://"), ":") {
		shown = "…" + id[i:] // the part before it may be a password
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

// ImportCluster reads a cluster and writes configuration and state.
func ImportCluster(ctx context.Context, a *workspace.Workspace, id string, o Options) error {
	fromFolder(a, &o)
	connection, err := o.connection(id)
	if err != nil {
		return console.Misuse("kubewright import", err)
	}
	s := &session.Session{Workspace: a, Opts: o.Options, Store: statefile.NewStore(a.Paths(), nil)}
	defer s.Close()
	file := filepath.Join(a.Folder(), filepath.Base(o.Out))
	if err := checkVacant(ctx, s, file, o.Out); err != nil {
		return err
	}
	if err := s.Hold(ctx, "import"); err != nil {
		return err
	}
	d := discovery{Session: s, options: o, first: connection}
	found, err := d.cluster(ctx)
	if err != nil {
		return err
	}
	text := slices.Concat([]byte("# Written by kubewright import, of a cluster that was there. It is yours to change.\n\n"), hclwriter.Write(found))
	if err := loadWritten(s, filepath.Base(file), text); err != nil {
		return err
	}
	st, err := adoptState(ctx, s)
	if err != nil {
		return err
	}
	if err := writeBoth(ctx, s, file, text, st); err != nil {
		return err
	}
	if err := printImported(s, id, filepath.Base(file), st); err != nil {
		return err
	}
	return planview.Imported(a.Stdout, d.unsaid, s.Options())
}

// checkVacant refuses a folder that already has a configuration or a state.
func checkVacant(ctx context.Context, s *session.Session, file, out string) error {
	const summary = "Folder is taken"
	if filepath.Ext(file) != ".hcl" || filepath.Base(out) != out {
		return console.Misuse("kubewright import", fmt.Errorf("-out=%s: the configuration is a file *.hcl in the configuration folder", out))
	}
	loaded, err := s.Store.Load(ctx)
	if err != nil {
		return err
	}
	if there := s.Present(loaded); there != "" {
		return console.Failure(diag.Diagnostics{diag.Errorf(summary, "%s, and nothing is imported over it. "+
			"Import in a folder of its own.", there)})
	}
	for _, pattern := range []string{"*.hcl", "*.hcl.json"} {
		names, _ := filepath.Glob(filepath.Join(s.Folder(), pattern))
		if len(names) > 0 {
			return console.Failure(diag.Diagnostics{diag.Errorf(summary, "%s is there already, and nothing is written over or beside it. "+
				"Import in a folder of its own.", filepath.Base(names[0]))})
		}
	}
	return nil
}

// loadWritten loads the written configuration as every later command will.
func loadWritten(s *session.Session, name string, text []byte) error {
	dir, err := os.MkdirTemp("", "kubewright-import-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := safefile.Overwrite(filepath.Join(dir, name), text); err != nil {
		return err
	}
	cfg, diags := hclconfig.Load(hclconfig.Options{Dir: dir, ToolVersion: console.Version})
	s.Sources = func(string) []byte { return text }
	if !diags.HasErrors() {
		diags = append(diags, pipeline.Check(cfg)...)
	}
	if diags.HasErrors() {
		diags = undescribed(diags, s.Sources)
	}
	if err := s.Report(diags); err != nil {
		return err
	}
	s.Config = cfg
	s.Redact(cfg.Secrets)
	return nil
}

// undescribed are errors about the configuration of a running cluster.
func undescribed(diags diag.Diagnostics, sources func(string) []byte) diag.Diagnostics {
	diags = unwritten(diags, sources)
	diags.Append(diag.Errorf("Cluster cannot be described", "The cluster runs with what kubewright would not accept, as said above. Nothing was written. "+
		"Put it right in the cluster first: kubeadm init phase upload-config and kubeadm upgrade node write it down."))
	return diags
}

// reportUnwritten prints findings about a configuration; it fails, and nothing is written, if
// there are errors.
func reportUnwritten(s *session.Session, diags diag.Diagnostics) error {
	if diags.HasErrors() {
		diags = unwritten(diags, s.Sources)
	}
	return s.Report(diags)
}

// unwritten returns findings about a configuration that is in no file: each shows the text that
// would have been written, and hosts with the same finding share one.
func unwritten(diags diag.Diagnostics, sources func(string) []byte) diag.Diagnostics {
	var out diag.Diagnostics
	first, nodes := map[string]*diag.Diagnostic{}, map[*diag.Diagnostic][]string{}
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
		if about != "" && !slices.Contains(nodes[kept], about) {
			nodes[kept] = append(nodes[kept], about)
		}
	}
	for _, d := range out {
		if len(nodes[d]) > 1 {
			d.Address = strings.Join(nodes[d], ", ")
		}
	}
	return out
}

// adoptState returns the state of the cluster, and leaves the next plan in the session.
func adoptState(ctx context.Context, s *session.Session) (*state.State, error) {
	var err error
	if s.Hosts, err = hosts.Open(s.Config, nil, session.HostOptions(s.Workspace, session.Passphrase(ctx, s.Workspace, s.Opts))); err != nil {
		return nil, err
	}
	v := s.Observe(ctx)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	request := session.ObservedNow(s)
	v = v.WithRequest(request)
	learned, diags := record.Adopt(v, []string{s.Config.Clusters[0].Label})
	if err := reportUnwritten(s, diags); err != nil {
		return nil, err
	}
	recorded, err := statefile.Fold(s.EnsureState(), []state.Entry{{Kind: state.EntryDone, Learned: learned}})
	if err != nil {
		return nil, err
	}
	s.Recorded = recorded
	result, diags := pipeline.Plan(v.WithState(recorded, state.Learned{}).WithRequest(request.WithKey(s.Key())), s.Header(), planner.Options{})
	if err := reportUnwritten(s, diags); err != nil {
		return nil, err
	}
	s.Observed, s.Result = result.Fleet, result
	return statefile.Fold(recorded, []state.Entry{{Kind: state.EntryDone, Learned: record.Record(result.Fleet, result)}})
}

// writeBoth writes the configuration, and then its state.
func writeBoth(ctx context.Context, s *session.Session, file string, text []byte, st *state.State) error {
	f, err := safefile.Create(file, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists, and nothing is written over it", filepath.Base(file))
	}
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = s.Store.Write(ctx, st)
	}
	if err != nil {
		_ = os.Remove(file)
	}
	return err
}

// printImported prints what was read and written, and the next plan.
func printImported(s *session.Session, id, file string, st *state.State) error {
	c := s.Config.Clusters[0]
	planes, workers := len(s.Config.NodesOf(c.Label, config.ControlPlane)), len(s.Config.NodesOf(c.Label, config.Worker))
	if !s.Result.Plan.Empty() {
		if err := s.Show(); err != nil {
			return err
		}
	}
	err := s.Printf("Imported cluster %q through %s:\nKubernetes %s, %s and %s.\n\nWritten %s, and the state with %d items. Nothing was changed on any host.\n\n",
		c.Label, id, c.KubernetesVersion, ui.Plural(planes, "control plane"), ui.Plural(workers, "worker"), file, len(st.Items))
	if err != nil {
		return err
	}
	next := "The next plan has no changes. Read " + file + ", and keep both files where you keep such things."
	if !s.Result.Plan.Empty() {
		next = "The plan above is what kubewright apply would change: the cluster is not in all as\n" +
			"its own configuration says, or the language cannot say it. Read it before you apply;\n" +
			"what is to stay as it is goes into " + file + "."
	}
	return s.Printf("%s\n", next)
}
