package cli

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view"
	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/hclconfig"
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

// planOptions are the flags that plan, apply and destroy share.
type planOptions struct {
	vars        []hclconfig.VarArg
	targets     []string
	skipPhases  []string
	lockTimeout time.Duration
	parallelism int
	destroy     bool
	changeOptions
	// allowUnreachable goes on without hosts that could not be looked at.
	allowUnreachable bool
	// allowOlderState goes on with a state that lacks runs which its hosts have seen.
	allowOlderState bool
	json            bool
	// jsonInto is the file that JSON lines go to as well.
	jsonInto string
	input    bool
	// overridden are the names of policies to go on against.
	overridden []string
	// onError says what a failed step means for others.
	onError onError
	// saved is the plan in a file that is to be carried out; nil without one.
	saved *planfile.File
	// generateOut is the file for clusters that import blocks refer to.
	generateOut string
}

// restricted reports whether what is planned is a part of everything.
func (o *planOptions) restricted() bool { return len(o.targets)+len(o.excludes)+len(o.skipPhases) > 0 }

// session is one run over one configuration folder and its state.
type session struct {
	*app
	opts   planOptions
	store  *statefile.Store
	config *config.Config
	// recorded is nil when there is no state yet.
	recorded *state.State
	// moved are the renamings that recorded has behind it and the file not.
	moved []state.Moved
	// firstKey is the key of a state that has none yet; an apply writes it, and any other
	// run makes another one. That what is there equals a secret is seen by it, and no
	// plan has its fingerprints: a plan is the same in each run.
	firstKey string
	// had are the targets that an address of the command line may refer to although neither
	// configuration nor state have them any more: this run may take them out, or those that
	// it goes on from have.
	had []state.Target
	// leftover reports whether the journal holds what the state file has not got yet.
	leftover bool
	fleet    *fleet
	view     *topology.Fleet
	result   topology.Result
	// warnings are those that were shown of the configuration and of the plan, which keeps
	// them. What was said of this run alone, such as of its lock, is not among them.
	warnings []diag.JSON
	// typed is what has to be typed to approve; empty stands for yes.
	typed string
	// sending is the folder that this command sends files from; empty stands for
	// the configuration's artifacts.
	sending string
	// command is how this command is run again, where that is neither apply nor destroy.
	command string
	// restores is the snapshot that etcd is rebuilt from, in a restore.
	restores maintenance.EtcdRestore
	// leaseless leaves the clusters' leases alone: they are in the etcd that is made
	// again. Hosts accept one run all the same.
	leaseless bool
	// resumed is the apply that this one goes on from, of a saved plan that was begun
	// before; nil otherwise.
	resumed *state.Apply
	// unauthenticated reports whether nothing authenticates the saved plan: it was made before
	// there was a state. See authenticate.
	unauthenticated bool
	// approved reports whether somebody approves this very plan: by its digest, or by
	// having saved it. held is what policies have against going on with a run.
	approved bool
	held     []planner.PolicyFinding
	// planner makes the plan of this command; nil stands for pipeline.Plan.
	planner planFunc
	// runID names the run of a command that writes, which holds the lock; ended is
	// the run that held the lock before and ended without giving it back.
	runID string
	ended statefile.LockInfo
	// buried reports whether what that run left in the clusters was given back.
	buried    bool
	generated generation
	// answers are those of whoever was asked for variables.
	answers map[string]state.Secret
}

// planFunc makes a plan of what was observed.
type planFunc func(*topology.Fleet, planner.Plan, planner.Options) (topology.Result, diag.Diagnostics)

