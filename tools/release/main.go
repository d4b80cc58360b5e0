// Command release makes a release of the commit that is checked out: programs, archives, packages
// and SBOMs by goreleaser (.goreleaser.yaml), images, and SHA256SUMS of everything. It builds twice,
// in two clones in different folders, and keeps the result only if both have the same bytes.
// docs/releasing.md describes it.
//
//	release            the release of the tag of this commit, into dist
//	release -snapshot  a commit without a tag; its version is derived from the commit
//	release -cold      the second build takes nothing from the build cache
//	release -snapshot -only=linux/amd64
//	                   one platform, built once: to try packages and images
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

func main() {
	var r run
	flag.StringVar(&r.repo, "repo", ".", "the checkout of kubewright")
	flag.StringVar(&r.dist, "dist", "dist", "the folder for the result, below -repo unless it is absolute")
	flag.BoolVar(&r.snapshot, "snapshot", false, "build a commit without a tag")
	cold := flag.Bool("cold", false, "compile everything again for the second build")
	flag.StringVar(&r.only, "only", "", "with -snapshot: build this platform alone, and once")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r.log = func(format string, args ...any) { fmt.Printf(format+"\n", args...) }
	err := func() (err error) {
		if r.repo, err = filepath.Abs(r.repo); err != nil {
			return err
		}
		if !filepath.IsAbs(r.dist) {
			r.dist = filepath.Join(r.repo, r.dist)
		}
		r.build, r.sign = toolchain{repo: r.repo, only: r.only, cold: *cold, log: r.log}.build, sign
		return r.release(ctx)
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}
