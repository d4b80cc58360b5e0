package config

import (
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Quote quotes a text of the user's for a message, shortened when it is long.
func Quote(s string) string {
	const most = 80
	if utf8.RuneCountInString(s) > most {
		return strconv.Quote(string([]rune(s)[:most])) + "…"
	}
	return strconv.Quote(s)
}

// keys are the keys of a map in order.
func keys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
