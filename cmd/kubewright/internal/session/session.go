package session

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/commandline"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/jsonlines"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/progress"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/workspace"
	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/hclconfig"
	"github.com/kubewright/kubewright/engine/hosts"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/maintenance"
	"github.com/kubewright/kubewright/planner/ownership"
	"github.com/kubewright/kubewright/planner/pipeline"
	"github.com/kubewright/kubewright/planner/planfile"
	"github.com/kubewright/kubewright/planner/record"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/statefile"
)

// Options are the flags that plan, apply and destroy share.
type Options struct {
	Vars        []hclconfig.VarArg
	Targets     []string
	SkipPhases  []string
	LockTimeout time.Duration
	Parallelism int
	Destroy     bool
	ChangeOptions
	// AllowUnreachable continues without hosts that could not be observed.
	AllowUnreachable bool
	// AllowOlderState continues with a state that lacks runs its hosts have seen.
	AllowOlderState bool
	JSON            bool
	// JSONInto is the file that JSON lines also go to.
	JSONInto string
	Input    bool
	// overridden are the names of policies to continue against.
	overridden []string
	// OnError says what a failed step means for other steps.
	OnError OnError
	// Saved is the plan from a file to carry out; nil without one.
	Saved *planfile.File
	// Test is the run of a test file that gives values to variables; nil outside of tests.
	Test *hclconfig.TestRun
	// BeforeLoad, if not nil, is called before the configuration is read, to write a part of
	// it.
	BeforeLoad func(context.Context, *Session) error
}

// restricted reports whether only a part of everything is planned.
func (o *Options) restricted() bool { return len(o.Targets)+len(o.Excludes)+len(o.SkipPhases) > 0 }

// Session is one run over one configuration folder and its state.
type Session struct {
	*workspace.Workspace
	Opts   Options
	Store  *statefile.Store
	Config *config.Config
	// Recorded is nil if there is no state yet.
	Recorded *state.State
	// Moved are the renamings that Recorded already has and the state file has not.
	Moved []state.Moved
	// firstKey is the key of a state that has none yet: an apply writes it, and every other run
	// makes a new one. Observed values are compared with secrets by it, but its fingerprints
	// are left out of the plan: a plan is the same in each run.
	firstKey string
	// departed are the targets that an address of the command line may refer to although they
	// are gone from configuration and state: removed by this run, or by the runs that it
	// resumes.
	departed []state.Target
	// Leftover reports whether the journal holds entries that the state file lacks.
	Leftover bool
	Hosts    *hosts.Hosts
	Observed *topology.Fleet
	// ObservedAfter is a moment before the last observation for a plan.
	ObservedAfter time.Time
	Result        topology.Result
	// warnings are those shown about the configuration and the plan, which the plan keeps.
	// Warnings about this run alone, such as about its lock, are not among them.
	warnings []diag.JSON
	// Typed is what the user has to type to approve; empty stands for yes.
	Typed string
	// Sending is the folder that this command sends files from; empty stands for the
	// configuration's artifacts.
	Sending string
	// Command is the command line to repeat, if it is neither apply nor destroy.
	Command string
	// Restores is the snapshot that a restore rebuilds etcd from.
	Restores maintenance.EtcdRestore
	// Leaseless skips the clusters' leases: they are in the etcd that is rebuilt. Hosts still
	// accept only one run.
	Leaseless bool
	// Resumed is the apply that this one resumes, of a saved plan that was begun before; nil
	// otherwise.
	Resumed *state.Apply
	// Unauthenticated reports whether the saved plan is unauthenticated: it was made before
	// there was a state. See authenticate.
	Unauthenticated bool
	// Approved reports whether this very plan is approved: by its digest, or by having been
	// saved.
	Approved bool
	// Planner makes the plan of this command; nil stands for pipeline.Plan.
	Planner PlanFunc
	// RunID names the run of a command that writes, which holds the lock; Ended is the run that
	// held the lock before and ended without releasing it.
	RunID string
	Ended statefile.LockInfo
	// Buried reports whether the claims that the ended run left in the clusters are released.
	Buried bool
	// answers are the user's answers for variables.
	answers map[string]state.Secret
}

// PlanFunc makes a plan of what was observed.
type PlanFunc func(*topology.Fleet, planner.Plan, planner.Options) (topology.Result, diag.Diagnostics)

