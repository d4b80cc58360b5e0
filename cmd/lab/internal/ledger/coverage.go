package ledger

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Ran returns the functions that have run according to the coverage in a folder, which programs
// built with -cover write at their end. It returns nothing, which stands for all functions, where
// fewer processes than the given number have written theirs: those that were killed, or that ran
// on another host.
func (c *Code) Ran(folder string, processes int) ([]string, error) {
	counters, err := filepath.Glob(filepath.Join(folder, "covcounters.*"))
	if err != nil || len(counters) < processes || len(counters) == 0 {
		return nil, err
	}
	profile := filepath.Join(folder, "profile.txt")
	if out, err := exec.Command("go", "tool", "covdata", "textfmt", "-i", folder, "-o", profile).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go tool covdata: %w: %s", err, out)
	}
	f, err := os.Open(profile)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	ran := map[string]bool{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		// After the mode, a line is FILE:LINE.COLUMN,LINE.COLUMN STATEMENTS COUNT (cmd/cover).
		place, count, _ := strings.Cut(lines.Text(), " ")
		if place == "mode:" || strings.HasSuffix(count, " 0") {
			continue
		}
		at := strings.LastIndexByte(place, ':')
		line, _, _ := strings.Cut(place[at+1:], ".")
		number, err := strconv.Atoi(line)
		if at < 0 || err != nil {
			return nil, fmt.Errorf("%s: cannot read %q", profile, lines.Text())
		}
		d := c.tree.at(strings.TrimPrefix(place[:at], module), number)
		if d == nil {
			return nil, fmt.Errorf("%s: no declaration is at %s: the program was built from other source", profile, place)
		}
		ran[d.id] = true
	}
	return slices.Sorted(maps.Keys(ran)), nil
}
