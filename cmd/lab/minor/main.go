// Command minor adds a minor version of Kubernetes to kubewright's tables, or reads it again:
//
//	go run ./cmd/lab/minor -version v1.37.1 [-root .]
//	go run ./cmd/lab/minor -remove [-root .]
//
// It reads the module of the version and --help of its components, which the lab builds where they
// are missing, and writes flags, feature gates, closed sets of values, and the rows of the
// version. It prints what is left to decide by hand, and the commands for what real programs have to
// say: goldens of kubeadm, and verdicts of components. The second form takes the newest minor
// version out of the tables, to compare them with what the first one writes.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/kubewright/kubewright/cmd/lab/internal/build"
	"github.com/kubewright/kubewright/cmd/lab/internal/minor"
	"github.com/kubewright/kubewright/config/componentflag"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "minor:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("minor", flag.ContinueOnError)
	version := f.String("version", "", "the version of Kubernetes to read, such as v1.37.1")
	remove := f.Bool("remove", false, "take the newest minor version out instead")
	root := f.String("root", ".", "the checkout to write to")
	if err := f.Parse(args); err != nil {
		return err
	}
	checkout, err := minor.Open(*root)
	if err != nil {
		return err
	}
	if *remove {
		if err := checkout.Remove(); err != nil {
			return err
		}
		return checkout.Save()
	}
	facts, err := read(ctx, *version)
	if err != nil {
		return err
	}
	left, err := checkout.Add(facts)
	if err != nil {
		return err
	}
	if err := checkout.Save(); err != nil {
		return err
	}
	fmt.Println("Decide by hand:")
	for _, l := range left {
		fmt.Println("-", l)
	}
	fmt.Printf(then, facts.Patch, facts.Minor)
	return nil
}

// then is what to do when the tables are written.
const then = `
Then, as root on Linux, let the real programs say the rest:
  go run ./cmd/lab build --only kubeadm --kubernetes v%[1]s
  CGO_ENABLED=0 go build -o /tmp/oracle ./cmd/lab/oracle && /tmp/oracle -version %[1]s
  go run ./cmd/lab/verdicts -version v%[1]s -table -had /tmp/verdicts.txt -out cmd/lab/internal/verdict/testdata/v%[1]s.txt
  UPDATE=1 go test -run SimulatorHas ./cmd/lab/internal/verdict
  go test ./config/... ./planner/kubeadm/... ./cmd/lab/internal/...
These tests name what differs in 1.%[2]d: files of kubeadm, and what components refuse.
`

// read reads a version.
func read(ctx context.Context, version string) (minor.Facts, error) {
	var f minor.Facts
	parts := strings.Split(strings.TrimPrefix(version, "v"), ".")
	if len(parts) != 3 || parts[0] != "1" {
		return f, fmt.Errorf("%q is not a version such as v1.37.1", version)
	}
	var err error
	if f.Minor, err = strconv.Atoi(parts[1]); err != nil {
		return f, err
	}
	f.Patch = strings.Join(parts, ".")
	dir, err := module(ctx, "k8s.io/kubernetes@v"+f.Patch)
	if err != nil {
		return f, err
	}
	if err := readSource(&f, dir); err != nil {
		return f, err
	}
	release := build.Release{Kubernetes: "v" + f.Patch, Etcd: "v" + strings.TrimSuffix(f.Etcd, "-0"), CoreDNS: f.CoreDNS, Pause: f.Pause}
	return f, readPrograms(ctx, &f, release)
}

// module downloads a module, and returns its folder.
func module(ctx context.Context, what string) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "mod", "download", "-json", what).Output()
	if err != nil {
		return "", fmt.Errorf("cannot download %s: %w", what, err)
	}
	var got struct{ Dir string }
	err = json.Unmarshal(out, &got)
	return got.Dir, err
}

// readSource reads what only the source says.
func readSource(f *minor.Facts, dir string) error {
	list, err := os.ReadFile(filepath.Join(dir, "test/compatibility_lifecycle/reference/versioned_feature_list.yaml"))
	if err != nil {
		return err
	}
	if f.Gates, err = minor.FeatureList(list, f.Minor); err != nil {
		return err
	}
	features, err := os.ReadFile(filepath.Join(dir, "pkg/features/kube_features.go"))
	if err != nil {
		return err
	}
	needs, err := minor.Dependencies(features)
	if err != nil {
		return err
	}
	for name, others := range needs {
		if g, known := f.Gates[name]; known {
			g.Needs = others
			f.Gates[name] = g
		}
	}
	constants, err := os.ReadFile(filepath.Join(dir, "cmd/kubeadm/app/constants/constants.go"))
	if err != nil {
		return err
	}
	for name, to := range map[string]*string{"DefaultEtcdVersion": &f.Etcd, "CoreDNSVersion": &f.CoreDNS, "PauseVersion": &f.Pause} {
		found := regexp.MustCompile(`\n\t` + name + ` *= "([^"]+)"`).FindSubmatch(constants)
		if found == nil {
			return fmt.Errorf("kubeadm's constants.go has no %s", name)
		}
		*to = string(found[1])
	}
	return nil
}

