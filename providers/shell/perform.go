package shell

import (
	"context"
	"crypto/sha256"
	_ "embed" // the scripts
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/budget"
	"github.com/kubewright/kubewright/state"
)

var (
	//go:embed scripts/perform.sh
	performScript string
	//go:embed scripts/machine.sh
	machineScript string
	//go:embed scripts/etcd.sh
	etcdScript string
)

// performCap bounds the output of all operations of a batch, in bytes.
const performCap = 16 << 20

// outputCap bounds the kept output of one operation, in bytes.
const outputCap = 1 << 20

// lockWait is how long a batch waits on the host for one of another run, or of one that has
// lost its connection.
const lockWait = 2 * time.Minute

// idle is how long a batch waits on the host for more data. The script may notice only at
// its second check that none has arrived, which is still within lockWait: so a retry after
// a network failure finds the lock free.
const idle = 45 * time.Second

// Perform implements providers.Host: all operations in one command, after earlier batches
// have ended. The host checks the run's token before the first of them.
func (h *Host) Perform(ctx context.Context, b providers.Batch) ([]providers.Outcome, error) {
	c := &compiler{batch: b, root: h.root, owner: "root:root", lockWait: h.lockWait, idle: h.idle}
	if h.speaker.plain {
		c.owner = "" // that of the login user
	}
	body, err := c.script()
	if err != nil {
		return nil, fmt.Errorf("cannot change %s: %w", h.name, err)
	}
	if err := h.await(ctx); err != nil {
		return nil, err
	}
	defer func() { <-h.turn }()
	a, err := h.speaker.run(ctx, h.change(b, body, c.frames))
	defer a.release()
	h.distrust(b.Operations)
	return h.outcomes(b, a, err)
}

// change returns the script of a batch, with the time limits of its operations.
func (h *Host) change(b providers.Batch, body string, frames []frame) script {
	sc := script{
		do: "change", body: body, frames: frames, limit: performCap, hear: hearing(b),
		pace:   budget.Pace{Total: startTime + h.lockWait},
		doing:  func(n int) string { return b.Operations[n].Summary() },
		limits: []time.Duration{},
	}
	for _, op := range b.Operations {
		sc.limits = append(sc.limits, limitOf(op))
	}
	return sc
}

// await waits for the batch's turn. Nothing is sent to the host before that.
func (h *Host) await(ctx context.Context) error {
	select {
	case h.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
	}
	const why = "an earlier batch of this run is still at work there"
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &providers.Error{Kind: providers.ErrTimeout, Do: "change " + h.name, Cause: errors.New(why)}
	}
	return fmt.Errorf("cannot change %s: %s: %w", h.name, why, ctx.Err())
}

// heardCap bounds how much of a command's output line is passed on, in bytes.
const heardCap = 512

// control matches terminal sequences that move the cursor or change colours.
var control = regexp.MustCompile(`\x1b\[[0-?]*[ -/]*[@-~]`)

// hearing parses the "heard" lines of a running operation: its number and a line of its
// command's output, from which it removes terminal sequences.
func hearing(b providers.Batch) func(string) {
	if b.Hear == nil {
		return nil
	}
	return func(said string) {
		number, line, _ := strings.Cut(said, " ")
		op, err := strconv.Atoi(number)
		line = strings.TrimSpace(providers.Sanitize(control.ReplaceAllString(line, ""), heardCap))
		if err == nil && op >= 0 && op < len(b.Operations) && line != "" {
			b.Hear(op, line)
		}
	}
}

// outcomes parses how far a batch got. err is the result of the conversation.
func (h *Host) outcomes(b providers.Batch, a answer, err error) ([]providers.Outcome, error) {
	var out []providers.Outcome
	for _, s := range a.sections {
		switch s.words[0] {
		case "op":
			if len(s.words) != 2 || s.words[1] != strconv.Itoa(len(out)) || len(out) == len(b.Operations) {
				return out, unexpected("operations", strings.Join(s.words, " "))
			}
			out = append(out, providers.Outcome{Output: output(s.body)})
		case "done":
			if len(out) == 0 || len(s.words) != 2 {
				return out, unexpected("operations", strings.Join(s.words, " "))
			}
			out[len(out)-1].Changed = s.words[1] == "changed"
		case "failed", "superseded", "foreign", "busy", "moved":
			return out, h.stopped(b, a, s, len(out))
		}
	}
	if err == nil && len(out) != len(b.Operations) {
		err = unexpected("operations", fmt.Sprintf("%d of %d were answered", len(out), len(b.Operations)))
	}
	return out, err
}

