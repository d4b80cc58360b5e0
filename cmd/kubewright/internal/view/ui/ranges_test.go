package ui_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
)

// TestRangesLeaveOutNoName checks that only names whose numbers are consecutive, and are written
// alike, become a range.
func TestRangesLeaveOutNoName(t *testing.T) {
	t.Parallel()
	for names, want := range map[string]string{
		"":                                "",
		"cp2 cp3":                         "cp2 cp3",
		"w3 w1 w2":                        "w3 w1 w2",
		"w1 w2 w3 w4":                     "w1…w4",
		"w1 w10 w11 w12 w2 w3 w9":         "w1 w2 w3 w9…w12",
		"w008 w009 w010 w011":             "w008…w011",
		"w08 w09 w10 w011 w012":           "w08 w09 w10 w011 w012",
		"w8 w9 w010 w011":                 "w8 w9 w010 w011",
		"b1 a2 a1 a4 a3 z":                "a1…a4 b1 z",
		"w001 w002 w003 w004 w006 w007":   "w001…w004 w006 w007",
		"r1n1 r2n2 r3n3 r4n4":             "r1n1 r2n2 r3n3 r4n4",
		"r1n3 r1n4 r2n4 r2n5":             "r1n3 r1n4 r2n4 r2n5",
		"w1.dc1 w2.dc1 w3.dc1 w4.dc1":     "w1.dc1…w4.dc1",
		"10.0.0.9 10.0.0.10 10.0.0.11 x1": "10.0.0.9 10.0.0.10 10.0.0.11 x1",
		"10.0.0.9 10.0.0.10 10.0.0.11 10.0.0.12 10.0.1.13": "10.0.0.9…10.0.0.12 10.0.1.13",
		"…9 …10 …11 …12":                                   "…9…12",
		"0 1 2 3":                                          "0…3",
		"w99999999999999999998 w99999999999999999999 w100000000000000000000 w100000000000000000001": "w99999999999999999998 w99999999999999999999 w100000000000000000000 w100000000000000000001",
		"a a a a a": "a a a a a",
		`node.w["1"] node.w["2"] node.w["3"] node.w["4"] node.v["5"]`: `node.v["5"] node.w["1"…"4"]`,
	} {
		if got := strings.Join(ui.Ranges(strings.Fields(names)), " "); got != want {
			t.Errorf("%q: got %q, want %q", names, got, want)
		}
	}
}

// TestFindingsNameManyNodesAsRanges checks that only lists of addresses are shortened, with their
// number, and that a name outside of the range keeps what is said of it.
func TestFindingsNameManyNodesAsRanges(t *testing.T) {
	t.Parallel()
	var list []string
	for i := 1; i <= 120; i++ {
		list = append(list, fmt.Sprintf(`node.w["w%03d"] (10.78.0.%d)`, i, i))
	}
	many := strings.Join(list, ", ")
	for text, want := range map[string]string{
		"Ports 1, 2, 3, 4, 5 are in use.":                           "Ports 1, 2, 3, 4, 5 are in use.",
		`node.w["w1"], node.w["w2"], node.w["w3"]: full`:            `node.w["w1"], node.w["w2"], node.w["w3"]: full`,
		`node.cp (10.77.0.11), ` + many + ": full, see node.x":      `node.cp (10.77.0.11), node.w["w001"…"w120"] (121 nodes): full, see node.x`,
		`Of node.w["1"], node.w["2"] and node.w["3"], node.w["4"].`: `Of node.w["1"], node.w["2"] and node.w["3"], node.w["4"].`,
	} {
		if got := ui.WithRanges(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
