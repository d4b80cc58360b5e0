package sim

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// How long operations take in the world's time.
const (
	timeFile   = 5 * time.Millisecond
	timeUpload = 800 * time.Millisecond
	timeImage  = 1500 * time.Millisecond
	timeUnit   = 300 * time.Millisecond
	timePods   = 2 * time.Second
)

// Perform does host operations in order and stops at the first that fails.
func (h *Host) Perform(ctx context.Context, batch providers.Batch) ([]providers.Outcome, error) {
	h.w.mu.Lock()
	defer h.w.mu.Unlock()
	m := h.machine()
	if err := h.w.admit(ctx, m, batch); err != nil {
		return nil, err
	}
	var outcomes []providers.Outcome
	for i, op := range batch.Operations {
		outcome, err := h.w.perform(ctx, m, op, batch)
		outcomes = append(outcomes, outcome)
		if outcome.Changed && batch.Hear != nil {
			for _, line := range printed(op) {
				batch.Hear(i, line)
			}
		}
		if err != nil {
			return outcomes, err
		}
	}
	return outcomes, nil
}

// expected refuses a batch when a file is not as it was.
func (w *World) expected(m *machine, batch providers.Batch) error {
	for _, p := range sortedKeys(batch.Expect) {
		now := "gone"
		if f := w.resolve(m, clean(p)); f.isRegular() {
			now = f.SHA256
		}
		if now != batch.Expect[p] {
			return &providers.Error{Kind: providers.ErrMoved, Do: "change " + m.address, Cause: providers.Moved(p, batch.Expect[p], now)}
		}
	}
	return nil
}

// ownFolder is where kubewright keeps what it has to remember on a host.
const ownFolder = "/var/lib/kubewright"

// perform does one operation as one effect.
func (w *World) perform(ctx context.Context, m *machine, op planner.Operation, batch providers.Batch) (providers.Outcome, error) {
	var outcome providers.Outcome
	if err := ctx.Err(); err != nil {
		return outcome, err
	}
	if err := checkOperation(op); err != nil {
		return outcome, fmt.Errorf("cannot %s: %w", op.Summary(), err)
	}
	err := w.act(m, op.Op(), detail(op), func() error {
		changed, err := w.do(m, op, batch)
		if outcome.Changed = changed; changed {
			w.did(m, op.Op()+" "+detail(op))
		}
		return err
	}, func() { w.doHalf(m, op) })
	return outcome, err
}

// detail returns what an operation is about.
func detail(op planner.Operation) string {
	switch op := op.(type) {
	case planner.WriteFile:
		return op.Path
	case planner.RemovePath:
		return op.Path
	case planner.EnsureDirectory:
		return op.Path
	case planner.SetAccess:
		return op.Path
	case planner.UploadArtifact:
		return op.Artifact
	case planner.Preserve:
		return op.Path
	case planner.Restore:
		return op.Path
	case planner.Packages:
		return op.Manager
	case planner.LoadImage:
		return op.Image
	case planner.RestoreEtcd:
		return op.Artifact
	case planner.SetAsideEtcd:
		return op.DataDir
	case planner.Unit:
		return op.Action + " " + op.Unit
	case planner.RestartProcess:
		return op.Process.Name
	case planner.SetSysctl:
		return op.Name
	case planner.LoadModule:
		return op.Module
	case planner.Unmount:
		return op.Below
	}
	return ""
}

// do performs one operation of the closed set and reports whether it changed anything.
func (w *World) do(m *machine, op planner.Operation, batch providers.Batch) (bool, error) {
	switch op := op.(type) {
	case planner.WriteFile:
		return w.writeFile(m, op, batch)
	case planner.RemovePath:
		return w.removePath(m, op)
	case planner.EnsureDirectory:
		return w.ensureDirectory(m, op)
	case planner.SetAccess:
		return w.setAccess(m, op)
	case planner.UploadArtifact:
		return w.uploadArtifact(m, op, batch)
	case planner.Preserve:
		return w.preserve(m, clean(op.Path))
	case planner.Restore:
		return w.restore(m, clean(op.Path)), nil
	case planner.Packages:
		return w.changePackages(m, op)
	case planner.LoadImage:
		return w.loadImage(m, op, batch)
	case planner.Unit:
		return w.actOnUnit(m, unitName(op.Unit), op.Action)
	case planner.RestartProcess:
		return w.restart(m, op), nil
	case planner.SetSysctl:
		if _, has := w.sysctl(m, op.Name); !has && op.Restore {
			return false, nil
		}
		return w.setSysctl(m, op.Name, op.Value)
	case planner.LoadModule:
		return w.loadModule(m, op.Module, !op.Unload)
	case planner.Swap:
		return w.setSwap(m, op), nil
	case planner.RemovePods:
		if isMissing(op.Socket) {
			return false, nil // where there is no runtime there are no pods of it
		}
		return w.removePods(m)
	case planner.Unmount:
		return w.unmount(m, clean(op.Below)), nil
	case planner.RemoveNetwork:
		return w.removeNetwork(m, op.Links), nil
	case planner.RemoveProxyRules:
		return w.clearProxyRules(m, op.Mode)
	case planner.Mark:
		return w.mark(m, op), nil
	case planner.SetAsideEtcd:
		return w.setAside(m, op.DataDir, op.As)
	case planner.RestoreEtcd:
		return w.restoreEtcd(m, op, batch)
	}
	return false, fmt.Errorf("internal error: the simulator does not know operation %s", op.Op())
}

