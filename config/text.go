package config

import (
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