// stopped returns why a host stopped. attempted counts the operations begun.
func (h *Host) stopped(b providers.Batch, a answer, s section, attempted int) error {
	word := ""
	if len(s.words) > 1 {
		word = providers.Sanitize(s.words[1], 64)
	}
	do := "change " + h.name
	switch s.words[0] {
	case "superseded":
		return &providers.Error{Kind: providers.ErrSuperseded, Do: do, Cause: superseded(word, b)}
	case "foreign":
		return &providers.Error{Kind: providers.ErrForeign, Do: do, Cause: fmt.Errorf("it belongs to the state with lineage %s, this one has %s", word, b.Lineage)}
	case "moved":
		return hasMoved(b, s, do)
	case "busy":
		return &providers.Error{Kind: providers.ErrTimeout, Do: do, Cause: errors.New("an earlier batch of operations is still at work there")}
	}
	what := "prepare " + h.name
	if attempted > 0 {
		what = b.Operations[attempted-1].Summary()
	}
	code, _ := strconv.Atoi(word)
	return &providers.CommandError{Host: h.name, Command: what, ExitCode: code, Stderr: providers.Tail(lastOperation(a.stderr))}
}

// superseded names the run that the host has seen.
func superseded(seen string, b providers.Batch) error {
	if seen == strconv.FormatInt(b.Token, 10) {
		return fmt.Errorf("another run has begun there that was planned at the same time as this one (both are run %s)", seen)
	}
	return fmt.Errorf("run %s has begun there, this is run %d", seen, b.Token)
}

// hasMoved names the file that has changed since the plan was made.
func hasMoved(b providers.Batch, s section, do string) error {
	paths := expectedPaths(b)
	if len(s.words) == 3 {
		if i, err := strconv.Atoi(s.words[1]); err == nil && i >= 0 && i < len(paths) {
			now := providers.Sanitize(s.words[2], 64)
			return &providers.Error{Kind: providers.ErrMoved, Do: do, Cause: providers.Moved(paths[i], b.Expect[paths[i]], now)}
		}
	}
	return unexpected("operations", strings.Join(s.words, " "))
}

// expectedPaths returns the files that must not have changed, in order.
func expectedPaths(b providers.Batch) []string { return slices.Sorted(maps.Keys(b.Expect)) }

// opLine marks the beginning of an operation's standard error.
var opLine = regexp.MustCompile(`\nkubewright [A-Z2-7]+ op [0-9]+\n`)

// lastOperation returns the standard error of the last operation.
func lastOperation(stderr []byte) []byte {
	all := opLine.FindAllIndex(stderr, -1)
	if len(all) == 0 {
		return stderr
	}
	return stderr[all[len(all)-1][1]:]
}

func output(body []byte) string {
	return strings.TrimSpace(providers.Sanitize(string(body), outputCap))
}

// compiler turns a batch into a script and its frames.
type compiler struct {
	batch  providers.Batch
	root   string
	owner  string // for files whose owner the batch does not set; "" means the login user
	frames []frame
	// lockWait is how long the host waits for a batch of another run.
	lockWait time.Duration
	// idle is how long it waits for data.
	idle time.Duration
}

func (c *compiler) script() (string, error) {
	for what, word := range map[string]string{"lineage": c.batch.Lineage, "run": c.batch.Run} {
		if strings.ContainsFunc(word, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return "", fmt.Errorf("%s %q is no word", what, word)
		}
	}
	if c.batch.Run != "" && c.batch.Lineage == "" {
		return "", fmt.Errorf("internal error: run %s has no lineage", c.batch.Run)
	}
	if c.batch.Token < 0 {
		return "", fmt.Errorf("run token %d is negative", c.batch.Token)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "kw_r=%s\nkw_token=%d\nkw_lineage=%s\nkw_run=%s\n", Quote(c.root), c.batch.Token, Quote(c.batch.Lineage), Quote(c.batch.Run))
	void := ""
	if c.batch.Void > 0 {
		void = strconv.FormatInt(c.batch.Void, 10)
	}
	fmt.Fprintf(&b, "kw_void=%s\n", void)
	fmt.Fprintf(&b, "kw_wait=%s\nkw_idle=%s\n", seconds(c.lockWait), seconds(c.idle))
	b.WriteString(performScript + preserveScript + runtimeScript + machineScript + processScript + staticPodScript + etcdScript + packagesPart(c.batch.Operations) + "kw_guard\n")
	for i, p := range expectedPaths(c.batch) {
		if err := state.CheckPath(p); err != nil {
			return "", err
		}
		b.WriteString(call("kw_expect", strconv.Itoa(i), c.root+p, c.batch.Expect[p]))
	}
	for i, op := range c.batch.Operations {
		line, err := c.operation(op)
		if err != nil {
			return "", fmt.Errorf("cannot %s: %w", op.Summary(), err)
		}
		tells := ""
		if c.batch.Hear != nil && planner.Tells(op) {
			tells = "yes"
		}
		b.WriteString(call("kw_op", strconv.Itoa(i), tells) + line)
	}
	b.WriteString("kw_flush || kw_fail\n")
	return b.String(), nil
}

