package build

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
)

// CRITest is critest, the suite of cri-tools that judges container runtimes.
type CRITest struct {
	Program string
	Images  []string // archives of the images that the tests pull
}

// criTestRecipe changes when the same programs result in different images.
const criTestRecipe = "2"

// CRITest returns critest, and builds it if it is missing.
func (c *Cache) CRITest(ctx context.Context, r Release) (CRITest, error) {
	s := r.crictl()
	s.name = "critest"
	s.programs = []program{{name: "critest", pkg: s.module + "/cmd/critest", test: true}}
	suite := r.conformanceSource()
	suite.programs = suite.only([]string{"nonewprivs"})
	if err := errors.Join(c.buildSource(ctx, s, s.programs), c.buildSource(ctx, suite, suite.programs)); err != nil {
		return CRITest{}, err
	}
	own, err := c.ownPrograms(ctx)
	if err != nil {
		return CRITest{}, err
	}
	root, err := c.conformanceRoot(ctx)
	if err != nil {
		return CRITest{}, err
	}
	m := testImages{root: root, programs: map[string]string{"nonewprivs": c.programPath(suite, suite.programs[0])}}
	key := "images/critest-" + fingerprint(crictlVersion, own, root, criTestRecipe)
	dir, err := c.artefact(ctx, key, func(ctx context.Context, dir string) error {
		images, err := m.ofCRITest(ctx, filepath.Join(own, "pause"))
		for ref, i := range images {
			i.ref = ref
			err = errors.Join(err, i.writeFile(filepath.Join(dir, imageFile(ref))))
		}
		return err
	})
	if err != nil {
		return CRITest{}, err
	}
	files, err := os.ReadDir(dir)
	out := CRITest{Program: c.programPath(s, s.programs[0])}
	for _, f := range files {
		out.Images = append(out.Images, filepath.Join(dir, f.Name()))
	}
	return out, err
}

// ofCRITest returns the images that critest pulls, by name (pkg/validate/consts.go and images/ of
// cri-tools).
func (m testImages) ofCRITest(ctx context.Context, pause string) (map[string]image, error) {
	const own, e2e = "gcr.io/k8s-staging-cri-tools/", registry + "/e2e-test-images/"
	out := map[string]image{
		registry + "/pause:3.9": {files: map[string]string{"/pause": pause}, entrypoint: []string{"/pause"}},
		"k8s.gcr.io/pause:3.9":  {files: map[string]string{"/pause": pause}, entrypoint: []string{"/pause"}},
	}
	var errs []error
	// add adds an image that edit makes of busybox's.
	add := func(ref string, edit func(*image)) {
		i, err := m.busybox(ctx)
		edit(&i)
		out[ref], errs = i, append(errs, err)
	}
	add(e2e+"busybox:1.29-2", func(i *image) {
		errs = append(errs, i.addDynamic(ctx, m.root, []string{"/usr/bin/ipcs"})) // Alpine's busybox has it
	})
	add(e2e+"nonewprivs:1.3", func(i *image) {
		i.files["/usr/local/bin/nnp"], i.modes["/usr/local/bin/nnp"] = m.programs["nonewprivs"], 0o6755
		i.command = []string{"nnp"}
	})
	for name, user := range map[string]string{"uid": "1002", "username": "www-data", "uid-group": "1003:1004", "username-group": "www-data:1004"} {
		add(own+"test-image-user-"+name+":latest", func(i *image) { i.user = user })
	}
	add(own+"test-image-predefined-group:latest", func(i *image) { i.user = "1000" })
	for _, name := range []string{"latest:latest", "1:latest", "2:latest", "3:latest", "tag:test", "tag:all"} {
		add(own+"test-image-"+name, func(i *image) { i.texts["/name"] = name })
	}
	for n := range 3 {
		add(fmt.Sprintf(own+"test-image-tags:%d", n+1), func(i *image) { i.texts["/name"] = "tags" })
	}
	for ref, port := range map[string]int{e2e + "nginx:1.14-2": 80, own + "hostnet-nginx-" + runtime.GOARCH + ":latest": 12003} {
		i, err := m.nginx(ctx)
		i.texts = maps.Clone(i.texts)
		i.texts["/etc/nginx/nginx.conf"] = nginxConfig(port)
		out[ref], errs = i, append(errs, err)
	}
	return out, errors.Join(errs...)
}