// doHalf leaves what an operation leaves that is cut off in the middle.
func (w *World) doHalf(m *machine, op planner.Operation) {
	switch op := op.(type) {
	case planner.RemovePath:
		tree := w.tree(m, clean(op.Path))
		for _, p := range tree[len(tree)/2:] {
			w.removeOne(m, p)
		}
	case planner.Packages:
		w.halfPackages(m, op)
	case planner.RemovePods:
		names := sortedKeys(m.Pods)
		for _, name := range names[:len(names)/2] {
			delete(m.Pods, name)
		}
	case planner.Unmount:
		if n := len(m.Mounts); n > 0 {
			m.Mounts = m.Mounts[:n-n/2]
		}
	}
}

func (w *World) writeFile(m *machine, op planner.WriteFile, batch providers.Batch) (bool, error) {
	content := []byte(op.Content.Inline)
	if op.Content.Ref != "" {
		secret, ok := batch.Contents[op.Content.Ref]
		if !ok {
			return false, fmt.Errorf("internal error: nothing given for %s", op.Content.Ref)
		}
		content = secret.Reveal()
	}
	if op.SHA256 != "" && op.SHA256 != sum(content) {
		return false, fmt.Errorf("internal error: content of %s has digest %s, expected %s", op.Path, sum(content), op.SHA256)
	}
	return w.write(m, op.Path, w.contentFile(content, op.Mode, op.Owner))
}

// write puts a file in place unless an equal one is there.
func (w *World) write(m *machine, name string, f *file) (bool, error) {
	p := clean(name)
	present := w.get(m, p)
	switch {
	case present != nil && same(present, f):
		return false, nil
	case present.isDir() && f.Type != typeDirectory:
		return false, m.commandError("write "+name, 1, name+": Is a directory")
	case m.Conditions.DiskFull:
		return false, m.commandError("write "+name, 1, "write error: No space left on device")
	}
	if at := w.notDirectory(m, p); at != "" {
		return false, m.commandError("write "+name, 1, at+": Not a directory")
	}
	if at := w.foreignFolder(m, p); at != "" {
		return false, m.commandError("write "+name, 1, "others than root can write to "+at)
	}
	w.put(m, p, f)
	w.advance(timeFile)
	return true, nil
}

// notDirectory returns the first part of the path to p that is no folder, or "".
func (w *World) notDirectory(m *machine, p string) string {
	for dir := parent(p); dir != "/"; dir = parent(dir) {
		if f := w.get(m, dir); f != nil && !f.isDir() {
			return dir
		}
	}
	return ""
}

// foreignFolder returns the first folder on the way to p that belongs to others than root, or
// that others can write to, or "".
func (w *World) foreignFolder(m *machine, p string) string {
	for dir := parent(p); dir != "/"; dir = parent(dir) {
		f := w.get(m, dir)
		if f == nil || !f.isDir() {
			continue
		}
		mode, _ := strconv.ParseUint(f.mode(), 8, 32)
		user, group, _ := strings.Cut(f.owner(), ":")
		if user != "root" || mode&0o002 != 0 || mode&0o020 != 0 && group != "root" {
			return dir
		}
	}
	return ""
}