// OpenToPrint is Open for a command that prints its result by itself: with -json nothing else is
// printed on stdout.
func OpenToPrint(ctx context.Context, a *workspace.Workspace, o Options) (*Session, error) {
	a.QuietStdout, o.JSON = o.JSON, false
	return Open(ctx, a, o, "")
}

// Open loads configuration and state: the first of the verbs. A command that is going to write
// names its operation; no other run writes until Close, so that the state in the plan is the
// one that changes.
func Open(ctx context.Context, a *workspace.Workspace, opts Options, operation string) (*Session, error) {
	if opts.JSON {
		a.Lines = jsonlines.New(a.Stdout, a.Now)
		a.Lines.Version(console.Version)
	}
	if err := a.OpenInto(opts.JSONInto); err != nil {
		return nil, err
	}
	a.AllowsUnreachable, a.GivenAgain = opts.AllowUnreachable, flagsToRepeat(a, opts)
	s := &Session{Workspace: a, Opts: opts}
	err := opts.fits()
	if err == nil {
		err = s.load(ctx)
	}
	if err == nil {
		s.Store, err = a.OpenStore(s.Config.Backend)
	}
	if err == nil && operation != "" {
		err = s.Hold(ctx, operation)
	}
	if err == nil {
		err = s.recall(ctx)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// HostOptions returns the options by which a run reaches hosts.
func HostOptions(a *workspace.Workspace, passphrase func(string) ([]byte, error), accepted ...string) hosts.Options {
	return hosts.Options{
		Folder: a.Folder(), SimFile: filepath.Join(filepath.Dir(a.Paths().State), workspace.SimFile), OpenSim: a.OpenWorld, Simulated: a.Simulated,
		Passphrase: passphrase, Now: a.Now, Wrap: func(w hosts.World) hosts.World { return withLog(a, w) }, Accepted: accepted,
	}
}

// recall loads the state and lists the hosts.
func (s *Session) recall(ctx context.Context) error {
	loaded, err := s.Store.Load(ctx)
	if err == nil {
		err = s.overtaken(loaded)
	}
	if err != nil {
		return err
	}
	s.Recorded, s.Leftover = loaded.State, len(loaded.Recovered) > 0
	if s.Recorded == nil || s.Recorded.FingerprintKey == "" {
		s.firstKey = NewFingerprintKey()
	}
	if s.Recorded != nil && s.firstKey != "" {
		// An apply that was killed in the first run leaves only a journal, which has no
		// fingerprints.
		s.Recorded.FingerprintKey = s.firstKey
	}
	if err := s.authenticate(); err != nil {
		return err
	}
	if err := s.rename(); err != nil {
		return err
	}
	s.departed = append(KnownTargets(s.Config, s.Recorded), s.Recorded.HaveLeft()...)
	if err := s.report(s.passOver()); err != nil {
		return err
	}
	if s.Hosts, err = hosts.Open(s.Config, s.Recorded, HostOptions(s.Workspace, Passphrase(ctx, s.Workspace, s.Opts), s.Opts.Accept...)); err != nil {
		return err
	}
	var diags diag.Diagnostics // reported when planning
	nodes, rotate := s.Opts.replaced()
	s.Hosts.Destroys = s.Opts.Destroy
	s.Hosts.Replace, s.Hosts.Rotate = s.addresses().nodes(commandline.Replace, nodes, &diags), rotate
	return err
}

// rename applies moved blocks to the recorded state. The apply writes the new names to the
// state file.
func (s *Session) rename() error {
	moves, diags := ownership.Moves(s.Config, s.Recorded)
	if err := s.report(diags); err != nil || len(moves) == 0 {
		return err
	}
	renamed, err := statefile.Fold(s.Recorded, []state.Entry{{Kind: state.EntryDone, Learned: state.Learned{Moved: moves}}})
	if err != nil {
		return err
	}
	s.Recorded, s.Moved = renamed, moves
	return nil
}

// LoadFolder reads the configuration; with generate, blocks of imported clusters may be
// missing.
func (s *Session) LoadFolder(ctx context.Context, generate bool) (*config.Config, diag.Diagnostics) {
	s.Sources = s.SourceText
	cfg, diags := hclconfig.Load(hclconfig.Options{
		Dir: s.Folder(), Vars: Variables(s.Workspace, s.Opts), Env: s.Environ, ToolVersion: console.Version, Ask: s.askOnce(ctx), Decrypt: s.DecryptFile,
		Destroy: s.Opts.Destroy, Generate: generate, Test: s.Opts.Test,
	})
	if cfg != nil {
		s.Redact(cfg.Secrets)
	}
	return cfg, diags
}

// askOnce asks for a variable the first time that the folder is loaded.
func (s *Session) askOnce(ctx context.Context) func(hclconfig.Missing) (string, error) {
	ask := Asker(ctx, s.Workspace, s.Opts)
	if ask == nil {
		return nil
	}
	if s.answers == nil {
		s.answers = map[string]state.Secret{}
	}
	return func(m hclconfig.Missing) (string, error) {
		if given, ok := s.answers[m.Name]; ok {
			return string(given.Reveal()), nil
		}
		text, err := ask(m)
		if err == nil {
			s.answers[m.Name] = state.NewSecret([]byte(text))
		}
		return text, err
	}
}

func (s *Session) load(ctx context.Context) error {
	if s.Opts.BeforeLoad != nil {
		if err := s.Opts.BeforeLoad(ctx, s); err != nil {
			return err
		}
	}
	cfg, diags := s.LoadFolder(ctx, false)
	if err := ctx.Err(); err != nil {
		return err // interrupted while asking for a variable
	}
	diags = append(diags, s.CheckConfig(cfg, diags, !s.Opts.Destroy)...) // a destroy needs no artifacts, which may be gone
	if err := s.report(diags); err != nil {
		return err
	}
	s.Config = cfg
	return nil
}

// Variables returns the variables of the command line; file names are relative to the folder of
// -chdir, like the state's.
func Variables(a *workspace.Workspace, o Options) []hclconfig.VarArg {
	out := slices.Clone(o.Vars)
	for i, v := range out {
		if v.File != "" {
			out[i].File = a.Named(v.File)
		}
	}
	return out
}

// Hold takes the state's lock until the session is closed.
func (s *Session) Hold(ctx context.Context, operation string) error {
	if err := s.writable(operation); err != nil {
		return err
	}
	s.RunID = s.NewID()
	info := statefile.LockInfo{Who: s.Who, Operation: operation, ID: s.RunID, Time: s.Now(), PID: os.Getpid()}
	logState(s, "locking the state")
	if err := s.Store.Lock(ctx, info, s.Opts.LockTimeout); err != nil {
		return err
	}
	logState(s, "locked the state")
	held := s.Store.Held()
	if left := held.Left(); left.Who == s.Who {
		s.Ended = left
	}
	if s.Store.Local() {
		return nil
	}
	if !held.Locked() {
		s.Print(diag.Diagnostics{diag.Warningf("State is not locked", "The backend at %s has no locks: it has no lock_address. Two runs at once may overwrite each other's state. "+
			"Hosts and clusters accept one run at a time all the same. Give the backend a lock_address if its server knows locks.", s.Store.Place())})
	}
	return s.RememberPlace(s.Place)
}

// Plan observes everything and plans without writing anything. It prints warnings and keeps
// them with the plan. After an error there is a plan all the same if it is only for reading, because
// hosts did not answer and the operator has not permitted to apply it without them.
func (s *Session) Plan(ctx context.Context) error {
	make := s.Planner
	if make == nil {
		make = pipeline.Plan
	}
	diags, err := s.planBy(ctx, make)
	if err != nil {
		return err
	}
	diags = append(s.idlePatterns(), diags...)
	if err := s.report(diags); err != nil {
		if s.Result.Plan != nil {
			s.Result.Plan = s.Result.Plan.WithDiagnostics(append(s.warnings, diags.Warnings().JSON(s.Sources)...))
		}
		return errors.Join(console.ErrRefused, err)
	}
	s.Result.Plan = s.Result.Plan.WithDiagnostics(s.warnings)
	return nil
}

// report prints findings about the configuration or the plan and fails if there are errors. The
// plan keeps the warnings as they are shown: without secrets.
func (s *Session) report(diags diag.Diagnostics) error {
	if err := s.Report(diags); err != nil {
		return err
	}
	s.warnings = append(s.warnings, diags.JSON(s.Sources)...)
	return nil
}

// Replan plans once more what the configuration asks for.
func (s *Session) Replan(ctx context.Context) (diag.Diagnostics, error) {
	return s.planBy(ctx, pipeline.Plan)
}

// planBy plans like Plan but returns the findings, for callers that have printed them before.
// If there are errors among them, there is no new plan.
func (s *Session) planBy(ctx context.Context, make PlanFunc) (diag.Diagnostics, error) {
	options, err := s.plannerOptions()
	if err != nil {
		return nil, err
	}
	s.ObservedAfter = s.Now()
	v := s.Observe(ctx)
	if err := ctx.Err(); err != nil {
		return nil, err // an incomplete observation proves nothing
	}
	request, err := s.request()
	if err != nil {
		return nil, err
	}
	v, diags, err := s.takeOver(v.WithRequest(request))
	if err != nil || diags.HasErrors() {
		return diags, err
	}
	result, diags := make(v, s.Header(), options)
	if diags.HasErrors() && !pipeline.ForReading(result, diags) {
		return diags, nil
	}
	if s.firstKey != "" {
		result.Plan = result.Plan.Unkeyed()
	}
	s.Observed, s.Result = result.Fleet, result
	logPlan(s)
	s.Result.Plan, err = s.Judge().evaluate(result.Plan)
	return diags, err
}

// takeOver returns the fleet with the clusters of import blocks as recorded ones. The apply writes
// them to the state file.
func (s *Session) takeOver(v *topology.Fleet) (*topology.Fleet, diag.Diagnostics, error) {
	learned, diags := record.Imports(v)
	if diags.HasErrors() || learned.IsZero() {
		return v, diags, nil
	}
	recorded, err := statefile.Fold(v.Recorded, []state.Entry{{Kind: state.EntryDone, Learned: learned}})
	if err != nil {
		return nil, nil, err
	}
	return v.WithState(recorded, learned), nil, nil
}

// Observe observes every host, and shows which have not answered yet.
func (s *Session) Observe(ctx context.Context) *topology.Fleet {
	if s.Lines != nil || s.QuietStdout {
		return logLooked(s, s.Hosts.Observe(ctx, s.Config, s.Recorded))
	}
	var names []string
	for _, m := range s.Hosts.Members {
		names = append(names, m.Target.String())
	}
	s.Looking = progress.NewObservation(s.Stdout, s.Options(), s.Redraws(), names, s.Now())
	s.Hosts.Answered = func(t state.Target) { s.Looking.Answered(t.String()) }
	defer s.Looking.Start(s.Now)()
	return logLooked(s, s.Hosts.Observe(ctx, s.Config, s.Recorded))
}

// Header returns the parts of a plan of this run other than changes and steps.
func (s *Session) Header() planner.Plan {
	p := planner.Plan{FormatVersion: 1, ToolVersion: console.Version, ConfigDigest: s.ConfigDigest(), Commit: s.Commit(), Outputs: s.Outputs(), Command: s.Command, OverriddenPolicies: s.Opts.overrides()}
	if s.Recorded != nil {
		p.Lineage, p.Serial = s.Recorded.Lineage, s.Recorded.Serial
	}
	return p
}

// Outputs returns the configuration's outputs as plan and state hold them: a sensitive one only
// as a keyed fingerprint. A partial destroy keeps the recorded outputs as long as the state has
// anything.
func (s *Session) Outputs() map[string]state.Value {
	out := map[string]state.Value{}
	if s.Opts.Destroy {
		if s.Opts.restricted() && s.Recorded != nil && len(s.Recorded.Clusters)+len(s.Recorded.Nodes) > 0 {
			maps.Copy(out, s.Recorded.Outputs)
		}
		return out
	}
	for _, o := range s.Config.OutputsFor(Known(s.Recorded)) {
		out[o.Name] = o.Value
		if o.Sensitive {
			out[o.Name] = state.SensitiveValue("output:"+o.Name, s.Key().Fingerprint(o.Value))
		}
	}
	return out
}

// Key keys the fingerprints of secrets.
func (s *Session) Key() state.Key {
	if s.Recorded == nil {
		return state.NewKey(s.firstKey)
	}
	return state.NewKey(s.Recorded.FingerprintKey)
}

// NewFingerprintKey makes the key of a state.
func NewFingerprintKey() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand, Go 1.24)
	return hex.EncodeToString(b[:])
}

