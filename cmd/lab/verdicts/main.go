// Command verdicts asks the real components of a version of Kubernetes which flags and which
// configurations they start with, and writes their verdicts, with which package verdict compares
// what kubewright's validation says; what it judges in another way is printed.
//
//	go run ./cmd/lab/verdicts [-version v1.36.3] [-seed 1] [-each 6] [-only REGEXP] [-again FILE] [-out FILE]
//
// It needs root on Linux. Programs that are missing are built. The machine is not touched:
// components run in namespaces, on a root that is thrown away.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/kubewright/kubewright/cmd/lab/internal/build"
	"github.com/kubewright/kubewright/cmd/lab/internal/verdict"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "verdicts:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	f := flag.NewFlagSet("verdicts", flag.ContinueOnError)
	version := f.String("version", "v1.36.3", "the version of Kubernetes")
	seed := f.Uint64("seed", 1, "the seed of the mutations")
	each := f.Int("each", 6, "how many mutations a flag or a field gets")
	only := f.String("only", "", "a regular expression for the mutations to run")
	again := f.String("again", "", "a table of verdicts whose mutations are run instead")
	out := f.String("out", "", "the file to write; default the standard output")
	if err := f.Parse(args); err != nil {
		return err
	}
	wanted, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	cache, err := build.DefaultCache()
	if err != nil {
		return err
	}
	release, err := build.FindRelease(*version)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "verdicts")
	if err != nil {
		return err
	}
	lab, err := verdict.NewLab(ctx, cache, release, dir)
	if err != nil {
		return err
	}
	defer lab.Close()
	mutations, err := mutationsOf(*again, *seed, lab.Minor, *each)
	if err != nil {
		return err
	}
	mutations = slices.DeleteFunc(mutations, func(m verdict.Mutation) bool { return !wanted.MatchString(m.String()) })
	var lock sync.Mutex
	started, done := time.Now(), 0
	file := os.Stdout
	if *out != "" {
		if file, err = os.Create(*out); err != nil {
			return err
		}
		defer file.Close()
	}
	fmt.Fprintf(file, "# What components of Kubernetes %s did with mutations of their flags and configurations, written by\n# go run ./cmd/lab/verdicts -version %s -seed %d -each %d -only '%s'\n", *version, *version, *seed, *each, *only)
	verdicts, err := lab.Run(ctx, mutations, func(v verdict.Verdict) {
		lock.Lock()
		defer lock.Unlock()
		done++
		fmt.Fprintln(file, v)
		if v.Answer == verdict.Undecided || done%50 == 0 {
			fmt.Fprintf(os.Stderr, "%4d of %d, %s: %s\n", done, len(mutations), time.Since(started).Round(time.Second), v)
		}
	})
	if err != nil {
		return err
	}
	c := verdict.Compare(*version, verdicts)
	fmt.Fprintf(os.Stderr, "%d mutations of seed %d, %d judged alike, %d undecided, %d disagreements\n", len(verdicts), *seed, c.Agreed, c.Undecided, len(c.Disagreements))
	for _, d := range c.Disagreements {
		fmt.Fprintln(os.Stderr, d)
	}
	return nil
}

// mutationsOf returns the mutations of a seed, or of a table.
func mutationsOf(table string, seed uint64, minor, each int) ([]verdict.Mutation, error) {
	if table == "" {
		return verdict.Generate(seed, minor, each), nil
	}
	content, err := os.ReadFile(table)
	if err != nil {
		return nil, err
	}
	verdicts, err := verdict.Parse(string(content))
	var out []verdict.Mutation
	for _, v := range verdicts {
		out = append(out, v.Mutation)
	}
	return out, err
}
