// Command licences writes NOTICE and THIRD_PARTY_LICENSES: the notices and licences of everything
// that is linked into the program on any platform of a release. It writes nothing if a dependency
// has no licence, one that is not recognised, or one that policy.go does not accept.
//
//	licences -repo FOLDER         write the files (make licences)
//	licences -repo FOLDER -check  fail if they are not up to date (make check)
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
)

func main() {
	repo := flag.String("repo", ".", "the checkout of kubewright")
	check := flag.Bool("check", false, "write nothing, and fail if the files are not up to date")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *repo, *check); err != nil {
		fmt.Fprintln(os.Stderr, "licences:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, repo string, check bool) error {
	modules, err := linked(ctx, repo)
	if err != nil {
		return err
	}
	files, err := kubewright.generate(modules)
	if err != nil {
		return err
	}
	if check {
		return compare(repo, files)
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(repo, f.name), f.content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// A file is one of the two that this program generates.
type file struct {
	name    string
	content []byte
}

// compare returns an error that names each file of the repository that differs from the generated
// one.
func compare(repo string, files []file) error {
	var errs []error
	for _, f := range files {
		have, err := os.ReadFile(filepath.Join(repo, f.name))
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if line, old, now := firstDifference(have, f.content); line > 0 {
			errs = append(errs, fmt.Errorf("%s is out of date from line %d on:\n  - %s\n  + %s", f.name, line, old, now))
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return fmt.Errorf("%w\nRun make licences, review the difference and commit it", errors.Join(errs...))
}

// firstDifference returns the first line in which two texts differ, counted from one, and zero if
// they are equal.
func firstDifference(a, b []byte) (line int, old, now string) {
	if bytes.Equal(a, b) {
		return 0, "", ""
	}
	as, bs := bytes.Split(a, []byte("\n")), bytes.Split(b, []byte("\n"))
	at := func(lines [][]byte, i int) string {
		if i < len(lines) {
			return string(lines[i])
		}
		return "(the end of the file)"
	}
	for i := 0; ; i++ {
		if old, now := at(as, i), at(bs, i); old != now {
			return i + 1, old, now
		}
	}
}
