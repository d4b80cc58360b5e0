package verdict

import (
	"embed"
	"fmt"
	"hash/fnv"
	"regexp"
	"slices"
	"strings"
)

//go:embed testdata/v*.txt
var tables embed.FS

// Base is the version whose table is whole. Tables of other versions hold what differs from it, of the same
// mutations or a share of them, and what only they were asked.
const Base = "v1.36.3"

// Versions returns the versions that have a table.
func Versions() ([]string, error) {
	files, err := tables.ReadDir("testdata")
	var out []string
	for _, f := range files {
		out = append(out, strings.TrimSuffix(f.Name(), ".txt"))
	}
	return out, err
}

// Known returns what the components of a version did, as the tables keep it, in their order.
func Known(version string) ([]Verdict, error) {
	content, err := tables.ReadFile("testdata/" + version + ".txt")
	if err != nil {
		return nil, fmt.Errorf("%s has no table: %w", version, err)
	}
	out, err := Parse(string(content))
	if err != nil || version == Base {
		return out, err
	}
	var count, share int
	for line := range strings.Lines(string(content)) {
		if _, err := fmt.Sscanf(line, asked, &count, &share); err == nil {
			break
		}
	}
	base, err := Known(Base)
	if err != nil || share < 1 {
		return nil, fmt.Errorf("%s: a table without what was asked: %w", version, err)
	}
	own := map[string]bool{}
	for _, v := range out {
		own[v.Mutation.String()] = true
	}
	for _, v := range base {
		if v.Mutation.in(share) && !own[v.Mutation.String()] {
			out = append(out, v)
		}
	}
	if len(out) != count {
		return nil, fmt.Errorf("%s was asked %d mutations, and has %d with those of %s: ask it again", version, count, len(out), Base)
	}
	return sorted(out), nil
}

// asked is the line of a table with the number of mutations that the components were asked about.
const asked = "# asked: %d, with one in %d of those of " + Base + "\n"

// in reports whether a mutation is in a share: all are in 1, half of them in 2.
func (m Mutation) in(share int) bool {
	h := fnv.New64a()
	h.Write([]byte(m.String()))
	return h.Sum64()%uint64(share) == 0
}

// Table returns the table of a version: of Base all verdicts, of others those that differ from the share of
// Base's that they were asked.
func Table(version string, share int, verdicts []Verdict) (string, error) {
	var out strings.Builder
	fmt.Fprintf(&out, "# What the components of Kubernetes %s, and its etcd, did with mutations of their flags and configurations:\n", version)
	fmt.Fprintf(&out, "# COMPONENT MUTATION ANSWER REASON, written by go run ./cmd/lab/verdicts -version %s -table, and sorted.\n", version)
	same := map[string]bool{}
	if version != Base {
		base, err := Known(Base)
		if err != nil {
			return "", err
		}
		for _, v := range base {
			same[v.placeless()] = v.Mutation.in(share)
		}
		fmt.Fprintf(&out, "# What %s did alike is left out: -version %s -known prints all.\n", Base, version)
		fmt.Fprintf(&out, asked, len(verdicts), share)
	}
	for _, v := range sorted(verdicts) {
		if !same[v.placeless()] {
			fmt.Fprintln(&out, v)
		}
	}
	return out.String(), nil
}

func sorted(verdicts []Verdict) []Verdict {
	return slices.SortedFunc(slices.Values(verdicts), func(a, b Verdict) int {
		if n := slices.Index(Components, a.Mutation.Component) - slices.Index(Components, b.Mutation.Component); n != 0 {
			return n
		}
		return strings.Compare(a.Mutation.String(), b.Mutation.String())
	})
}

// place is where in the source of a component a line of its log is from.
var place = regexp.MustCompile(`\b[a-z_0-9]+\.go:[0-9]+\b`)

// placeless returns a verdict without places of the source, which change with every version, and without how a
// component showed that it took a mutation.
func (v Verdict) placeless() string {
	if v.Answer == Took {
		v.Reason = ""
	}
	return place.ReplaceAllString(v.String(), "")
}

// Asked returns the mutations that the components of a minor version are asked about for its table: a share of
// those of Base's table, what not all versions treat alike, and what a seed gives for this version alone.
func Asked(minor, share int) ([]Mutation, error) {
	const seed, each, ofBase = 1, 6, 36
	base, err := Known(Base)
	if err != nil {
		return nil, err
	}
	var out []Mutation
	known := map[string]bool{}
	add := func(m Mutation) {
		if text := m.String(); !known[text] {
			known[text] = true
			out = append(out, m)
		}
	}
	for _, v := range base {
		if v.Mutation.in(share) {
			add(v.Mutation)
		}
	}
	for _, m := range versioned() {
		add(m)
	}
	for _, m := range Generate(seed, ofBase, each) {
		known[m.String()] = true
	}
	for _, m := range Generate(seed, minor, each) {
		add(m)
	}
	return out, nil
}