// readPrograms reads --help of the components, and tries the flags that other versions have and
// --help hides.
func readPrograms(ctx context.Context, f *minor.Facts, release build.Release) error {
	components := []string{"kubelet", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd"} // kube-proxy has a configuration, and no flags in the tables
	cache, err := build.DefaultCache()
	if err != nil {
		return err
	}
	programs, err := cache.Programs(ctx, release, components...)
	if err != nil {
		return err
	}
	f.Flags, f.Values = map[string]map[string]string{}, map[string][]string{}
	for _, component := range components {
		help, err := exec.CommandContext(ctx, programs[component], "--help").CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			return err
		}
		flags := minor.HelpFlags(component, string(help))
		for name := range flags {
			if component == "etcd" && !takes(ctx, programs[component], name) { // its help lists some that are gone
				delete(flags, name)
			}
		}
		for name := range componentflag.Flags[component] {
			if _, listed := flags[name]; !listed && takes(ctx, programs[component], name) {
				flags[name] = "text"
			}
		}
		f.Flags[component] = flags
		for set, values := range minor.HelpValues(string(help)) {
			f.Values[set] = values
		}
		for name, g := range minor.HelpGates(string(help)) {
			if component == "etcd" {
				f.EtcdGates = append(f.EtcdGates, name)
			} else if _, known := f.Gates[name]; !known {
				f.Gates[name] = g
			}
		}
	}
	slices.Sort(f.EtcdGates)
	manager := programs["kube-controller-manager"]
	tryControllers(ctx, f, manager)
	tryGates(ctx, f, manager)
	return nil
}

// ends runs the controller manager with a flag and without a cluster: it ends with what it refuses.
func ends(ctx context.Context, manager, flag string) string {
	out, _ := exec.CommandContext(ctx, manager, flag, "--kubeconfig=/no/such/file", "--secure-port=0").CombinedOutput() // it fails
	return string(out)
}

// tryControllers adds the controllers that other versions have and --help does not list, as it lists no
// older names.
func tryControllers(ctx context.Context, f *minor.Facts, manager string) {
	var tried []string
	for name := range componentflag.Values["controllers"] {
		if !slices.Contains(f.Values["controllers"], name) {
			tried = append(tried, name)
		}
	}
	said := ends(ctx, manager, "--controllers="+strings.Join(tried, ","))
	for _, name := range tried {
		if !strings.Contains(said, `\"`+name+`\" is not in the list`) {
			f.Values["controllers"] = append(f.Values["controllers"], name)
		}
	}
}

// tryGates adds the gates that other versions have, and neither the list nor --help of this one.
func tryGates(ctx context.Context, f *minor.Facts, manager string) {
	others := map[string]bool{}
	for _, known := range componentflag.Gates {
		for name := range known {
			others[name] = true
		}
	}
	for name := range others {
		if _, known := f.Gates[name]; known {
			continue
		}
		on := ends(ctx, manager, "--feature-gates="+name+"=true")
		off := ends(ctx, manager, "--feature-gates="+name+"=false")
		switch {
		case strings.Contains(on, "unrecognized feature gate"):
		case strings.Contains(off, "feature is locked to true"):
			f.Gates[name] = minor.Gate{Stage: "stable", Default: true, Locked: "true"}
		case strings.Contains(on, "feature is locked to false"):
			f.Gates[name] = minor.Gate{Stage: "deprecated", Locked: "false"}
		default:
			f.Gates[name] = minor.Gate{Stage: "stable", Default: true}
		}
	}
}

var unknownFlag = regexp.MustCompile(`unknown flag|unknown shorthand flag|flag provided but not defined`)

// takes reports whether a program has a flag. With a second flag that no program has it ends at once,
// and names the first that it does not have.
func takes(ctx context.Context, program, flag string) bool {
	out, _ := exec.CommandContext(ctx, program, "--"+flag+"=0", "--no-such-flag-at-all").CombinedOutput() // it fails
	text := string(out)
	at := unknownFlag.FindStringIndex(text)
	return at == nil || !regexp.MustCompile(`-`+regexp.QuoteMeta(flag)+`\b[^-]`).MatchString(text[at[1]:min(len(text), at[1]+len(flag)+8)]+" ")
}
