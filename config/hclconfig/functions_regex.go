package hclconfig

import (
	"regexp"

	"github.com/zclconf/go-cty/cty"
)

// matches counts the matches of a regular expression, up to most (-1: all), and their bytes. It
// returns 0 without matching if that takes too many steps, or if the regular expression is
// invalid.
func matches(pattern, text string, steps float64, most int) (count, bytes float64) {
	if steps > float64(usualLimits.steps) {
		return 0, 0
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return 0, 0
	}
	// With most, the list of positions has a few million numbers; without it, matches are
	// counted one by one.
	if most >= 0 {
		for _, at := range re.FindAllStringIndex(text, most) {
			count, bytes = count+1, bytes+float64(at[1]-at[0])
		}
		return count, bytes
	}
	re.ReplaceAllStringFunc(text, func(s string) string {
		count, bytes = count+1, bytes+float64(len(s))
		return ""
	})
	return count, bytes
}

func sizeOfRegex(args []cty.Value) size {
	return size{steps: stepsOfMatching(textOf(args, 0), textOf(args, 1))}
}

func sizeOfRegexAll(args []cty.Value) size {
	pattern, text := textOf(args, 0), textOf(args, 1)
	steps := stepsOfMatching(pattern, text)
	count, _ := matches(pattern, text, steps, usualLimits.elements+1)
	groups := 0
	if re, err := regexp.Compile(pattern); err == nil {
		groups = re.NumSubexp()
	}
	return size{elements: count * float64(1+groups), steps: 2 * steps}
}