// ConfigDigest binds a plan to the configuration.
func (s *Session) ConfigDigest() string {
	if s.firstKey == "" {
		return s.Key().Sum([]byte(s.Config.Digest))
	}
	return FirstConfigDigest(s.Config)
}

// FirstConfigDigest is ConfigDigest before there is a state. It is empty if there are secrets:
// without a lasting key, the digest would confirm a guessed short secret.
func FirstConfigDigest(cfg *config.Config) string {
	if cfg.Secrets.IsZero() {
		return cfg.Digest
	}
	return ""
}

func (s *Session) plannerOptions() (planner.Options, error) {
	var diags diag.Diagnostics
	o := planner.Options{
		Targets: s.addresses().selectors("target", s.Opts.Targets, &diags), Excludes: s.addresses().selectors("exclude", s.Opts.Excludes, &diags),
	}
	for _, p := range s.Opts.SkipPhases {
		names, why := pipeline.SkippedPhase(p)
		o.SkipPhases = append(o.SkipPhases, names...)
		switch {
		case why != "":
			diags = append(diags, diag.Errorf("Phase cannot be left out", "-skip-phase=%s: kubewright has no step of its own for it. %s", p, why))
		case len(names) == 0:
			diags = append(diags, diag.Errorf("Unknown phase", "-skip-phase=%s: there is no such phase.%s The phases are %s, and kubeadm's names for their parts.",
				p, console.DidYouMean("", p, append(pipeline.Names(), pipeline.KubeadmNames()...)), strings.Join(pipeline.Names(), ", ")))
		}
	}
	if slices.ContainsFunc(o.Targets, func(t planner.Selector) bool { return t.Part != "" }) && s.Opts.RefreshOnly {
		diags = append(diags, diag.Errorf("Part of a phase cannot be refreshed", "-refresh-only writes to the state what whole phases show on a host: give -target a phase, and not a part of one."))
	}
	return o, s.Report(append(diags, s.unknownPolicies()...))
}

