package componentflag

import (
	_ "embed" // the list of values
	"encoding/csv"
	"maps"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	netutils "k8s.io/utils/net"
)

//go:embed values.txt
var valueList string

// Values are the minor versions that have a value, by set and value.
var Values = parseValues(valueList)

func parseValues(text string) map[string]map[string][]string {
	out := parseTable(text)
	for _, values := range out {
		for v, minors := range values {
			values[v] = minorsOf(minors)
		}
	}
	return out
}

// ValuesOf returns the values that a set has in a minor version.
func ValuesOf(set string, minor int) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(Values[set])), func(v string) bool {
		return !slices.Contains(Values[set][v], strconv.Itoa(minor))
	})
}

// A Type is how flags of a type parse their values.
type Type struct {
	// Takes says what to write, for a message.
	Takes string
	Reads func(string) bool
}

// by turns a parser into a function that reports whether it accepts a text.
func by[T any](parse func(string) (T, error)) func(string) bool {
	return func(s string) bool {
		_, err := parse(s)
		return err == nil
	}
}

// whole accepts an integer as flags of that many bits do: also 0x1f and 1_000.
func whole(bits int) func(string) bool {
	return by(func(s string) (int64, error) { return strconv.ParseInt(s, 0, bits) })
}

// natural accepts an integer that is not negative.
func natural(bits int) func(string) bool {
	return by(func(s string) (uint64, error) { return strconv.ParseUint(s, 0, bits) })
}

// Types are the types in flags.txt whose values are checked. They accept what
// pflag, etcd's flag package and the custom flags of k8s.io/component-base and etcd accept.
var Types = map[string]Type{
	"bool":        {"true or false", by(strconv.ParseBool)},
	"int":         {"a whole number", whole(64)},
	"int32":       {"a whole number up to 2147483647", whole(32)},
	"int32s":      {"whole numbers, separated by commas", each(whole(32))},
	"uint":        {"a whole number that is not negative", natural(64)},
	"uint32":      {"a whole number from 0 to 4294967295", natural(32)},
	"float":       {"a number", by(func(s string) (float64, error) { return strconv.ParseFloat(s, 64) })},
	"duration":    {"a duration with its unit, as in 30s or 5m", by(time.ParseDuration)},
	"retention":   {"a number that is not negative, or a duration with its unit, as in 10h", readRetention},
	"quantity":    {"a quantity, as in 500 or 1Mi", by(resource.ParseQuantity)},
	"ip":          {"an IP address", readIP},
	"ports":       {"a range of ports, as in 30000-32767", by(utilnet.ParsePortRange)},
	"urls":        {"URLs with scheme, host and port and no path, as in http://127.0.0.1:2381, separated by commas", func(s string) bool { return s == "" || each(readURL)(s) }},
	"list":        {"words, separated by commas; one with a quote in it stands in quotes", by(SplitList)},
	"pair":        {"KEY=VALUE", divided("=")},
	"pairs":       {"KEY=VALUE, several separated by commas", some(divided("="))},
	"thresholds":  {"SIGNAL<VALUE, as in memory.available<200Mi, several separated by commas", some(divided("<"))},
	"multimap":    {"KEY:VALUE, several separated by commas", some(divided(":"))},
	"certificate": {"the files of a certificate and its key, CERTIFICATE,KEY, and behind them :NAME,NAME where they are for certain names", readCertificate},
}

func each(reads func(string) bool) func(string) bool {
	return func(s string) bool {
		return !slices.ContainsFunc(strings.Split(s, ","), func(part string) bool { return !reads(part) })
	}
}

// some is each whose parts may be empty.
func some(reads func(string) bool) func(string) bool {
	return each(func(s string) bool { return s == "" || reads(s) })
}

func divided(by string) func(string) bool {
	return func(s string) bool { return strings.Contains(s, by) }
}

// readIP accepts an IP address. The kubelet accepts leading zeros.
func readIP(s string) bool {
	return s == "" || netutils.ParseIPSloppy(strings.TrimSpace(s)) != nil
}

// readRetention accepts etcd's compaction retention (embed/etcd.go: parseCompactionRetention).
func readRetention(s string) bool {
	if n, err := strconv.Atoi(s); s == "" || err == nil && n >= 0 {
		return true
	}
	_, err := time.ParseDuration(s)
	return err == nil
}

// SplitList splits a list as pflag does.
func SplitList(s string) ([]string, error) {
	if s == "" {
		return nil, nil
	}
	return csv.NewReader(strings.NewReader(s)).Read()
}

// readURL accepts a URL as etcd does (client/pkg/types).
func readURL(s string) bool {
	u, err := url.Parse(strings.TrimSpace(s))
	if err != nil {
		return false
	}
	switch u.Scheme {
	case "unix", "unixs":
		return true
	case "http", "https":
		_, _, err := net.SplitHostPort(u.Host)
		return err == nil && u.Path == ""
	}
	return false
}

func readCertificate(s string) bool {
	files, names, some := strings.Cut(s, ":")
	return strings.Count(files, ",") == 1 && (!some || strings.TrimSpace(names) != "")
}
