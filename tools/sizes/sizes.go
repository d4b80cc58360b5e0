// Package sizes measures what the program of kubewright consists of, by module, and what it does
// before main.
package sizes

import (
	"bufio"
	"bytes"
	"cmp"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A Module is a module of the program with the bytes that it adds to it.
type Module struct {
	Path  string
	Bytes int64
}

// Measure returns the modules of a program with symbols, the largest first; size is the size in
// bytes of the same program without symbols. Code and data are those of go tool nm -size. The rest
// of the file, above all tables of functions and types, is distributed in proportion to the code.
func Measure(program string, size int64) ([]Module, error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return nil, err
	}
	own := info.Main.Path
	paths := []string{own}
	for _, dep := range info.Deps {
		paths = append(paths, dep.Path)
	}
	out, err := exec.Command("go", "tool", "nm", "-size", program).Output()
	if err != nil {
		return nil, fmt.Errorf("go tool nm: %w", err)
	}
	code, data := map[string]int64{}, map[string]int64{}
	var allCode, all int64
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		f := strings.Fields(lines.Text())
		if len(f) < 4 {
			continue
		}
		n, err := strconv.ParseInt(f[1], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("go tool nm: %q has no size", lines.Text())
		}
		module := moduleOf(strings.Join(f[3:], " "), paths)
		switch f[2] {
		case "T", "t":
			code[module] += n
			allCode += n
		case "R", "r", "D", "d":
			if n > size/4 { // memory that the file does not have
				continue
			}
			data[module] += n
		default:
			continue
		}
		all += n
	}
	if allCode == 0 {
		return nil, fmt.Errorf("%s has no symbols", program)
	}
	rest := float64(size-all) / float64(allCode)
	var modules []Module
	for module, n := range code {
		modules = append(modules, Module{module, n + data[module] + int64(float64(n)*rest)})
	}
	slices.SortFunc(modules, func(a, b Module) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Path, b.Path))
	})
	return modules, nil
}

// standard is the module of Go's standard library and runtime.
const standard = "std"

var decoration = regexp.MustCompile(`^(?:type:|go:itab\.|go:|\.eq\.|\.hash\.|\*|\[\]|\(|<-|chan |map\[)+`)

// moduleOf returns the module that a symbol belongs to.
func moduleOf(symbol string, modules []string) string {
	// The linker writes dots of the last element of a path as %2e: gopkg.in/yaml%2ev3.
	symbol = strings.ReplaceAll(decoration.ReplaceAllString(symbol, ""), "%2e", ".")
	best := standard
	for _, m := range modules {
		rest, within := strings.CutPrefix(symbol, m)
		if within && (strings.HasPrefix(rest, ".") || strings.HasPrefix(rest, "/")) && len(m) > len(best) {
			best = m
		}
	}
	if best == standard && strings.HasPrefix(symbol, "main.") {
		return modules[0]
	}
	return best
}

// Work is what a program does before main.
type Work struct {
	// Packages is the number of packages with initialisation, Allocations and Bytes what they
	// allocate.
	Packages, Allocations, Bytes int64
}

// initialised is a line of the runtime about a package, with GODEBUG=inittrace=1.
var initialised = regexp.MustCompile(`^init \S+ @.* (\d+) bytes, (\d+) allocs$`)

// StartUp runs a program with these arguments, and returns what it does before main.
func StartUp(program string, args ...string) (Work, error) {
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var trace bytes.Buffer
	cmd.Stderr = &trace
	if err := cmd.Run(); err != nil {
		return Work{}, fmt.Errorf("%s: %w\n%s", program, err, trace.String())
	}
	var w Work
	for line := range strings.Lines(trace.String()) {
		if m := initialised.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			n, _ := strconv.ParseInt(m[1], 10, 64)
			allocs, _ := strconv.ParseInt(m[2], 10, 64)
			w.Packages, w.Bytes, w.Allocations = w.Packages+1, w.Bytes+n, w.Allocations+allocs
		}
	}
	if w.Packages == 0 {
		return Work{}, fmt.Errorf("the runtime reports no initialisation: %q", trace.String())
	}
	return w, nil
}