// matchesAny reports whether an address refers to one of the targets.
func matchesAny(t state.Target, targets []state.Target) bool {
	return slices.ContainsFunc(targets, func(one state.Target) bool {
		return planner.Selector{Target: t}.Matches(state.Address{Target: one})
	})
}

// KnownTargets lists clusters, addons and nodes of configuration and state, in order.
func KnownTargets(cfg *config.Config, recorded *state.State) []state.Target {
	var out []state.Target
	for _, c := range cfg.Clusters {
		out = append(out, state.ClusterTarget(c.Label))
		for _, a := range c.Addons {
			out = append(out, state.AddonTarget(c.Label, a.Name))
		}
	}
	for _, n := range cfg.Nodes {
		out = append(out, n.Target)
	}
	if recorded != nil {
		for t := range recorded.Nodes {
			out = append(out, t)
		}
		for label := range recorded.Clusters {
			out = append(out, state.ClusterTarget(label))
		}
		for _, it := range recorded.Items {
			if it.Address.Target.Type == state.TypeAddon {
				out = append(out, it.Address.Target)
			}
		}
	}
	slices.SortFunc(out, func(a, b state.Target) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(out)
}

// Close closes all connections and releases the lock.
func (s *Session) Close() {
	if s.Hosts != nil {
		s.Hosts.Close()
	}
	if s.Store != nil {
		s.unlock()
	}
}

// EnsureState returns the recorded state, or a new one with its own lineage.
func (s *Session) EnsureState() *state.State {
	if s.Recorded == nil {
		id := s.NewID()
		s.Recorded = &state.State{
			FormatVersion: state.FormatVersion, ToolVersion: console.Version,
			Lineage:        fmt.Sprintf("%s-%s-%s-%s-%s", id[:8], id[8:12], id[12:16], id[16:20], id[20:]),
			FingerprintKey: cmp.Or(s.firstKey, NewFingerprintKey()),
		}
	}
	return s.Recorded
}

// Known returns what applies have found out beyond the configuration, from the state, which may be
// nil.
func Known(recorded *state.State) config.Known {
	out := config.Known{Names: NodeNames(recorded), Clusters: map[string]config.Access{}}
	if recorded == nil {
		return out
	}
	servers := record.Servers(recorded)
	for label, c := range recorded.Clusters {
		out.Clusters[label] = config.Access{Server: servers[label], CACertificate: c.CACertificate}
	}
	return out
}

// NodeNames returns the node names in a state, which may be nil.
func NodeNames(recorded *state.State) map[state.Target]string {
	if recorded == nil {
		return nil
	}
	out := map[state.Target]string{}
	for t, n := range recorded.Nodes {
		out[t] = n.Name
	}
	return out
}
