package ui

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Plural returns a number with its noun: 1 file, 2 files.
func Plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	switch {
	case strings.HasSuffix(word, "y") && !strings.HasSuffix(word, "ey") && !strings.HasSuffix(word, "ay"):
		word = strings.TrimSuffix(word, "y") + "ie"
	case strings.HasSuffix(word, "s"), strings.HasSuffix(word, "x"), strings.HasSuffix(word, "ch"):
		word += "e"
	}
	return strconv.Itoa(n) + " " + word + "s"
}

// Duration returns whole seconds, minutes and hours: 43s, 2m10s, 1h5m.
func Duration(d time.Duration) string {
	if d < 10*time.Second {
		d = d.Round(100 * time.Millisecond)
	} else {
		d = d.Round(time.Second)
	}
	s := d.String()
	if d >= time.Hour {
		s = strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	} else if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	return s
}

// DaysAndHours returns whole days and hours: 45 days, 1 day 12 hours.
func DaysAndHours(d time.Duration) string {
	const day = 24 * time.Hour
	var parts []string
	if d >= day {
		parts = append(parts, Plural(int(d/day), "day"))
	}
	if hours := int(d % day / time.Hour); hours > 0 || len(parts) == 0 {
		parts = append(parts, Plural(hours, "hour"))
	}
	return strings.Join(parts, " ")
}

// Cleaned returns each of the words Clean.
func Cleaned(words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = Clean(w)
	}
	return out
}

// CommaList joins names with commas.
func CommaList(names []string) string { return strings.Join(names, ", ") }

// Brackets returns the parts in brackets, after a space; empty if all parts are.
func Brackets(parts []string) string {
	var kept []string
	for _, part := range parts {
		if part != "" {
			kept = append(kept, part)
		}
	}
	if len(kept) == 0 {
		return ""
	}
	return " (" + strings.Join(kept, ", ") + ")"
}

// NonEmpty returns the texts that are not empty.
func NonEmpty(texts ...string) []string {
	return slices.DeleteFunc(texts, func(s string) bool { return s == "" })
}

// RelativeDays returns a day as in 25 days, or 3 days ago.
func RelativeDays(left int) string {
	if left < 0 {
		return Plural(-left-1, "day") + " ago"
	}
	return "in " + Plural(left, "day")
}
