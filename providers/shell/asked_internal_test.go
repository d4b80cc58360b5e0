package shell

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/budget"
	"github.com/kubewright/kubewright/state"
)

// TestAnswerWithUnrequestedNamesIsRefused checks that an answer with unrequested names, or with more data than the
// query allows, is refused, and that the error names the first of them.
func TestAnswerWithUnrequestedNamesIsRefused(t *testing.T) {
	t.Parallel()
	q := testQuery(t).Query
	q.Globs = []string{"/etc/cni/net.d/*"}
	many := func(n int, line string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, line+"\n", i)
		}
		return b.String()
	}
	const stat = "81a4|6|600|root:root|1700000000.250000000|"
	for name, c := range map[string]struct{ good, bad, want string }{
		"file":             {stat + "/a\n", stat + "/a\n" + stat + "/a1\n" + stat + "/a2\n", "cannot accept the host's files: it names /a1, which was not asked for"},
		"file below":       {stat + "/a\n", stat + "/a\n" + stat + "/etc/cni/net.d/x/y\n", "it names /etc/cni/net.d/x/y, which"},
		"matches":          {stat + "/a\n", stat + "/a\n" + many(mostMatches, stat+"/etc/cni/net.d/%d"), ""},
		"too many matches": {stat + "/a\n", stat + "/a\n" + many(mostMatches+1, stat+"/etc/cni/net.d/%d"), `/etc/cni/net.d/10000 is one of more than 10000 files that match ["/etc/cni/net.d/*"]`},
		"link":             {"/b\n/real/b\n", "/b\n/real/b\n/e\n/x\n", "the host's links: it names /e, which"},
		"folder":           {"3 /d\n", "3 /d\n3 /e\n", "the host's folders: it names /e, which"},
		"digest":           {"  /s\n", "  /s\n5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03  /e\n", "the host's digests: it names /e, which"},
		"size":             {"6 /s\n", "6 /s\n6 /e\n", "the host's sizes: it names /e, which"},
		"certificates":     {"kubewright NONCE units\n", "kubewright NONCE certificates\n>/a\nx\n\nkubewright NONCE units\n", "the host's certificates: it names /a, which"},
		"kubeconfigs":      {"kubewright NONCE units\n", "kubewright NONCE kubeconfigs\n>/b\nx\n\nkubewright NONCE units\n", "the host's kubeconfigs: it names /b, which"},
		"keys":             {"kubewright NONCE units\n", "kubewright NONCE keys\n- /a\n\nkubewright NONCE units\n", "the host's keys: it names /a, which"},
		"images":           {"registry.k8s.io/pause:3.10\n", many(mostImages, "r.io/a%d"), ""},
		"too many images":  {"registry.k8s.io/pause:3.10\n", many(mostImages+1, "r.io/a%d"), "r.io/a10000 is one of more than 10000 images"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(goodAnswer, c.good) {
				t.Fatalf("%q does not occur", c.good)
			}
			compiled, err := newQuery(q, "", true)
			if err != nil {
				t.Fatal(err)
			}
			raw := strings.Replace(goodAnswer, c.good, c.bad, 1)
			_, err = parseReport(compiled, parseAnswer([]byte(raw), testNonce), time.Now())
			if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, providers.ErrProtocol) || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v", err)
			}
			if c.want != "" && !strings.Contains(providers.RemedyOf(err), "compromised") {
				t.Errorf("it has no remedy: %q", providers.RemedyOf(err))
			}
		})
	}
}

// TestAnswerLimitFollowsQuery checks that the limit of an answer is just above what the query needs.
func TestAnswerLimitFollowsQuery(t *testing.T) {
	t.Parallel()
	file := func(n int) state.Query {
		var q state.Query
		for i := range n {
			q.Secrets = append(q.Secrets, fmt.Sprintf("/secret/%d", i))
		}
		return q
	}
	for n, most := range map[int]int64{0: 4 << 20, 1: 6 << 20, 10: 20 << 20, 1000: budget.Largest} {
		q, err := newQuery(file(n), "", false)
		if err != nil {
			t.Fatal(err)
		}
		if got := q.limit(); got > most || got < most/4 {
			t.Errorf("%d files: %d bytes", n, got)
		}
	}
}

// TestCollectorCutsOffEndlessOutput checks that endless output of any kind is cut off.
func TestCollectorCutsOffEndlessOutput(t *testing.T) {
	t.Parallel()
	mark := marker(testNonce)
	for name, c := range map[string]struct {
		before, flood, want string
		hears               bool
	}{
		"nothing in particular":    {mark + "begin\n", "A", `more than 65536 bytes in the part "begin" of its answer`, false},
		"facts":                    {mark + "begin\n" + mark + "facts\n", "cpus 2\n", `more than 65536 bytes in the part "facts" of its answer`, false},
		"in several parts":         {mark + "begin\n", mark + "sizes\n" + strings.Repeat("6 /a\n", 1000), `more than 300000 bytes in the part "sizes" of its answer`, false},
		"behind the end":           {mark + "begin\n" + mark + "end\n", "A", `more than 65536 bytes in the part "end" of its answer`, false},
		"noise":                    {"", "A", "more than 65536 bytes before the answer", false},
		"answer":                   {mark + "begin\n" + mark + "all\n", "A", fmt.Sprintf("more than %d bytes of answer", 1<<20+noiseCap), false},
		"unasked":                  {mark + "begin\n", mark + "heard 0 hello\n", "it tells what its commands print, which was not asked for", false},
		"unasked before the begin": {"", mark + "heard 0 hello\n", "it tells what its commands print, which was not asked for", false},
		"heard":                    {mark + "begin\n" + mark + "op 0\n", mark + "heard 0 " + strings.Repeat("z", 900) + "\n", fmt.Sprintf("more than %d bytes printed by operations under way", toldCap), true},
		"line":                     {mark + "begin\n" + mark + "heard 0 ", "A", "more than 16384 bytes in one line of markers", true},
		"sections":                 {mark + "begin\n", mark + "\n", "more than 16384 sections of answer", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var ended []error
			held := 0
			col := &collector{
				mark: mark, limit: 1 << 20, caps: map[string]int64{"sizes": 300_000, "all": 64 << 20}, former: map[string]int64{}, stop: func(err error) { ended = append(ended, err) },
				hold: func(n int) error { held += n; return nil },
			}
			if c.hears {
				col.hear = func(string) {}
			}
			_, _ = col.Write([]byte(c.before))
			flood := []byte(strings.Repeat(c.flood, 32<<10/len(c.flood)))
			for n := 0; len(ended) == 0 && n < 64<<20; n += len(flood) {
				_, _ = col.Write(flood)
			}
			_, _ = col.Write(flood)
			if len(ended) != 1 || !strings.HasPrefix(ended[0].Error(), c.want) {
				t.Errorf("ended by %v", ended)
			}
			if len(col.bytes()) > 2<<20 || held > 20<<20 {
				t.Errorf("%d bytes are kept, %d held", len(col.bytes()), held)
			}
		})
	}
}