// checkOperation refuses what a real host refuses before it does anything.
func checkOperation(op planner.Operation) error {
	switch op := op.(type) {
	case planner.WriteFile:
		return errors.Join(state.CheckPath(op.Path), checkAccess(op.Mode, op.Owner))
	case planner.EnsureDirectory:
		return errors.Join(state.CheckPath(op.Path), checkAccess(op.Mode, op.Owner))
	case planner.SetAccess:
		return errors.Join(state.CheckPath(op.Path), checkAccess(op.Mode, op.Owner))
	case planner.UploadArtifact:
		return checkFiles(op.Files)
	case planner.Preserve:
		return state.CheckPath(op.Path)
	case planner.Restore:
		return state.CheckPath(op.Path)
	case planner.RemovePath:
		return errors.Join(state.CheckPath(op.Path), state.CheckRemoval(op.Path, op.ContentsOnly))
	case planner.Unmount:
		return errors.Join(state.CheckPath(op.Below), state.CheckRemoval(op.Below, false))
	}
	if !planner.IsHostOperation(op) {
		return fmt.Errorf("internal error: %T is no operation of a host", op)
	}
	return nil
}

func checkFiles(files []planner.ArtifactFile) error {
	var all []error
	for _, f := range files {
		all = append(all, state.CheckPath(f.Path), checkAccess(f.Mode, ""))
	}
	return errors.Join(all...)
}

var (
	modeForm  = regexp.MustCompile(`^0*[0-7]{1,4}$`)
	ownerForm = regexp.MustCompile(`^([A-Za-z0-9_][A-Za-z0-9_.-]*:[A-Za-z0-9_][A-Za-z0-9_.-]*)?$`)
)

func checkAccess(mode, owner string) error {
	switch {
	case !modeForm.MatchString(mode):
		return fmt.Errorf("mode %q is not octal", mode)
	case !ownerForm.MatchString(owner):
		return fmt.Errorf("owner %q is not USER:GROUP", owner)
	}
	return nil
}

func (w *World) removePath(m *machine, op planner.RemovePath) (bool, error) {
	p := clean(op.Path)
	f := w.get(m, p)
	if f == nil {
		return false, nil
	}
	for _, mount := range m.Mounts {
		if mount == p || below(mount, p) {
			return false, m.commandError("remove "+op.Path, 1, mount+": Device or resource busy")
		}
	}
	if op.ContentsOnly && !f.isDir() {
		return false, m.commandError("empty "+op.Path, 1, op.Path+" is no folder")
	}
	tree := w.tree(m, p)
	if p == runtimeStore {
		for _, image := range w.images(m) {
			w.setImage(m, image, false)
		}
	}
	if op.ContentsOnly {
		for _, child := range tree {
			w.removeOne(m, child)
		}
		return len(tree) > 0, nil
	}
	w.remove(m, p)
	w.advance(timeFile)
	return true, nil
}

func (w *World) ensureDirectory(m *machine, op planner.EnsureDirectory) (bool, error) {
	f := file{Type: typeDirectory}
	if present := w.get(m, clean(op.Path)); present != nil && !present.isDir() {
		return false, m.commandError("make folder "+op.Path, 1, op.Path+": File exists")
	}
	return w.write(m, op.Path, f.withMode(op.Mode, op.Owner))
}

func (w *World) setAccess(m *machine, op planner.SetAccess) (bool, error) {
	present := w.get(m, clean(op.Path))
	if !present.isRegular() {
		return false, m.commandError(op.Summary(), 1, op.Path+" is no file")
	}
	f := present.withMode(op.Mode, op.Owner)
	if same(present, f) {
		return false, nil
	}
	w.put(m, clean(op.Path), f)
	w.advance(timeFile)
	return true, nil
}

func (w *World) loadImage(m *machine, op planner.LoadImage, batch providers.Batch) (bool, error) {
	if isMissing(op.Socket) || !w.active(m, "containerd") {
		return false, m.commandError("load image "+op.Image, 1, "connect: no such file or directory: "+op.Socket)
	}
	missing := slices.DeleteFunc(append([]string{op.Image}, op.Others...), func(i string) bool { return w.hasImage(m, i) })
	if len(missing) == 0 && (op.Artifact != "" || op.Policy != "Always") {
		return false, nil
	}
	switch {
	case op.Artifact == "" && op.Policy == "Never":
		return false, m.commandError("find image "+missing[0], 1, missing[0]+": not present, and the policy is Never")
	case op.Artifact == "" && m.Conditions.NoRegistry:
		return false, m.commandError("pull image "+op.Image, 1, "failed to pull and unpack image "+op.Image+": dial tcp: i/o timeout\n"+providers.NotPulled)
	case m.Conditions.DiskFull:
		return false, m.commandError("load image "+op.Image, 1, "no space left on device")
	}
	if op.Artifact != "" {
		if _, err := receive(op.Artifact, op.SHA256, batch); err != nil {
			return false, m.commandError("load image "+op.Image, 1, err.Error())
		}
	}
	for _, i := range missing {
		w.setImage(m, i, true)
	}
	w.advance(timeImage)
	return len(missing) > 0, nil
}

