package lab

import (
	"regexp"
	"slices"
	"strings"
)

// A question is a command whose output lines describe part of a host.
type question struct {
	kind  string
	argv  []string
	clean func(line string) string // an empty result drops the line
}

// questions returns the questions for a host. Lines lose parts that say nothing about the host:
// numbers of links, counters, remaining lifetimes. They are sorted later, so each line must make
// sense without its context.
func questions() []question {
	qs := []question{
		{"unit    ", []string{"systemctl", "list-unit-files", "--no-legend", "--no-pager", "--plain"}, words(2)},
		{"active  ", []string{
			"systemctl", "list-units", "--all", "--no-legend", "--no-pager", "--plain",
			"--type=service,socket,timer,path,swap,slice",
		}, words(3)},
		{"link    ", []string{"ip", "-o", "link"}, without(`^\d+: `, `@\S+`, `: <.*>`, `\\.*$`, ` mode .*$`)},
		{"address ", []string{"ip", "-o", "address"}, without(`^\d+: `, `\\.*$`, ` brd \S+`, ` tentative`)},
		{"route   ", []string{"ip", "-4", "route", "show", "table", "all"}, without()},
		{"route6  ", []string{"ip", "-6", "route", "show", "table", "all"}, without(` expires \S+`)},
		{"rule    ", []string{"ip", "rule"}, without()},
		{"sysctl  ", []string{"sysctl", "--all", "--pattern", settings}, without()},
		{"cgroup  ", []string{"find", "/sys/fs/cgroup", "-mindepth", "1", "-maxdepth", "3", "-type", "d", "-name", "kubepods*"}, without()},
		{"nft     ", []string{"nft", "--stateless", "list", "ruleset"}, nested()},
	}
	for _, family := range []string{"iptables", "ip6tables"} {
		for _, kind := range []string{"-nft", "-legacy"} {
			qs = append(qs, question{family + kind, []string{family + kind + "-save"}, tables()})
		}
	}
	return qs
}

// settings matches kernel settings that Kubernetes or its preparation changes, except those per
// link.
const settings = `^(net\.ipv4\.(ip_forward$|conf\.(all|default)\.)|net\.ipv6\.conf\.(all|default)\.(forwarding|disable)|` +
	`net\.bridge\.|net\.netfilter\.nf_conntrack_(max|tcp_)|net\.ipv4\.vs\.|vm\.(overcommit_memory|panic_on_oom|swappiness)$|` +
	`kernel\.(panic|panic_on_oops|keys\.root_max\w+)$)`

// words keeps the first n words of a line.
func words(n int) func(string) string {
	return func(line string) string {
		all := strings.Fields(line)
		return strings.Join(all[:min(n, len(all))], " ")
	}
}

// without removes matches of the patterns, and repeated spaces.
func without(patterns ...string) func(string) string {
	var all []*regexp.Regexp
	for _, p := range patterns {
		all = append(all, regexp.MustCompile(p))
	}
	return func(line string) string {
		for _, re := range all {
			line = re.ReplaceAllString(line, "")
		}
		return strings.Join(strings.Fields(line), " ")
	}
}

// tables puts the table before each line of iptables-save, and drops comments and counters.
func tables() func(string) string {
	counters, table := without(`\[\d+:\d+\]`), ""
	return func(line string) string {
		switch {
		case strings.HasPrefix(line, "#"), line == "COMMIT":
			return ""
		case strings.HasPrefix(line, "*"):
			table = line[1:]
		}
		return counters(table + " " + line)
	}
}

// nested puts the names of the enclosing blocks before each line of an nft
// ruleset.
func nested() func(string) string {
	var blocks []string
	return func(line string) string {
		line = strings.TrimSpace(line)
		if line == "}" && len(blocks) > 0 {
			blocks = blocks[:len(blocks)-1]
			return ""
		}
		text := strings.Join(append(slices.Clone(blocks), strings.TrimSuffix(line, " {")), ": ")
		if strings.HasSuffix(line, "{") {
			blocks = append(blocks, strings.TrimSuffix(line, " {"))
		}
		return text
	}
}
