package build

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/kubewright/kubewright/cmd/lab/internal/process"
)

// Conformance is Kubernetes' own conformance suite of one release.
type Conformance struct {
	Release Release
	Program string   // e2e.test
	Kubectl string   // of the same release
	Tests   []string // full names, as in conformance.yaml of the release
	Images  []string // archives of the images that the tests run
}

// conformanceSource is the source of the suite and of programs in the images of its tests.
func (r Release) conformanceSource() source {
	s := r.kubernetes()
	s.name = "conformance"
	s.programs = []program{
		{name: "e2e.test", pkg: "k8s.io/kubernetes/test/e2e", test: true},
		{name: "agnhost", pkg: "k8s.io/kubernetes/test/images/agnhost"},
		{name: "nonewprivs", pkg: "k8s.io/kubernetes/test/images/nonewprivs"},
		{name: "sample-apiserver", pkg: "k8s.io/sample-apiserver"},
	}
	return s
}

// Conformance returns the conformance suite of a release, and builds it if it is missing. The
// first build takes many minutes.
func (c *Cache) Conformance(ctx context.Context, r Release) (Conformance, error) {
	s := r.conformanceSource()
	if err := c.buildSource(ctx, s, s.programs); err != nil {
		return Conformance{}, err
	}
	programs := map[string]string{}
	for _, p := range s.programs {
		programs[p.name] = c.programPath(s, p)
	}
	kubernetes, err := c.Programs(ctx, r, "kubectl")
	if err != nil {
		return Conformance{}, err
	}
	suite := Conformance{Release: r, Program: programs["e2e.test"], Kubectl: kubernetes["kubectl"]}
	if suite.Tests, err = conformanceTests(ctx, suite.Program); err != nil {
		return Conformance{}, err
	}
	suite.Images, err = c.conformanceImages(ctx, r, programs)
	return suite, err
}

// conformanceTests returns the full names of the tests that the suite lists.
func conformanceTests(ctx context.Context, program string) ([]string, error) {
	out, err := process.Output(exec.CommandContext(ctx, program, "-list-conformance-tests"))
	if err != nil {
		return nil, err
	}
	var listed []struct{ Codename string }
	if err := yaml.Unmarshal(out, &listed); err != nil {
		return nil, fmt.Errorf("cannot read the list of conformance tests: %w", err)
	}
	var names []string
	for _, t := range listed {
		names = append(names, t.Codename)
	}
	slices.Sort(names)
	if len(names) == 0 || len(slices.Compact(slices.Clone(names))) != len(names) {
		return nil, fmt.Errorf("cannot use the list of conformance tests: it has %d names, empty or repeated", len(names))
	}
	return names, nil
}

// conformancePackages are Debian's packages with the programs that the tests call in their
// images.
const conformancePackages = "bash,bind9-dnsutils,busybox-static,curl,iperf,iproute2,netcat-openbsd,nginx-light"

// conformanceRoot returns a root file system from which the images of the tests are made.
func (c *Cache) conformanceRoot(ctx context.Context) (string, error) {
	key := "rootfs/conformance-" + suite + "-" + fingerprint(conformancePackages)
	return c.artefact(ctx, key, func(ctx context.Context, dir string) error {
		return bootstrap(ctx, dir, conformancePackages)
	})
}

// conformanceRecipe changes when the same programs result in different images.
const conformanceRecipe = "5"