// seconds formats a duration for commands.
func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }

// operation returns the line of the script that performs one operation.
func (c *compiler) operation(op planner.Operation) (string, error) {
	switch op := op.(type) {
	case planner.WriteFile:
		return c.writeFile(op)
	case planner.RemovePath:
		return c.removePath(op)
	case planner.EnsureDirectory:
		mode, owner, err := c.access(op.Path, op.Mode, op.Owner)
		return call("kw_directory", c.root+op.Path, mode, owner), err
	case planner.SetAccess:
		mode, owner, err := c.access(op.Path, op.Mode, op.Owner)
		if op.IfPresent {
			return call("kw_access_if_there", c.root+op.Path, mode, owner), err
		}
		return call("kw_access", c.root+op.Path, mode, owner), err
	case planner.UploadArtifact:
		return c.upload(op)
	case planner.Preserve:
		if op.Any {
			return call("kw_preserve_any", c.preserved(op.Path)...), state.CheckPath(op.Path)
		}
		return call("kw_preserve", c.root+op.Path, op.Path), state.CheckPath(op.Path)
	case planner.Restore:
		return call("kw_restore", c.preserved(op.Path)...), state.CheckPath(op.Path)
	case planner.Packages:
		return c.packages(op)
	case planner.LoadImage:
		return c.image(op)
	case planner.Unit:
		return unit(op)
	case planner.RestartProcess:
		return c.restart(op)
	case planner.SetSysctl:
		err := errors.Join(checkSysctl(op.Name), state.CheckText("value", op.Value))
		return call("kw_sysctl", op.Name, sysctlPath(op.Name), op.Value, yesNo(op.Restore)), err
	case planner.LoadModule:
		return kernelModule(op)
	case planner.SystemUser:
		return systemUser(op)
	case planner.Swap:
		return c.swap(op)
	case planner.RemovePods:
		socket, err := socketPath(op.Socket)
		return call("kw_pods", socket), err
	case planner.Unmount:
		options, err := unmountOptions(op.Flags)
		return call("kw_unmount", append([]string{c.root + op.Below}, options...)...), errors.Join(err, state.CheckPath(op.Below), state.CheckRemoval(op.Below, false))
	case planner.RemoveNetwork:
		for _, l := range op.Links {
			if !linkPattern.MatchString(l) {
				return "", fmt.Errorf("%q is no pattern of link names", l)
			}
		}
		return call("kw_network", op.Links...), nil
	case planner.RemoveProxyRules:
		if op.Mode != planner.ProxyIPVS && op.Mode != planner.ProxyIPTables {
			return "", fmt.Errorf("%q is no mode of kube-proxy that leaves rules", op.Mode)
		}
		return call("kw_proxy_rules", op.Mode), nil
	case planner.Mark:
		return c.mark(op)
	case planner.SetAsideEtcd:
		return call("kw_etcd_aside", c.root+op.DataDir, op.As), errors.Join(state.CheckPath(op.DataDir), checkWord("name", op.As))
	case planner.RestoreEtcd:
		return c.restoreEtcd(op)
	case planner.TakeBackup:
		return c.takeBackup(op)
	}
	return "", fmt.Errorf("internal error: %s is no operation of a host", op.Op())
}

// linkPattern is the name of a network interface, at most 15 bytes, with at least two
// characters before any wildcard.
var linkPattern = regexp.MustCompile(`^[A-Za-z0-9_.-]{2}[A-Za-z0-9_.*-]{0,13}$`)

