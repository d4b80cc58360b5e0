// Command oracle runs real kubeadm and keeps its output as goldens, with which the tests of
// package kubeadm compare what it renders. With -check it compares the goldens with the current
// output of kubeadm.
//
// For each version and each configuration of package kubeadmtest it runs kubeadm init, and
// kubeadm join on a second host if there is one, in an empty root with its own network and host
// name. kubeadm writes its files there and talks to an API that only stores objects, so the
// machine itself is not touched. Private keys are never kept.
//
// It needs root on Linux, kubeadm of each version, and to be linked statically, because it stands in
// for systemctl in the empty root:
//
//	go run ./cmd/lab build --only kubeadm --kubernetes v1.36.3
//	CGO_ENABLED=0 go build -o /tmp/oracle ./cmd/lab/oracle
//	/tmp/oracle [-check] [-version 1.36.3] [-case default]
//
// A golden is stored as its difference from others. With -whole FOLDER all of its files are
// written there, for tools that read them as files (podtypes), and kubeadm is not run.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/kubewright/kubewright/planner/kubeadm/kubeadmtest"
)

func main() {
	if filepath.Base(os.Args[0]) == "systemctl" {
		os.Exit(systemctl(os.Args[1:]))
	}
	if len(os.Args) > 1 && os.Args[1] == sandboxArg {
		exit(runSandbox(os.Args[2:]))
	}
	exit(run(os.Args[1:]))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// options are the command line.
type options struct {
	version, name string
	programs, out string
	whole         string
	keep, check   bool
}

func run(args []string) error {
	home, _ := os.UserCacheDir()
	var o options
	f := flag.NewFlagSet("oracle", flag.ContinueOnError)
	f.StringVar(&o.version, "version", "", "one version of Kubernetes; default all")
	f.StringVar(&o.name, "case", "", "a regular expression that the whole name of a case matches; default all")
	f.StringVar(&o.programs, "programs", filepath.Join(home, "kubewright-lab", "programs"), "folder with kubernetes-vVERSION/kubeadm")
	f.StringVar(&o.out, "out", "planner/kubeadm/testdata/oracle", "folder of the goldens")
	f.StringVar(&o.whole, "whole", "", "folder to write goldens to with all of their files, instead of asking kubeadm")
	f.BoolVar(&o.check, "check", false, "write nothing: tell whether the goldens are what kubeadm writes now")
	f.BoolVar(&o.keep, "keep", false, "keep the roots in which kubeadm ran")
	if err := f.Parse(args); err != nil {
		return err
	}
	name, err := regexp.Compile("^(?:" + o.name + ")$")
	if err != nil {
		return err
	}
	if o.whole == "" && os.Getuid() != 0 {
		return errors.New("cannot make a root for kubeadm without being root")
	}
	var failures []string
	var total tally
	for _, r := range kubeadmtest.Runs() {
		if o.version != "" && o.version != r.Version || o.name != "" && !name.MatchString(r.Case.Name) {
			continue
		}
		do := func() error { return o.ask(r.Version, r.Case.Name, &total) }
		if o.whole != "" {
			do = func() error { return o.writeWhole(r.Version, r.Case.Name) }
		}
		if err := do(); err != nil {
			failures = append(failures, r.Version+"/"+r.Case.Name)
			fmt.Fprintf(os.Stderr, "%s/%s: %v\n", r.Version, r.Case.Name, err)
			continue
		}
		fmt.Printf("%s/%s\n", r.Version, r.Case.Name)
	}
	if o.check {
		fmt.Printf("%d of %d files of %d configurations are what kubeadm writes\n", total.equal, total.files, total.cases)
	}
	if len(failures) > 0 {
		return fmt.Errorf("%d configurations failed: %s", len(failures), strings.Join(failures, " "))
	}
	return nil
}

// writeWhole writes all files of a golden.
func (o options) writeWhole(version, name string) error {
	files, err := kubeadmtest.NewGoldens(o.out).Texts(version, name)
	if err != nil {
		return err
	}
	for path, content := range files {
		path = filepath.Join(o.whole, version, name, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// tally counts the compared files.
type tally struct{ cases, files, equal int }

// ask runs kubeadm for one case and stores its output, or compares it with the golden. A golden
// is stored as its difference from others, which have to exist.
func (o options) ask(version, name string, total *tally) error {
	root, err := os.MkdirTemp("", "oracle-")
	if err != nil {
		return err
	}
	if o.keep {
		fmt.Println(root)
	} else {
		defer os.RemoveAll(root)
	}
	kubeadm := filepath.Join(o.programs, "kubernetes-v"+version, "kubeadm")
	if err := prepareRoot(root, kubeadm); err != nil {
		return err
	}
	if err := startSandbox(root, version, name); err != nil {
		return err
	}
	golden, err := collect(root)
	if err != nil {
		return err
	}
	goldens := kubeadmtest.NewGoldens(o.out)
	if !o.check {
		return goldens.Write(version, name, golden)
	}
	files, differing, err := goldens.Compare(version, name, golden)
	if err != nil {
		return err
	}
	total.cases, total.files, total.equal = total.cases+1, total.files+files, total.equal+files-len(differing)
	if len(differing) > 0 {
		return fmt.Errorf("kubeadm writes otherwise now: %s", strings.Join(differing, " "))
	}
	return nil
}