// open loads configuration and state: the first of the verbs. A command that is
// going to write names its operation; nobody else writes until close, so that
// the state which it plans with is the one that it changes.
func (a *app) open(ctx context.Context, opts planOptions, operation string) (*session, error) {
	if opts.json {
		a.lines = view.NewJSONLines(a.Stdout, a.Now)
		a.lines.Version(Version)
	}
	if err := a.openInto(opts.jsonInto); err != nil {
		return nil, err
	}
	a.allowsUnreachable, a.givenAgain = opts.allowUnreachable, a.flagsToRepeat(opts)
	s := &session{app: a, opts: opts}
	err := opts.fits()
	if err == nil {
		err = s.load(ctx)
	}
	if err == nil {
		s.store, err = a.openStore(s.config.Backend)
	}
	if err == nil && operation != "" {
		err = s.hold(ctx, operation)
	}
	if err == nil {
		err = s.recall(ctx)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// recall loads the state and lists the hosts.
func (s *session) recall(ctx context.Context) error {
	loaded, err := s.store.Load(ctx)
	if err == nil {
		err = s.overtaken(loaded)
	}
	if err != nil {
		return err
	}
	s.recorded, s.leftover = loaded.State, len(loaded.Recovered) > 0
	if s.recorded == nil || s.recorded.FingerprintKey == "" {
		s.firstKey = newFingerprintKey()
	}
	if s.recorded != nil && s.firstKey != "" {
		// An apply that was killed in the first run leaves a journal alone, and
		// nothing in it has a fingerprint.
		s.recorded.FingerprintKey = s.firstKey
	}
	if err := s.authenticate(); err != nil {
		return err
	}
	if err := s.rename(); err != nil {
		return err
	}
	s.had = append(s.known(), s.recorded.HaveLeft()...)
	if err := s.heeded(s.passOver()); err != nil {
		return err
	}
	if s.fleet, err = s.openFleet(s.config, s.recorded, s.passphrase(ctx, s.opts), s.opts.accept...); err != nil {
		return err
	}
	var diags diag.Diagnostics // said when it is planned
	nodes, rotate := s.opts.replaced()
	s.fleet.replace, s.fleet.rotate = s.targetsOf(topology.ReplaceFlag, nodes, &diags), rotate
	return err
}

// rename gives what is recorded the names that moved blocks say it has by now.
// The state file learns them with the apply.
func (s *session) rename() error {
	moves, diags := ownership.Moves(s.config, s.recorded)
	if err := s.heeded(diags); err != nil || len(moves) == 0 {
		return err
	}
	renamed, err := statefile.Fold(s.recorded, []state.Entry{{Kind: state.EntryDone, Learned: state.Learned{Moved: moves}}})
	if err != nil {
		return err
	}
	s.recorded, s.moved = renamed, moves
	return nil
}

func (a *app) paths() statefile.Paths {
	p := statefile.DirPaths(a.folder())
	if a.statePath != "" {
		p = statefile.NewPaths(a.named(a.statePath))
	}
	p.FS, p.Codec = a.Files, a.codec()
	return p
}

// loadFolder reads the configuration; with generate it may lack blocks of clusters
// that are imported.
func (s *session) loadFolder(ctx context.Context, generate bool) (*config.Config, diag.Diagnostics) {
	s.sources = s.sourceText
	cfg, diags := hclconfig.Load(hclconfig.Options{
		Dir: s.folder(), Vars: s.vars(s.opts), Env: s.Environ, ToolVersion: Version, Ask: s.askOnce(ctx),
		Destroy: s.opts.destroy, Generate: generate,
	})
	if cfg != nil {
		s.hide(cfg.Secrets)
	}
	return cfg, diags
}

// askOnce asks for a variable the first time that the folder is loaded.
func (s *session) askOnce(ctx context.Context) func(hclconfig.Missing) (string, error) {
	ask := s.asker(ctx, s.opts)
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

func (s *session) load(ctx context.Context) error {
	if err := s.generate(ctx); err != nil {
		return err
	}
	cfg, diags := s.loadFolder(ctx, false)
	if err := ctx.Err(); err != nil {
		return err // asked for a variable, and interrupted
	}
	diags = append(diags, s.unfit(cfg, diags, !s.opts.destroy)...) // what goes needs no artifacts, which may be gone themselves
	if err := s.heeded(diags); err != nil {
		return err
	}
	s.config = cfg
	return nil
}

// vars returns the variables of the command line; files are named from the
// folder of -chdir, as the state is.
func (a *app) vars(o planOptions) []hclconfig.VarArg {
	out := slices.Clone(o.vars)
	for i, v := range out {
		if v.File != "" {
			out[i].File = a.named(v.File)
		}
	}
	return out
}

// hold takes the state's lock until the session is closed.
func (s *session) hold(ctx context.Context, operation string) error {
	if err := s.writable(operation); err != nil {
		return err
	}
	s.runID = s.NewID()
	info := statefile.LockInfo{Who: s.Who, Operation: operation, ID: s.runID, Time: s.Now(), PID: os.Getpid()}
	s.logState("locking the state")
	if err := s.store.Lock(ctx, info, s.opts.lockTimeout); err != nil {
		return err
	}
	s.logState("locked the state")
	held := s.store.Held()
	if left := held.Left(); left.Who == s.Who {
		s.ended = left
	}
	if s.store.Local() {
		return nil
	}
	if !held.Locked() {
		s.print(diag.Diagnostics{diag.Warningf("State is not locked", "The backend at %s has no locks: it has no lock_address. Two runs at once may overwrite each other's state. "+
			"Hosts and clusters accept one run at a time all the same. Give the backend a lock_address if its server knows locks.", s.store.Place())})
	}
	return s.remember(s.place)
}

// plan observes everything and plans: nothing is written anywhere. Warnings are
// printed, and kept with the plan.
func (s *session) plan(ctx context.Context) error {
	make := s.planner
	if make == nil {
		make = pipeline.Plan
	}
	diags, err := s.planBy(ctx, make)
	if err != nil {
		return err
	}
	if err := s.heeded(append(s.idlePatterns(), diags...)); err != nil {
		return errors.Join(errRefused, err)
	}
	s.result.Plan.Diagnostics = s.warnings
	return nil
}

// heeded is failed for findings about the configuration or the plan, whose warnings the
// plan keeps as they were shown: without secrets.
func (s *session) heeded(diags diag.Diagnostics) error {
	if err := s.failed(diags); err != nil {
		return err
	}
	s.warnings = append(s.warnings, diags.JSON(s.sources)...)
	return nil
}

// replan plans what the configuration asks for, once more.
func (s *session) replan(ctx context.Context) (diag.Diagnostics, error) {
	return s.planBy(ctx, pipeline.Plan)
}

// planBy is plan that returns its findings, for who has printed them before. With errors
// among the diagnostics there is no new plan.
func (s *session) planBy(ctx context.Context, make planFunc) (diag.Diagnostics, error) {
	options, err := s.plannerOptions()
	if err != nil {
		return nil, err
	}
	v := s.look(ctx)
	if err := ctx.Err(); err != nil {
		return nil, err // what was not seen then says nothing
	}
	v.Destroy, v.AllowUnreachable, v.AllowOlderState = s.opts.destroy, s.opts.allowUnreachable, s.opts.allowOlderState
	v.Moved = s.moved
	if err := s.change(v); err != nil {
		return nil, err
	}
	v.ObservedAt, v.Key = s.fleet.world.clock().Now(), s.key()
	if diags, err := s.takeOver(v); err != nil || diags.HasErrors() {
		return diags, err
	}
	result, diags := make(v, s.header(), options)
	if diags.HasErrors() {
		return diags, nil
	}
	if s.firstKey != "" {
		result.Plan = result.Plan.Unkeyed()
	}
	s.view, s.result = v, result
	s.logPlan()
	return diags, s.judge(result.Plan)
}

// takeOver lets a view know the clusters of import blocks as recorded. The state
// file learns them with the apply.
func (s *session) takeOver(v *topology.Fleet) (diag.Diagnostics, error) {
	learned, diags := record.Imports(v)
	if diags.HasErrors() || learned.IsZero() {
		return diags, nil
	}
	recorded, err := statefile.Fold(v.Recorded, []state.Entry{{Kind: state.EntryDone, Learned: learned}})
	if err != nil {
		return nil, err
	}
	v.Recorded, v.Imported = recorded, learned
	return nil, nil
}

// look observes everything, and tells on the way who has not answered yet.
func (s *session) look(ctx context.Context) *topology.Fleet {
	if s.lines != nil || s.quietStdout {
		return s.logLooked(s.fleet.observe(ctx, s.config, s.recorded))
	}
	var names []string
	for _, m := range s.fleet.members {
		names = append(names, m.target.String())
	}
	s.looking = view.NewLooking(s.Stdout, s.options(), s.draws(), names, s.Now())
	s.fleet.answered = func(t state.Target) { s.looking.Answered(t.String()) }
	defer s.looking.Start(s.Now)()
	return s.logLooked(s.fleet.observe(ctx, s.config, s.recorded))
}

func (s *session) header() planner.Plan {
	p := planner.Plan{FormatVersion: 1, ToolVersion: Version, ConfigDigest: s.configDigest(), Outputs: s.outputs(), Command: s.command, OverriddenPolicies: s.overrides()}
	if s.recorded != nil {
		p.Lineage, p.Serial = s.recorded.Lineage, s.recorded.Serial
	}
	return p
}

// outputs returns the configuration's outputs as plan and state hold them: of a
// sensitive one only a keyed fingerprint. A destroy of a part leaves those that there
// are, as long as the state has anything.
func (s *session) outputs() map[string]state.Value {
	out := map[string]state.Value{}
	if s.opts.destroy {
		if s.opts.restricted() && s.recorded != nil && len(s.recorded.Clusters)+len(s.recorded.Nodes) > 0 {
			maps.Copy(out, s.recorded.Outputs)
		}
		return out
	}
	outputs := s.config.Outputs
	if s.config.Named != nil {
		if named := s.config.Named(nodeNames(s.recorded)); named != nil {
			outputs = named
		}
	}
	for _, o := range outputs {
		out[o.Name] = o.Value
		if o.Sensitive {
			out[o.Name] = state.SensitiveValue("output:"+o.Name, s.key().Fingerprint(o.Value))
		}
	}
	return out
}

// key keys the fingerprints of secrets.
func (s *session) key() state.Key {
	if s.recorded == nil {
		return state.NewKey(s.firstKey)
	}
	return state.NewKey(s.recorded.FingerprintKey)
}

// newFingerprintKey makes the key of a state.
func newFingerprintKey() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand, Go 1.24)
	return hex.EncodeToString(b[:])
}

// configDigest binds a plan to the configuration.
func (s *session) configDigest() string {
	if s.firstKey == "" {
		return s.key().Sum([]byte(s.config.Digest))
	}
	return s.firstConfigDigest()
}

// firstConfigDigest is configDigest before there is a state. A digest without a key that
// lasts would tell whether a short secret was guessed: then there is none.
func (s *session) firstConfigDigest() string {
	if s.config.Secrets.IsZero() {
		return s.config.Digest
	}
	return ""
}

func (s *session) plannerOptions() (planner.Options, error) {
	var diags diag.Diagnostics
	o := planner.Options{
		SkipPhases: s.opts.skipPhases,
		Targets:    s.selectors("target", s.opts.targets, &diags), Excludes: s.selectors("exclude", s.opts.excludes, &diags),
	}
	for _, p := range o.SkipPhases {
		if !slices.Contains(pipeline.Names(), p) {
			diags = append(diags, diag.Errorf("Unknown phase", "-skip-phase=%s: there is no such phase.%s The phases are %s.",
				p, didYouMean("", p, pipeline.Names()), strings.Join(pipeline.Names(), ", ")))
		}
	}
	return o, s.failed(append(diags, s.unknownPolicies()...))
}

// exists reports whether a selector's target is one of this run's. Every target
// exists for a selector without one.
func (s *session) exists(t state.Target) bool { return t.IsZero() || speaksOf(t, s.known()) }

// speaksOf reports whether an address means one of the targets.
func speaksOf(t state.Target, targets []state.Target) bool {
	return slices.ContainsFunc(targets, func(one state.Target) bool {
		return planner.Selector{Target: t}.Matches(state.Address{Target: one})
	})
}

// known returns the targets of this run.
func (s *session) known() []state.Target { return known(s.config, s.recorded) }

// known lists clusters, addons and nodes of configuration and state, in order.
func known(cfg *config.Config, recorded *state.State) []state.Target {
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

// targets returns the names of known, as many as can be read at a glance.
func (s *session) targets() []string {
	const most = 20
	var out []string
	for _, t := range s.known() {
		out = append(out, t.String())
	}
	if n := len(out); n > most {
		out = append(out[:most], fmt.Sprintf("and %d more", n-most))
	}
	return out
}

// close lets go of all connections and of the lock.
func (s *session) close() {
	if s.fleet != nil {
		s.fleet.close()
	}
	if s.store != nil {
		s.unlock()
	}
}

// ensureState returns the recorded state, or a new one with a lineage of its own.
func (s *session) ensureState() *state.State {
	if s.recorded == nil {
		id := s.NewID()
		s.recorded = &state.State{
			FormatVersion: state.FormatVersion, ToolVersion: Version,
			Lineage:        fmt.Sprintf("%s-%s-%s-%s-%s", id[:8], id[8:12], id[12:16], id[16:20], id[20:]),
			FingerprintKey: cmp.Or(s.firstKey, newFingerprintKey()),
		}
	}
	return s.recorded
}