// conformanceImages returns the archives of the images of the tests, under the names that the
// suite has for them, and builds missing ones.
func (c *Cache) conformanceImages(ctx context.Context, r Release, programs map[string]string) ([]string, error) {
	out, err := process.Output(exec.CommandContext(ctx, programs["e2e.test"], "-list-images"))
	if err != nil {
		return nil, err
	}
	root, err := c.conformanceRoot(ctx)
	if err != nil {
		return nil, err
	}
	module, err := r.kubernetes().download(ctx, c.Dir)
	if err != nil {
		return nil, err
	}
	refs := slices.Sorted(strings.FieldsSeq(string(out)))
	key := fmt.Sprintf("images/conformance-%s-%s", r.Kubernetes, fingerprint(append(refs, root, conformanceRecipe)...))
	dir, err := c.artefact(ctx, key, func(ctx context.Context, dir string) error {
		m := testImages{root: root, module: module.Dir, programs: programs}
		for _, ref := range refs {
			i, ok, err := m.image(ctx, ref)
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
			if err := i.writeFile(filepath.Join(dir, imageFile(ref))); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return filepath.Glob(filepath.Join(dir, "*.tar"))
}

// testImages makes the images of the suite's tests. Each has the programs that the tests call in
// the original, taken from Debian where upstream takes Alpine's.
type testImages struct {
	root     string // a root file system with the programs
	module   string // the source of Kubernetes
	programs map[string]string
}

// image returns the image with a name of the suite; ok reports whether it is one that conformance
// tests run and that no host has otherwise.
func (m testImages) image(ctx context.Context, ref string) (i image, ok bool, err error) {
	name, ours := strings.CutPrefix(ref, registry+"/e2e-test-images/")
	if !ours { // also one that tests must not be able to pull
		return image{}, false, nil
	}
	name, _, _ = strings.Cut(name, ":")
	switch name {
	case "agnhost":
		i, err = m.agnhost(ctx)
	case "busybox":
		i, err = m.busybox(ctx)
	case "glibc-dns-testing":
		i, err = m.withPrograms(ctx, "/usr/bin/dig", "/usr/bin/getent", "/usr/bin/host", "/usr/bin/nslookup")
	case "kitten", "nautilus":
		i, err = m.agnhost(ctx)
		i.command = []string{"test-webserver"}
		for _, file := range []string{name + ".jpg", "data.json"} {
			i.files["/"+file] = filepath.Join(m.module, "test/images", name, "html", file)
		}
	case "nginx":
		i, err = m.nginx(ctx)
	case "nonewprivs":
		i, err = m.busybox(ctx)
		i.files["/usr/local/bin/nnp"] = m.programs[name]
		i.modes["/usr/local/bin/nnp"] = 0o6755
		i.command = []string{"nnp"}
	case "nonroot":
		i, err = m.busybox(ctx)
		i.user = "1234"
	case "sample-apiserver":
		i, err = m.busybox(ctx)
		i.files["/sample-apiserver"] = m.programs[name]
		i.entrypoint, i.command = []string{"/sample-apiserver"}, nil
	default:
		return image{}, false, nil
	}
	i.ref = ref
	return i, true, err
}

// busybox returns an image of busybox with all its commands, and of the files that every system
// has. The shell is bash: Debian's busybox prefers its own commands to those in the image, such as
// nc, and drops variables of the environment whose names a shell cannot use.
func (m testImages) busybox(ctx context.Context) (image, error) {
	const program, shell = "/bin/busybox", "/bin/bash"
	i := image{
		files: map[string]string{program: filepath.Join(m.root, program)},
		texts: map[string]string{
			"/etc/passwd":        "root:x:0:0:root:/root:/bin/sh\nwww-data:x:33:33:www-data:/var/www:/bin/false\nuser-defined-in-image:x:1000:1000::/home:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n",
			"/etc/group":         "root:x:0:\nwww-data:x:33:\nuser-defined-in-image:x:1000:\ngroup-defined-in-image:x:50000:user-defined-in-image\nnogroup:x:65534:\n",
			"/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
		},
		links:   map[string]string{},
		modes:   map[string]int64{"/tmp": 0o1777, "/var/tmp": 0o1777, "/root": 0o700, "/home": 0o755, "/run": 0o755, "/usr/sbin": 0o755},
		command: []string{"sh"},
	}
	out, err := process.Output(exec.CommandContext(ctx, i.files[program], "--list"))
	for name := range strings.FieldsSeq(string(out)) {
		if name != "busybox" {
			i.links["/bin/"+name] = program
		}
	}
	i.links["/bin/sh"] = shell
	return i, errors.Join(err, i.addDynamic(ctx, m.root, []string{shell}))
}

// withPrograms returns the image of busybox with programs of the root file system, which replace
// busybox's of the same name, and their libraries.
func (m testImages) withPrograms(ctx context.Context, programs ...string) (image, error) {
	i, err := m.busybox(ctx)
	if err != nil {
		return i, err
	}
	for _, p := range programs {
		delete(i.links, "/bin/"+path.Base(p))
	}
	libraries, err := filepath.Glob(filepath.Join(m.root, "lib/*/libnss_*.so.2"))
	if err != nil {
		return i, err
	}
	for n, file := range libraries {
		libraries[n] = strings.TrimPrefix(file, m.root)
	}
	return i, i.addDynamic(ctx, m.root, slices.Concat(programs, libraries))
}

func (m testImages) agnhost(ctx context.Context) (image, error) {
	i, err := m.withPrograms(ctx, "/usr/bin/curl", "/usr/bin/dig", "/usr/bin/getent", "/usr/bin/host", "/usr/bin/iperf",
		"/usr/bin/nc", "/usr/bin/nslookup", "/usr/bin/ss", "/usr/sbin/ip", "/usr/bin/lsns", "/usr/bin/nsenter", "/usr/bin/unshare")
	if err != nil {
		return i, err
	}
	maps.Copy(i.files, map[string]string{
		"/agnhost":       m.programs["agnhost"],
		"/localhost.crt": filepath.Join(m.module, "test/images/agnhost/porter/localhost.crt"),
		"/localhost.key": filepath.Join(m.module, "test/images/agnhost/porter/localhost.key"),
	})
	maps.Copy(i.links, map[string]string{"/agnhost-2": "agnhost", "/usr/local/bin/iperf": "/usr/bin/iperf"})
	i.modes["/uploads"] = 0o755
	i.entrypoint, i.command = []string{"/agnhost"}, []string{"pause"}
	return i, nil
}

// nginxConfig returns a configuration that serves the page that nginx has by default.
func nginxConfig(port int) string {
	return fmt.Sprintf(`daemon off;
user www-data;
pid /var/run/nginx.pid;
error_log /dev/stderr notice;
events {}
http {
  access_log /dev/stdout;
  server {
    listen %d;
    root /usr/share/nginx/html;
  }
}
`, port)
}

func (m testImages) nginx(ctx context.Context) (image, error) {
	i, err := m.withPrograms(ctx, "/usr/sbin/nginx")
	if err != nil {
		return i, err
	}
	maps.Copy(i.texts, map[string]string{
		"/etc/nginx/nginx.conf":            nginxConfig(80),
		"/usr/share/nginx/html/index.html": "<!DOCTYPE html>\n<title>Welcome to nginx!</title>\n<h1>Welcome to nginx!</h1>\n",
	})
	i.modes["/var/log/nginx"], i.modes["/var/lib/nginx"], i.modes["/var/run"] = 0o755, 0o755, 0o755
	i.command = []string{"nginx"}
	return i, nil
}
