package ledger

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// A Shard is one of several parts of all tests, counted from 1.
type Shard struct{ Number, Of int }

// ParseShard reads a shard as NUMBER/OF; an empty text is all tests.
func ParseShard(text string) (Shard, error) {
	s := Shard{1, 1}
	if text == "" {
		return s, nil
	}
	if n, err := fmt.Sscanf(text, "%d/%d", &s.Number, &s.Of); n != 2 || err != nil || text != s.String() || s.Number < 1 || s.Number > s.Of {
		return s, fmt.Errorf("%q is no shard: write 2/4 for the second of four", text)
	}
	return s, nil
}

// String returns NUMBER/OF.
func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Number, s.Of) }

// Divide returns the shard of each test, given their usual durations, so that shards take about
// the same time: each test, the longest first, joins the shard with the least time. The result
// depends on its arguments alone, so machines agree on it.
func Divide(usual map[string]time.Duration, shards int) map[string]Shard {
	tests := slices.SortedFunc(maps.Keys(usual), func(a, b string) int {
		return cmp.Or(cmp.Compare(usual[b], usual[a]), cmp.Compare(a, b))
	})
	times, out := make([]time.Duration, shards), map[string]Shard{}
	for _, test := range tests {
		least := slices.Index(times, slices.Min(times))
		times[least] += usual[test]
		out[test] = Shard{least + 1, shards}
	}
	return out
}
