package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"sync"

	"github.com/kubewright/kubewright/cmd/lab/internal/balancer"
	"github.com/kubewright/kubewright/cmd/lab/internal/build"
	"github.com/kubewright/kubewright/cmd/lab/internal/cgroup"
)

// Names of package build for users of this package.
const (
	// DefaultKubernetes is the release used if none is named.
	DefaultKubernetes = build.DefaultKubernetes
	// WorkloadImage is the test image of pods, present on prepared hosts.
	WorkloadImage = build.WorkloadImage
)

// ErrInUse is the error for bringing up a lab whose name is in use by a lab with a live keeper.
var ErrInUse = errors.New("a lab of that name is up; take it down first")

// ErrNeedsRoot is the error for creating hosts without root.
var ErrNeedsRoot = errors.New("hosts need root: they are made of namespaces, mounts and cgroups")

// Options configure a lab to bring up. The zero value is a lab named "lab" of three control
// planes and two workers, prepared for the default release.
type Options struct {
	Name          string       // lower-case letters and digits, at most ten; default "lab"
	Kubernetes    string       // release; default DefaultKubernetes
	ControlPlanes int          // hosts cp1, cp2, …; default 3 if Workers is 0 too
	Workers       int          // hosts w1, w2, …; default 2 if ControlPlanes is 0 too
	Families      Families     // of the hosts' and pods' addresses; default IPv4
	Bare          bool         // only Debian and sshd
	MoreImages    []string     // further releases whose images prepared hosts hold
	Archives      []string     // further image archives whose images prepared hosts hold
	Cache         *build.Cache // default DefaultCache
	Log           io.Writer    // one line per slow operation; default none

	// Balancer, if set, is a command (argv) that serves as the balancer of the lab named by its
	// last argument, in a separate process that outlives the caller. Otherwise the balancer runs
	// in the caller's process.
	Balancer []string
}

// A Lab is a bridge with hosts. Its methods may be called concurrently for
// different hosts.
type Lab struct {
	hosts
	cache    *build.Cache
	balancer *balancer.Balancer // nil if it runs in another process
	release  func()             // releases the lab, if this process keeps it
}

func newLab(cache *build.Cache, r record) *Lab {
	return &Lab{hosts: hosts{newLayout(cache, r)}, cache: cache}
}

// Up clears the leftovers of an earlier lab of the same name, and brings up a new one. A lab
// whose keeper (the process that runs its balancer) is alive is not touched: the error is
// ErrInUse. Up returns when every host has booted and its sshd answers. If it fails, it takes
// down what it has created.
func Up(ctx context.Context, o Options) (*Lab, error) {
	if os.Geteuid() != 0 {
		return nil, ErrNeedsRoot
	}
	l, err := o.lab()
	if err != nil {
		return nil, err
	}
	if err := build.InstallTools(ctx); err != nil {
		return nil, err
	}
	if err := l.build(ctx, o); err != nil {
		return nil, err
	}
	unlock, err := l.cache.Lock(ctx, "lab-"+l.record.Name)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := l.keep(); err != nil {
		return nil, err
	}
	if err := l.clear(ctx); err != nil {
		l.letGo()
		return nil, fmt.Errorf("cannot clear what an earlier lab %s left: %w", l.record.Name, err)
	}
	what := fmt.Sprintf("bring up %d hosts of lab %s", o.ControlPlanes+o.Workers, l.record.Name)
	if err := l.cache.Timed(what, func() error { return l.up(ctx, o) }); err != nil {
		clearing := l.clear(context.WithoutCancel(ctx))
		l.letGo()
		return nil, errors.Join(fmt.Errorf("cannot %s: %w", what, err), clearing)
	}
	return l, nil
}

// keep makes this process the lab's keeper, until it ends or calls letGo.
func (l *Lab) keep() error {
	release, ok, err := l.cache.TryLock("keeper-" + l.record.Name)
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("cannot bring up lab %s: %w", l.record.Name, ErrInUse)
	}
	l.release = release
	return nil
}

// letGo releases the lab.
func (l *Lab) letGo() {
	if l.release != nil {
		l.release()
		l.release = nil
	}
}

var labName = regexp.MustCompile(`^[a-z][a-z0-9]{0,9}$`)

// lab completes the options and returns the lab that they describe, which does not exist yet.
func (o *Options) lab() (*Lab, error) {
	if o.Name == "" {
		o.Name = defaultName
	}
	if !labName.MatchString(o.Name) {
		return nil, fmt.Errorf("cannot name a lab %q: at most ten lower-case letters and digits", o.Name)
	}
	release, err := build.FindRelease(o.Kubernetes)
	if err != nil {
		return nil, err
	}
	if o.ControlPlanes == 0 && o.Workers == 0 {
		o.ControlPlanes, o.Workers = 3, 2
	}
	if o.ControlPlanes < 0 || o.ControlPlanes > 9 || o.Workers < 0 || o.Workers > 200 {
		return nil, fmt.Errorf("cannot make %d control planes and %d workers: at most 9 and 200", o.ControlPlanes, o.Workers)
	}
	if o.Cache == nil {
		if o.Cache, err = build.DefaultCache(); err != nil {
			return nil, err
		}
	}
	cache := *o.Cache
	if o.Log != nil {
		cache.Log = o.Log
	}
	if err := o.Families.check(); err != nil {
		return nil, err
	}
	r := record{Name: o.Name, Kubernetes: release.Kubernetes, Bare: o.Bare, Families: o.Families}
	return newLab(&cache, r), nil
}

