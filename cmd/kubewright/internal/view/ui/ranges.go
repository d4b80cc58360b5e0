package ui

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// minRange is the number of names that a range has to save a reader from.
const minRange = 4

// Ranges returns names with consecutive numbers as ranges, such as w006…w120, in the order of
// their numbers. Lists without such names keep their order. A range of names leaves out none: each
// differs from the one before it in one number, which is one higher.
func Ranges(names []string) []string {
	sorted := make([]numbered, len(names))
	for i, n := range names {
		sorted[i] = newNumbered(n)
	}
	slices.SortStableFunc(sorted, numbered.compare)
	var out []string
	ranges := false
	for i := 0; i < len(sorted); {
		end, place := i+1, -1
		for end < len(sorted) {
			at := sorted[end-1].follower(sorted[end])
			if at < 0 || place >= 0 && at != place {
				break
			}
			place = at
			end++
		}
		if end-i < minRange {
			out = append(out, sorted[i].name)
			i++
			continue
		}
		out = append(out, rangeOf(sorted[i].name, sorted[end-1].name))
		ranges = true
		i = end
	}
	if !ranges {
		return names
	}
	return out
}

// rangeOf returns FIRST…LAST; of keys of one block node.w["w001"…"w120"].
func rangeOf(first, last string) string {
	block, key, keyed := strings.Cut(first, `["`)
	of, end, same := strings.Cut(last, `["`)
	if keyed && same && block == of && strings.HasSuffix(key, `"]`) {
		return block + `["` + strings.TrimSuffix(key, "]") + `…"` + end
	}
	return first + "…" + strings.TrimPrefix(last, "…") // of addresses a short name is …22
}

// NodeRanges returns a list of names with ranges, after their number if there are ranges: cp2, cp3,
// but 119 nodes: w002…w120.
func NodeRanges(names []string) string {
	short := Ranges(names)
	if len(short) == len(names) {
		return CommaList(names)
	}
	return Plural(len(names), "node") + ": " + CommaList(short)
}

// nodeAddress is the address of a node, as findings have it, with what they add in brackets.
var nodeAddress = regexp.MustCompile(`(node\.[\w-]+(?:\["(?:[^"\\]|\\.)*"\])?)( \([^()]*\))?`)

// WithRanges returns text in which lists of addresses of nodes are shortened to ranges, with
// their number. What a list has in brackets behind each address is left out of a range.
func WithRanges(text string) string {
	var b strings.Builder
	at := nodeAddress.FindAllStringSubmatchIndex(text, -1)
	written := 0
	for i := 0; i < len(at); {
		end := i + 1
		for end < len(at) && text[at[end-1][1]:at[end][0]] == ", " {
			end++
		}
		var names []string
		whole := map[string]string{}
		for _, m := range at[i:end] {
			name := text[m[2]:m[3]]
			names, whole[name] = append(names, name), text[m[0]:m[1]]
		}
		if short := Ranges(names); len(short) < len(names) {
			for k, s := range short {
				short[k] = cmp.Or(whole[s], s)
			}
			b.WriteString(text[written:at[i][0]] + CommaList(short) + " (" + Plural(len(names), "node") + ")")
			written = at[end-1][1]
		}
		i = end
	}
	return b.String() + text[written:]
}

// numbered is a name as the texts and numbers that it is made of.
type numbered struct {
	name string
	// parts are the texts and numbers in turn, beginning with a text.
	parts []string
}

func newNumbered(name string) numbered {
	n := numbered{name: name}
	from, digits := 0, false
	for i := range len(name) {
		if is := name[i] >= '0' && name[i] <= '9'; is != digits {
			n.parts = append(n.parts, name[from:i])
			from, digits = i, is
		}
	}
	n.parts = append(n.parts, name[from:])
	return n
}

// compare orders names by their texts and numbers, from the left.
func (n numbered) compare(o numbered) int {
	for i := range min(len(n.parts), len(o.parts)) {
		a, b := n.parts[i], o.parts[i]
		order := strings.Compare(a, b)
		if i%2 == 1 {
			a, b := strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
			order = cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b), order)
		}
		if order != 0 {
			return order
		}
	}
	return cmp.Compare(len(n.parts), len(o.parts))
}

// follower returns the place of the only part in which the other name differs if it is a number,
// and the other's is the next one, written in the same way; -1 otherwise.
func (n numbered) follower(o numbered) int {
	if len(n.parts) != len(o.parts) {
		return -1
	}
	place := -1
	for i := range n.parts {
		if n.parts[i] == o.parts[i] {
			continue
		}
		if i%2 == 0 || place >= 0 || !next(n.parts[i], o.parts[i]) {
			return -1
		}
		place = i
	}
	return place
}

// next reports whether the number b is one above a. With leading zeros both have the same length.
func next(a, b string) bool {
	x, err := strconv.ParseUint(a, 10, 63)
	if err != nil || len(a) > len(b) || len(a) < len(b) && (a[0] == '0' && a != "0" || b[0] == '0') {
		return false
	}
	y, err := strconv.ParseUint(b, 10, 63)
	return err == nil && y == x+1
}