func (w *World) actOnUnit(m *machine, name, action string) (bool, error) {
	u, ok := w.unit(m, name)
	what := action + " unit " + unitFile(name)
	if !ok && (action == "stop" || action == "disable") {
		return false, nil // what is not there does not run
	}
	if !ok {
		return false, m.commandError(what, 5, "Unit "+unitFile(name)+" not found.")
	}
	before := u
	if name == "containerd" && (action == "start" || action == "restart") && !w.hasProgram(m, name) {
		return false, m.commandError(what, 1, "Failed at step EXEC: No such file or directory")
	}
	switch action {
	case "start", "restart":
		u.Active = true
	case "stop":
		u.Active = false
	case "enable":
		u.Enabled = true
	case "disable":
		u.Enabled = false
	default:
		return false, fmt.Errorf("internal error: unknown unit action %q", action)
	}
	w.setUnit(m, name, u)
	if name == "containerd" && u.Active {
		w.makeStore(m)
	}
	changed := u != before || action == "restart"
	if name == "kubelet" && (action == "restart" || u.Active != before.Active) {
		w.kubeletTurned(m, u.Active)
	}
	if changed {
		w.advance(timeUnit)
	}
	return changed, nil
}

// runtimeStore is where containerd keeps its images.
const runtimeStore = "/var/lib/containerd"

// storeFolders are those that containerd makes when it starts.
var storeFolders = []string{
	runtimeStore + "/io.containerd.content.v1.content", runtimeStore + "/io.containerd.metadata.v1.bolt",
	"/run/containerd/io.containerd.runtime.v2.task", "/opt/containerd/bin", "/opt/containerd/lib",
}

// makeStore makes them where they are missing.
func (w *World) makeStore(m *machine) {
	for _, p := range storeFolders {
		if w.get(m, p) == nil {
			w.put(m, p, &file{Type: typeDirectory})
		}
	}
}

func (w *World) setSysctl(m *machine, name, value string) (bool, error) {
	present, ok := w.sysctl(m, name)
	if !ok {
		return false, m.commandError("set "+name, 255, "sysctl: cannot stat /proc/sys/"+strings.ReplaceAll(name, ".", "/")+": No such file or directory")
	}
	if present == value {
		return false, nil
	}
	setText(&m.Sysctls, name, value, w.base(m).sysctls[name])
	return true, nil
}

func (w *World) loadModule(m *machine, name string, load bool) (bool, error) {
	if w.module(m, name) == load {
		return false, nil
	}
	if load && slices.Contains(m.Conditions.NoModules, name) {
		return false, fmt.Errorf("modprobe: FATAL: Module %s not found", name)
	}
	setFlag(&m.Modules, name, load, w.base(m).modules[name])
	if name == "br_netfilter" && !load {
		for sysctl := range m.Sysctls {
			if strings.HasPrefix(sysctl, "net.bridge.") {
				delete(m.Sysctls, sysctl)
			}
		}
	}
	return true, nil
}

// swapTarget is where a mask on the unit lies that turns swap on at boot.
const swapTarget = "/etc/systemd/system/" + planner.SwapTarget

func (w *World) setSwap(m *machine, op planner.Swap) bool {
	changed, masked := false, w.get(m, swapTarget) != nil
	switch {
	case op.Boot == planner.SwapStaysOff && !masked:
		w.put(m, swapTarget, &file{Type: typeLink, Link: "/dev/null"})
		changed = true
	case op.Boot == planner.SwapReturns && masked:
		w.remove(m, swapTarget)
		changed = true
	}
	// On again as fstab has it: nothing happens where it has none.
	if w.swap(m) == op.On || op.On && !w.swapConfigured(m) {
		return changed
	}
	w.turnSwap(m, op.On)
	return true
}

func (w *World) turnSwap(m *machine, on bool) {
	m.SwapOff, m.SwapOn = !on && w.profile(m).Swap, on && !w.profile(m).Swap
}

func (w *World) swapConfigured(m *machine) bool {
	return strings.Contains(string(w.content(w.get(m, "/etc/fstab"))), " swap ")
}

// swapAtBoot reports whether a boot turns swap on.
func (w *World) swapAtBoot(m *machine) bool {
	return w.swapConfigured(m) && w.get(m, swapTarget) == nil
}

// versionInName finds a version in the name of an artifact.
var versionInName = regexp.MustCompile(`\d+\.\d+\.\d+`)
