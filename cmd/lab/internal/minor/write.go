package minor

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Facts are what was read of a minor version.
type Facts struct {
	Minor int
	// Patch is the patch release that was read.
	Patch string
	// Flags are the flags by component, with their types as far as --help says them.
	Flags map[string]map[string]string
	// Gates are the gates of all components but etcd, EtcdGates those of etcd.
	Gates     map[string]Gate
	EtcdGates []string
	// Values are closed sets of values.
	Values map[string][]string
	// Etcd, CoreDNS and Pause are the versions that kubeadm runs, as tags of images.
	Etcd, CoreDNS, Pause string
}

// folder is where the tables are, in the checkout.
const folder = "config/componentflag"

// files are the files that name each minor version.
var files = []string{folder + "/flags.txt", folder + "/gates.txt", folder + "/values.txt"}

var shape = map[string][2]int{files[0]: {2, 3}, files[1]: {1, 1}, files[2]: {2, 2}} // words that name a line, and all before the versions

var bounds = regexp.MustCompile(`(?m)^\t(Min|Max)Minor = (\d+)$`)

// A Checkout is a checkout of kubewright, whose tables are read and written.
type Checkout struct {
	root        string
	first, last int
	texts       map[string]string
}

const boundsFile = folder + "/version.go"

// Open reads the tables of a checkout.
func Open(root string) (*Checkout, error) {
	c := &Checkout{root: root, texts: map[string]string{}}
	for _, name := range append(slices.Clone(files), folder+"/needs.txt", boundsFile, releasesFile, labFile) {
		b, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return nil, err
		}
		c.texts[name] = string(b)
	}
	for _, b := range bounds.FindAllStringSubmatch(c.texts[boundsFile], -1) {
		n, _ := strconv.Atoi(b[2]) // digits
		if b[1] == "Min" {
			c.first = n
		} else {
			c.last = n
		}
	}
	if c.first == 0 || c.last == 0 {
		return nil, fmt.Errorf("%s names no MinMinor and MaxMinor", boundsFile)
	}
	return c, nil
}

// Save writes the files.
func (c *Checkout) Save() error {
	for name, text := range c.texts {
		if err := os.WriteFile(filepath.Join(c.root, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (c *Checkout) table(name string) (*Table, error) {
	t, err := Parse(c.texts[name], shape[name][0], shape[name][1], c.first, c.last)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return t, nil
}

func (c *Checkout) setLast(last int) {
	c.last = last
	c.texts[boundsFile] = bounds.ReplaceAllStringFunc(c.texts[boundsFile], func(s string) string {
		if strings.Contains(s, "Max") {
			return "\tMaxMinor = " + strconv.Itoa(last)
		}
		return s
	})
}

// Remove takes the newest minor version out.
func (c *Checkout) Remove() error {
	for _, name := range files {
		t, err := c.table(name)
		if err != nil {
			return err
		}
		t.Remove(c.last)
		c.texts[name] = t.String()
	}
	needs, err := ParseNeeds(c.texts[folder+"/needs.txt"])
	if err != nil {
		return err
	}
	needs.Remove(c.last)
	c.texts[folder+"/needs.txt"] = needs.String()
	c.removeReleases()
	c.setLast(c.last - 1)
	return nil
}

// Add writes a minor version, which is the newest or the one after it, and returns what is left to
// decide by hand.
func (c *Checkout) Add(f Facts) ([]string, error) {
	if f.Minor != c.last && f.Minor != c.last+1 {
		return nil, fmt.Errorf("1.%d is neither the newest minor version, 1.%d, nor the next", f.Minor, c.last)
	}
	flags, err := c.table(files[0])
	if err != nil {
		return nil, err
	}
	gates, err := c.table(files[1])
	if err != nil {
		return nil, err
	}
	values, err := c.table(files[2])
	if err != nil {
		return nil, err
	}
	needs, err := ParseNeeds(c.texts[folder+"/needs.txt"])
	if err != nil {
		return nil, err
	}
	var left []string
	has := map[string]string{}
	for component, names := range f.Flags {
		for name := range names {
			has[component+" "+name] = ""
		}
	}
	for _, key := range flags.Add(f.Minor, has, func(key string) []string {
		component, name, _ := strings.Cut(key, " ")
		return []string{f.Flags[component][name]}
	}) {
		left = append(left, fmt.Sprintf("flags.txt: %s is new. Is its type %s, and does a rule of rule.go hold for it?", key, strings.Join(flags.lines[key].words[2:], " ")))
	}
	locked := map[string]string{}
	for name, g := range f.Gates {
		locked[name] = g.Locked
	}
	gates.Add(f.Minor, locked, func(string) []string { return nil })
	needs.Add(f.Minor, f.Gates)
	left = append(left, c.addValues(values, f)...)
	c.texts[files[0]], c.texts[files[1]], c.texts[files[2]] = flags.String(), gates.String(), values.String()
	c.texts[folder+"/needs.txt"] = needs.String()
	left = append(left, c.addReleases(f)...)
	left = append(left, "needs.txt: gates that fields and flags need are not read; add those that a rule of the version names.")
	c.setLast(f.Minor)
	return left, nil
}

// addValues writes the closed sets of values. Sets of which nothing was read are those of the minor
// version before.
func (c *Checkout) addValues(t *Table, f Facts) []string {
	read := maps.Clone(f.Values)
	if len(f.EtcdGates) > 0 {
		read["etcd-gates"] = f.EtcdGates
	}
	has, kept := map[string]string{}, map[string]bool{}
	for key := range t.Had(f.Minor - 1) {
		set, _, _ := strings.Cut(key, " ")
		if read[set] == nil {
			has[key], kept[set] = "", true
		}
	}
	for set, values := range read {
		for _, v := range values {
			has[set+" "+v] = ""
		}
	}
	t.Add(f.Minor, has, func(string) []string { return nil })
	return []string{"values.txt: as in the minor version before, since --help does not list them: " + strings.Join(slices.Sorted(maps.Keys(kept)), ", ")}
}
