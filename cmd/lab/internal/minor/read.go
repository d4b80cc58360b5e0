package minor

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// A Gate is a feature gate of one minor version.
type Gate struct {
	Stage   string
	Default bool
	// Locked is the only value that it takes; empty if it takes both.
	Locked string
	// Needs are the gates without which it cannot be on.
	Needs []string
}

var stages = map[string]string{"Alpha": "alpha", "Beta": "beta", "GA": "stable", "Deprecated": "deprecated"}

// FeatureList reads the gates of a minor version from Kubernetes' versioned_feature_list.yaml.
func FeatureList(text []byte, minor int) (map[string]Gate, error) {
	var list []struct {
		Name           string
		VersionedSpecs []struct {
			Default, LockToDefault bool
			PreRelease, Version    string
		}
	}
	if err := yaml.Unmarshal(text, &list); err != nil {
		return nil, err
	}
	out := map[string]Gate{}
	for _, f := range list {
		for _, s := range f.VersionedSpecs {
			since, err := strconv.Atoi(strings.TrimPrefix(s.Version, "1."))
			if err != nil {
				return nil, fmt.Errorf("%s: no version: %q", f.Name, s.Version)
			}
			if since > minor {
				continue
			}
			g := Gate{Stage: stages[s.PreRelease], Default: s.Default}
			if s.LockToDefault {
				g.Locked = strconv.FormatBool(s.Default)
			}
			out[f.Name] = g
		}
	}
	return out, nil
}

var (
	dependencies = regexp.MustCompile(`(?s)\nvar defaultKubernetesFeatureGateDependencies = [^\n]*\{\n(.*?)\n\}\n`)
	dependency   = regexp.MustCompile(`(?m)^\s*(?:\w+\.)?(\w+):\s*\{([^}]*)\}`)
	identifier   = regexp.MustCompile(`(\w+)\)?$`)
)

// Dependencies reads which gates need which from Kubernetes' kube_features.go. Names of constants are
// those of their gates.
func Dependencies(source []byte) (map[string][]string, error) {
	block := dependencies.FindSubmatch(source)
	if block == nil {
		return nil, fmt.Errorf("kube_features.go has no defaultKubernetesFeatureGateDependencies")
	}
	out := map[string][]string{}
	for _, d := range dependency.FindAllStringSubmatch(string(block[1]), -1) {
		for part := range strings.SplitSeq(d[2], ",") {
			if name := identifier.FindStringSubmatch(strings.TrimSpace(part)); name != nil {
				out[d[1]] = append(out[d[1]], name[1])
			}
		}
	}
	return out, nil
}

var helpFlag = map[bool]*regexp.Regexp{
	false: regexp.MustCompile(`(?m)^ +(?:-\w, +)?--([a-z0-9-]+)(?: ([A-Za-z0-9]+))?(?:  |$)`),
	true:  regexp.MustCompile(`(?m)^ +--([a-z0-9-]+)(?: |$)`), // etcd prints no types
}

// HelpFlags reads the flags of a component, and the types that its help names, from --help.
func HelpFlags(component, help string) map[string]string {
	out := map[string]string{}
	for _, f := range helpFlag[component == "etcd"].FindAllStringSubmatch(help, -1) {
		of := ""
		if len(f) > 2 {
			of = typeNames[f[2]]
		}
		if of == "" {
			of = "text"
		}
		out[f[1]] = of
	}
	return out
}

// typeNames are our names of the types of flags.
var typeNames = map[string]string{
	"": "bool", "string": "text", "int": "int", "int32": "int32", "uint": "uint", "uint32": "uint32", "float": "float", "float32": "float", "float64": "float",
	"duration": "duration", "strings": "list", "ip": "ip", "stringToString": "pairs", "mapStringString": "pairs", "mapStringBool": "gates", "quantity": "quantity", "int32Slice": "int32s", "namedCertKey": "certificate",
}

var helpGate = regexp.MustCompile(`(?m)^ +([A-Z]\w*)=true\|false \((ALPHA|BETA|DEPRECATED)\S* ?- ?default=(true|false)\)`)

// HelpGates reads the gates that --help lists, which are those in alpha and beta.
func HelpGates(help string) map[string]Gate {
	out := map[string]Gate{}
	for _, g := range helpGate.FindAllStringSubmatch(help, -1) {
		out[g[1]] = Gate{Stage: strings.ToLower(g[2]), Default: g[3] == "true"}
	}
	return out
}

var helpSets = map[string]*regexp.Regexp{
	"admission-plugins": regexp.MustCompile(`--enable-admission-plugins [^\n]*Comma-delimited list of admission plugins: ([A-Za-z, ]+)\.`),
	"controllers":       regexp.MustCompile(`All controllers: ([a-z0-9, -]+)`),
}

// HelpValues reads the closed sets of values that --help lists.
func HelpValues(help string) map[string][]string {
	out := map[string][]string{}
	for set, pattern := range helpSets {
		if found := pattern.FindStringSubmatch(help); found != nil {
			for v := range strings.SplitSeq(found[1], ",") {
				out[set] = append(out[set], strings.TrimSpace(v))
			}
			slices.Sort(out[set])
		}
	}
	return out
}