// sysctlPath returns the file of a kernel parameter, in whose name a slash stands for a dot in the
// name of a link.
func sysctlPath(name string) string {
	return "/proc/sys/" + strings.NewReplacer(".", "/", "/", ".").Replace(name)
}

// checkSysctl refuses a name whose file is not below /proc/sys.
func checkSysctl(name string) error {
	return errors.Join(checkWord("sysctl", name), state.CheckPath(sysctlPath(name)))
}

// modeForm is an octal mode of up to four digits.
var modeForm = regexp.MustCompile(`^0*([0-7]{1,4})$`)

// ownerForm is USER:GROUP.
var ownerForm = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*:[A-Za-z0-9_][A-Za-z0-9_.-]*$`)

// access validates path, mode and owner, and returns mode and owner in the script's format.
func (c *compiler) access(p, mode, owner string) (string, string, error) {
	if err := state.CheckPath(p); err != nil {
		return "", "", err
	}
	m := modeForm.FindStringSubmatch(mode)
	if m == nil {
		return "", "", fmt.Errorf("mode %q is not octal", mode)
	}
	if owner == "" {
		owner = c.owner
	}
	if owner != "" && !ownerForm.MatchString(owner) {
		return "", "", fmt.Errorf("owner %q is not USER:GROUP", owner)
	}
	short := strings.TrimLeft(m[1], "0")
	if short == "" {
		short = "0"
	}
	return short, owner, nil
}

// frame adds a block of data and returns its digest. want is the planned digest, or "".
func (c *compiler) frame(data []byte, want string) (string, error) {
	sum := sha256.Sum256(data)
	digest := hex.EncodeToString(sum[:])
	if want != "" && want != digest {
		return "", fmt.Errorf("its content has digest %s, planned was %s", digest, want)
	}
	c.frames = append(c.frames, bytesFrame(data))
	return digest, nil
}

// artifact adds a file of the operator's as a block of data. The host verifies the planned
// digest once it has the whole file.
func (c *compiler) artifact(name, digest string) error {
	a, ok := c.batch.Artifacts[name]
	if !ok {
		return fmt.Errorf("internal error: missing artifact %s", name)
	}
	c.frames = append(c.frames, frame{a.Size, a.Open})
	return checkDigest(digest)
}

func checkDigest(digest string) error {
	if b, err := hex.DecodeString(digest); err != nil || len(b) != sha256.Size {
		return fmt.Errorf("internal error: %q is no SHA-256", digest)
	}
	return nil
}

func (c *compiler) content(ref string) ([]byte, error) {
	secret, ok := c.batch.Contents[ref]
	if !ok {
		return nil, fmt.Errorf("internal error: missing content %s", ref)
	}
	return secret.Reveal(), nil
}

func (c *compiler) writeFile(op planner.WriteFile) (string, error) {
	mode, owner, err := c.access(op.Path, op.Mode, op.Owner)
	if err != nil {
		return "", err
	}
	data := []byte(op.Content.Inline)
	if op.Content.Ref != "" {
		if data, err = c.content(op.Content.Ref); err != nil {
			return "", err
		}
	}
	digest, err := c.frame(data, op.SHA256)
	write := "kw_write"
	if op.StaticPod {
		write = "kw_write_pod"
	}
	return call(write, c.root+op.Path, mode, owner, digest), err
}

// upload installs an artifact, or the members of an archive.
func (c *compiler) upload(op planner.UploadArtifact) (string, error) {
	if err := c.artifact(op.Artifact, op.SHA256); err != nil {
		return "", err
	}
	if len(op.Files) == 1 && op.Files[0].Member == "" {
		f := op.Files[0]
		mode, owner, err := c.access(f.Path, f.Mode, "")
		return call("kw_write", c.root+f.Path, mode, owner, op.SHA256) + call("kw_note", c.root+f.Path, op.SHA256), err
	}
	var wants, places strings.Builder
	members := []string{op.SHA256}
	for _, f := range op.Files {
		mode, owner, err := c.access(f.Path, f.Mode, "")
		if err := errors.Join(err, checkDigest(f.SHA256), checkMember(f.Member)); err != nil {
			return "", err
		}
		members = append(members, f.Member)
		wants.WriteString(call("kw_wants", c.root+f.Path, mode, owner, f.SHA256))
		places.WriteString(call("kw_place", f.Member, c.root+f.Path, mode, owner, f.SHA256))
	}
	return "kw_need=\n" + wants.String() + call("kw_unpack", members...) + places.String() + "kw_placed\n", nil
}

// checkMember refuses names in archives that lead out of the target folder.
func checkMember(name string) error {
	if name == "" || strings.HasPrefix(name, "/") || strings.HasPrefix(name, "-") || slices.Contains(strings.Split(name, "/"), "..") {
		return fmt.Errorf("%q is no plain name in an archive", name)
	}
	return state.CheckText("name", name)
}

func (c *compiler) removePath(op planner.RemovePath) (string, error) {
	if err := state.CheckPath(op.Path); err != nil {
		return "", err
	}
	function := "kw_remove"
	if op.ContentsOnly {
		function = "kw_empty"
	}
	return call(function, c.root+op.Path), state.CheckRemoval(op.Path, op.ContentsOnly)
}

func unit(op planner.Unit) (string, error) {
	if !slices.Contains([]string{"start", "stop", "restart", "enable", "disable", planner.DaemonReload}, op.Action) {
		return "", fmt.Errorf("internal error: no unit action %q", op.Action)
	}
	return call("kw_unit", op.Unit, op.Action, yesNo(op.Reload), yesNo(op.Verify)), checkWord("unit", op.Unit)
}

// unmountOptions are umount's options for flags of umount(2).
func unmountOptions(flags []string) ([]string, error) {
	var options []string
	for _, flag := range flags {
		option := map[string]string{"MNT_FORCE": "-f", "MNT_DETACH": "-l"}[flag]
		if option == "" {
			return nil, fmt.Errorf("umount has no option for %q", flag)
		}
		options = append(options, option)
	}
	return options, nil
}

// socketPath removes unix:// from an endpoint.
func socketPath(endpoint string) (string, error) {
	p := strings.TrimPrefix(endpoint, "unix://")
	return p, state.CheckPath(p)
}

// imageForm is an image reference, without characters that commands could misread.
var imageForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/@-]*$`)

