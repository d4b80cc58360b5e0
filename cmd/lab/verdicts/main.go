// Command verdicts asks the real components of a version of Kubernetes which flags and which
// configurations they start with, and writes their verdicts, with which package verdict compares
// what kubewright's validation says; what it judges in another way is printed.
//
//	go run ./cmd/lab/verdicts [-version v1.36.3] [-seed 1] [-each 6] [-only REGEXP] [-again FILE] [-out FILE]
//	go run ./cmd/lab/verdicts [-version v1.36.3] -table [-share 1] [-had FILE] -out FILE
//	go run ./cmd/lab/verdicts [-version v1.36.3] -known
//
// The second writes the table of a version, as package verdict keeps it, the third prints all verdicts that
// are kept of a version, and runs nothing.
//
// It needs root on Linux. Programs that are missing are built. The machine is not touched:
// components run in namespaces, on a root that is thrown away.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"syscall"
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

// options are the flags of the command.
type options struct {
	version, only, again, had, out string
	seed                           uint64
	each, share                    int
	table, known                   bool
}

func run(args []string) error {
	var o options
	f := flag.NewFlagSet("verdicts", flag.ContinueOnError)
	f.StringVar(&o.version, "version", verdict.Base, "the version of Kubernetes")
	f.Uint64Var(&o.seed, "seed", 1, "the seed of the mutations")
	f.IntVar(&o.each, "each", 6, "how many mutations a flag or a field gets")
	f.StringVar(&o.only, "only", "", "a regular expression for the mutations to run")
	f.StringVar(&o.again, "again", "", "a table of verdicts whose mutations are run instead")
	f.BoolVar(&o.table, "table", false, "ask what the tables hold, and write the table of the version")
	f.IntVar(&o.share, "share", 1, "with -table: ask one in so many of the mutations that the table of "+verdict.Base+" holds")
	f.StringVar(&o.had, "had", "", "with -table: a file that keeps each verdict at once; what it holds is not asked again")
	f.BoolVar(&o.known, "known", false, "print the verdicts that are kept of the version")
	f.StringVar(&o.out, "out", "", "the file to write; default the standard output")
	if err := f.Parse(args); err != nil {
		return err
	}
	file := os.Stdout
	if o.out != "" {
		var err error
		if file, err = os.Create(o.out); err != nil {
			return err
		}
		defer file.Close()
	}
	if o.known {
		verdicts, err := verdict.Known(o.version)
		for _, v := range verdicts {
			fmt.Fprintln(file, v)
		}
		return err
	}
	return o.ask(file)
}

// ask asks the components, and writes their verdicts.
func (o options) ask(file *os.File) error {
	wanted, err := regexp.Compile(o.only)
	if err != nil {
		return err
	}
	release, err := build.FindRelease(o.version)
	if err != nil {
		return err
	}
	minor, err := strconv.Atoi(release.Minor())
	if err != nil {
		return err
	}
	mutations, err := o.mutations(minor)
	if err != nil {
		return err
	}
	mutations = slices.DeleteFunc(mutations, func(m verdict.Mutation) bool { return !wanted.MatchString(m.String()) })
	had, err := o.answered(mutations)
	if err != nil {
		return err
	}
	answered := map[string]bool{}
	for _, v := range had {
		answered[v.Mutation.String()] = true
	}
	mutations = slices.DeleteFunc(mutations, func(m verdict.Mutation) bool {
		return answered[m.String()]
	})
	verdicts, err := o.lab(release, mutations, file)
	if err != nil {
		return err
	}
	verdicts = append(had, verdicts...)
	if o.table {
		text, err := verdict.Table(o.version, o.share, verdicts)
		if err != nil {
			return err
		}
		_, err = file.WriteString(text)
		return err // the test of package verdict compares it
	}
	c := verdict.Compare(o.version, verdicts)
	fmt.Fprintf(os.Stderr, "%d mutations, %d judged alike, %d undecided, %d disagreements\n", len(verdicts), c.Agreed, c.Undecided, len(c.Disagreements))
	for _, d := range c.Disagreements {
		fmt.Fprintln(os.Stderr, d)
	}
	return nil
}

// lab runs the components with mutations.
func (o options) lab(release build.Release, mutations []verdict.Mutation, file *os.File) ([]verdict.Verdict, error) {
	if len(mutations) == 0 {
		return nil, nil
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	cache, err := build.DefaultCache()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "verdicts")
	if err != nil {
		return nil, err
	}
	lab, err := verdict.NewLab(ctx, cache, release, dir)
	if err != nil {
		return nil, err
	}
	defer lab.Close()
	var lock sync.Mutex
	started, done := time.Now(), 0
	each := io.Writer(file)
	switch {
	case o.had != "":
		kept, err := os.OpenFile(o.had, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, err
		}
		defer kept.Close()
		each = kept
	case o.table:
		each = io.Discard
	default:
		fmt.Fprintf(file, "# What components of Kubernetes %s did with mutations of their flags and configurations, written by\n# go run ./cmd/lab/verdicts -version %s -seed %d -each %d -only '%s'\n", o.version, o.version, o.seed, o.each, o.only)
	}
	return lab.Run(ctx, mutations, func(v verdict.Verdict) {
		lock.Lock()
		defer lock.Unlock()
		done++
		fmt.Fprintln(each, v)
		if v.Answer == verdict.Undecided || done%50 == 0 {
			fmt.Fprintf(os.Stderr, "%4d of %d, %s: %s\n", done, len(mutations), time.Since(started).Round(time.Second), v)
		}
	})
}

// mutations returns the mutations to run: those of the tables, of a seed, or of a file.
func (o options) mutations(minor int) ([]verdict.Mutation, error) {
	switch {
	case o.table:
		return verdict.Asked(minor, o.share)
	case o.again == "":
		return verdict.Generate(o.seed, minor, o.each), nil
	}
	verdicts, err := read(o.again)
	var out []verdict.Mutation
	for _, v := range verdicts {
		out = append(out, v.Mutation)
	}
	return out, err
}

// answered returns the verdicts on mutations that a file has.
func (o options) answered(mutations []verdict.Mutation) ([]verdict.Verdict, error) {
	if o.had == "" {
		return nil, nil
	}
	wanted := map[string]bool{}
	for _, m := range mutations {
		wanted[m.String()] = true
	}
	verdicts, err := read(o.had)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return slices.DeleteFunc(verdicts, func(v verdict.Verdict) bool { return !wanted[v.Mutation.String()] }), err
}

func read(file string) ([]verdict.Verdict, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return verdict.Parse(string(content))
}
