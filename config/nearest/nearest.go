// Package nearest finds what a user probably meant by a misspelt name. It knows no names itself.
package nearest

import (
	"slices"
	"strings"
)

// Name returns the name that the user probably intended, or "" if none is similar: one that
// differs in few letters, or the only one that contains the given text as half of it or more.
func Name(given string, names []string) string {
	best, distance := "", max(1, len(given)/3)+1
	var longer []string
	for _, name := range names {
		if strings.EqualFold(name, given) {
			return name
		}
		if len(given) < 3 {
			continue
		}
		if d := Distance(strings.ToLower(given), strings.ToLower(name)); d < distance {
			best, distance = name, d
		}
		if strings.Contains(strings.ToLower(name), strings.ToLower(given)) {
			longer = append(longer, name)
		}
	}
	if best == "" && len(longer) == 1 && 2*len(given) >= len(longer[0]) {
		return longer[0]
	}
	return best
}

// Distance counts the insertions, deletions, replacements and swaps of neighbours that turn
// one word into the other.
func Distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	if len(x) > 200 || len(y) > 200 {
		return 1 << 20 // infinite
	}
	var before []int
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		next := make([]int, len(y)+1)
		next[0] = i + 1
		for j := range y {
			cost := 1
			if x[i] == y[j] {
				cost = 0
			}
			next[j+1] = slices.Min([]int{next[j] + 1, row[j+1] + 1, row[j] + cost})
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row = row, next
	}
	return row[len(y)]
}