func (c *compiler) image(op planner.LoadImage) (string, error) {
	socket, err := socketPath(op.Socket)
	if err != nil {
		return "", err
	}
	images := append([]string{op.Image}, op.Others...)
	for _, image := range images {
		if !imageForm.MatchString(image) {
			return "", fmt.Errorf("%q is no image", image)
		}
	}
	if op.Artifact == "" {
		return call("kw_image_pull", append([]string{socket, op.Policy, providers.NotPulled}, images...)...), state.CheckText("policy", op.Policy)
	}
	err = c.artifact(op.Artifact, op.SHA256)
	return call("kw_image_load", append([]string{socket, op.SHA256}, images...)...), err
}

// mark writes the host's marks. The run token has a file of its own, which every batch
// writes.
func (c *compiler) mark(op planner.Mark) (string, error) {
	if op.Remove {
		return call("kw_marks_off"), nil
	}
	marks := op.Marks
	marks.Token = max(marks.Token, c.batch.Token)
	data, err := json.Marshal(marks)
	if err != nil {
		return "", err
	}
	return c.writeFile(planner.WriteFile{
		Path: path.Clean(marksFile), Mode: "0600", Content: planner.Content{Inline: string(data) + "\n"},
	})
}

// swap compiles the desired state of swap, now and after a boot.
func (c *compiler) swap(op planner.Swap) (string, error) {
	if op.Boot != "" && op.Boot != planner.SwapStaysOff && op.Boot != planner.SwapReturns {
		return "", fmt.Errorf("internal error: swap at boot is to be %q", op.Boot)
	}
	now := "off"
	if op.On {
		now = "on"
	}
	return call("kw_swap", now, op.Boot), nil
}

// kernelModule loads or unloads a module.
func kernelModule(op planner.LoadModule) (string, error) {
	function := "kw_module"
	if op.Unload {
		function = "kw_module_off"
	}
	return call(function, op.Module), checkWord("module", op.Module)
}

// systemUser creates or removes a user.
func systemUser(op planner.SystemUser) (string, error) {
	if err := checkWord("user", op.Name); err != nil || !op.Remove {
		return call("kw_user", op.Name), err
	}
	if op.Keep != "" && op.Keep != planner.KeepUser && op.Keep != planner.KeepGroup {
		return "", fmt.Errorf("%q is neither user nor group", op.Keep)
	}
	return call("kw_user_gone", op.Name, op.Keep), nil
}