// chooseHosts returns the hosts of a new lab, control planes first.
func chooseHosts(families Families, subnet netip.Prefix, controlPlanes, workers int) []Host {
	var all []Host
	add := func(name string, role Role, n int) {
		all = append(all, Host{Name: name, Role: role, Addresses: families.addresses(subnet, n), Pods: families.pods(n)})
	}
	for i := 1; i <= controlPlanes; i++ {
		add(fmt.Sprintf("cp%d", i), ControlPlane, controlPlaneOctet+i)
	}
	for i := 1; i <= workers; i++ {
		add(fmt.Sprintf("w%d", i), Worker, workerOctet+i)
	}
	return all
}

// build builds the parts of the hosts. A bare host's operator gets the artifacts; a prepared host
// contains them.
func (l *Lab) build(ctx context.Context, o Options) error {
	release, err := build.FindRelease(l.record.Kubernetes)
	if err != nil {
		return err
	}
	root, err := l.cache.Rootfs(ctx)
	if err != nil {
		return err
	}
	artifacts, err := l.cache.Artifacts(ctx, release)
	if err != nil {
		return err
	}
	l.record.Artifacts = artifacts.Dir
	l.record.Layers = []string{root.Base}
	modules, err := l.cache.Modules(ctx)
	if err != nil {
		return err
	}
	if modules != "" {
		l.record.Layers = append([]string{modules}, l.record.Layers...)
	}
	if o.Bare {
		return nil
	}
	layer, err := l.cache.Prepared(ctx, release)
	if err != nil {
		return err
	}
	l.record.Layers = append([]string{layer}, l.record.Layers...)
	releases := []build.Release{release}
	for _, version := range o.MoreImages {
		more, err := build.FindRelease(version)
		if err != nil {
			return err
		}
		releases = append(releases, more)
	}
	l.record.Store, err = l.cache.Store(ctx, o.Archives, releases...)
	return err
}

// up creates the folder, the bridge, the hosts (in parallel) and the balancer.
func (l *Lab) up(ctx context.Context, o Options) error {
	if err := l.bridgeUp(ctx, o); err != nil {
		return err
	}
	if err := l.writeFolder(); err != nil {
		return err
	}
	// lab.json exists now, so a lab that goes down does not restore them.
	if err := saveSysctls(ctx, l.cache); err != nil {
		return err
	}
	if err := l.eachHost(func(g guest) error { return g.up(ctx) }); err != nil {
		return err
	}
	return l.startBalancer(ctx, o.Balancer)
}

// eachHost runs do for all hosts in parallel.
func (l *Lab) eachHost(do func(guest) error) error {
	all := l.guests()
	errs := make([]error, len(all))
	var group sync.WaitGroup
	for i, g := range all {
		group.Go(func() { errs[i] = do(g) })
	}
	group.Wait()
	return errors.Join(errs...)
}

// Open returns a lab that is up, from its folder.
func Open(cache *build.Cache, name string) (*Lab, error) {
	if name == "" {
		name = defaultName
	}
	l := newLab(cache, record{Name: name})
	text, err := os.ReadFile(l.path("lab.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cannot find lab %s: it is not up (labs that are: %v)", name, Names(cache))
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &l.record); err != nil {
		return nil, fmt.Errorf("cannot read lab %s: %w", name, err)
	}
	return l, nil
}

// Names returns the names of the labs that are up.
func Names(cache *build.Cache) []string {
	found, _ := filepath.Glob(cache.Path("labs", "*", "lab.json"))
	var all []string
	for _, file := range found {
		all = append(all, filepath.Base(filepath.Dir(file)))
	}
	return all
}

// Down takes the lab down: processes, links, namespaces, mounts, cgroups and the lab's folder. It
// also works for a lab that is only partly there.
func (l *Lab) Down(ctx context.Context) error {
	unlock, err := l.cache.Lock(ctx, "lab-"+l.record.Name)
	if err != nil {
		return err
	}
	defer unlock()
	if err := l.clear(ctx); err != nil {
		return fmt.Errorf("cannot take down lab %s: %w", l.record.Name, err)
	}
	l.letGo()
	return nil
}

// Clear takes down everything that exists of a lab with that name.
func Clear(ctx context.Context, cache *build.Cache, name string) error {
	if name == "" {
		name = defaultName
	}
	if !labName.MatchString(name) {
		return fmt.Errorf("cannot take down %q: not a lab's name", name)
	}
	if os.Geteuid() != 0 {
		return ErrNeedsRoot
	}
	return newLab(cache, record{Name: name}).Down(ctx)
}

// clear removes everything with the lab's name, in the order of dependencies.
func (l *Lab) clear(ctx context.Context) error {
	if l.balancer != nil {
		l.balancer.Close()
		l.balancer = nil
	}
	groups, err := cgroup.Named(l.names().prefix())
	if err != nil {
		return err
	}
	for _, g := range groups {
		if err := g.Kill(ctx); err != nil {
			return err
		}
	}
	for _, g := range groups {
		if err := g.Remove(ctx); err != nil {
			return err
		}
	}
	if err := l.names().clearNetwork(ctx); err != nil {
		return err
	}
	if err := unmountBelow(l.path()); err != nil {
		return err
	}
	if err := os.RemoveAll(l.path()); err != nil {
		return err
	}
	return restoreSysctls(ctx, l.cache)
}
