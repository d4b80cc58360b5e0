package shell

import (
	_ "embed" // the scripts
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

var (
	//go:embed scripts/packages.sh
	packagesScript string
	//go:embed scripts/packages_seen.sh
	packagesSeenScript string
)

// packagesCall returns the line of a query for the package manager.
func packagesCall(q state.PackageQuery) string {
	if len(q.Names) == 0 {
		return ""
	}
	return call("kw_packages", append([]string{q.Version, q.Apt, q.Dnf, strings.Join(q.Versioned, " ")}, q.Names...)...)
}

// packageWord is a package's name or version, without characters that commands could
// misread.
var packageWord = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.+~_-]*$`)

func checkPackages(q state.PackageQuery) error {
	if len(q.Names) == 0 {
		return nil
	}
	errs := []error{state.CheckText("address", q.Apt), state.CheckText("address", q.Dnf)}
	words := append(append([]string{}, q.Names...), q.Versioned...)
	if q.Version != "" {
		words = append(words, q.Version)
	}
	for _, w := range words {
		if !packageWord.MatchString(w) {
			errs = append(errs, fmt.Errorf("%q is no name or version of a package", w))
		}
	}
	return errors.Join(errs...)
}

// packages parses the package manager's answer.
func (r *reading) packages() error {
	if len(r.query.Packages.Names) == 0 {
		return nil
	}
	lines, err := r.lines("packages")
	if err != nil {
		return err
	}
	p := &r.report.Packages
	p.Installed = map[string]state.Package{}
	for _, line := range lines {
		word, rest, _ := strings.Cut(line, " ")
		switch f := strings.Fields(rest); {
		case word == "manager":
			p.Manager = rest
		case word == "package" && len(f) == 4:
			if f[2] != "config-files" && f[2] != "not-installed" {
				p.Installed[f[0]] = state.Package{Version: softwareVersion(f[1]), Status: f[2], Held: f[3] == "hold"}
			}
		case word == "package" && len(f) == 3: // known by name but without a version: not installed
		case word == "broken" && len(f) == 2:
			p.Broken = append(p.Broken, f[1]+" ("+f[0]+")")
		case word == "locked":
			p.Locked = providers.Sanitize(rest, 100)
		case word == "unreachable":
			p.Unreachable = providers.Sanitize(rest, 300)
		case word == "missing" && len(f) == 1:
			p.Missing = append(p.Missing, f[0])
		case line != "":
			return unexpected("packages", line)
		}
	}
	return nil
}

// softwareVersion returns a package's version without epoch and revision:
// [EPOCH:]VERSION[-REVISION] (deb-version(7)).
func softwareVersion(v string) string {
	if _, rest, ok := strings.Cut(v, ":"); ok {
		v = rest
	}
	if i := strings.LastIndexByte(v, '-'); i >= 0 {
		v = v[:i]
	}
	return v
}

// packages returns the line that installs or removes packages.
func (c *compiler) packages(op planner.Packages) (string, error) {
	if op.Manager != "apt" && op.Manager != "dnf" {
		return "", fmt.Errorf("internal error: no package manager %q", op.Manager)
	}
	args := []string{c.root + op.Repository}
	errs := []error{state.CheckPath(op.Repository)}
	for _, p := range op.List {
		if !packageWord.MatchString(p.Name) || p.Version != "" && !packageWord.MatchString(p.Version) {
			errs = append(errs, fmt.Errorf("%q in version %q is no package", p.Name, p.Version))
		}
		args = append(args, p.Name)
		if !op.Remove {
			args = append(args, p.Version, p.Hold)
		}
	}
	function := "kw_" + op.Manager + "_install"
	if op.Remove {
		function = "kw_" + op.Manager + "_remove"
	}
	return call(function, args...), errors.Join(errs...)
}

// packagesPart returns the part of a batch's script that packages need.
func packagesPart(ops []planner.Operation) string {
	for _, op := range ops {
		if _, ok := op.(planner.Packages); ok {
			return packagesSeenScript + packagesScript
		}
	}
	return ""
}
