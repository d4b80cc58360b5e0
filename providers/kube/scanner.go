package kube

// scanner counts the contents of JSON while it arrives, before it is decoded. It does not
// validate.
type scanner struct {
	// items are the elements of arrays that are fields of the outermost object, elements
	// those of all arrays, and values all values, counted by the characters that begin or
	// separate them.
	items, elements, values int
	// open are the brackets that are not closed.
	open []byte
	// next reports whether the next value is an element, if there is one.
	next             bool
	quoted, escaping bool
}

func (s *scanner) scan(text []byte) {
	for _, c := range text {
		switch {
		case s.escaping:
			s.escaping = false
		case s.quoted:
			s.escaping, s.quoted = c == '\\', c != '"'
		case c == ' ', c == '\n', c == '\r', c == '\t', c == ':':
		case c == ',':
			s.values++
			s.next = len(s.open) > 0 && s.open[len(s.open)-1] == '['
		case c == '}', c == ']':
			s.open, s.next = s.open[:max(0, len(s.open)-1)], false
		default:
			s.begin(c)
		}
	}
}

// begin is the first character of a value or a key, or one inside a number.
func (s *scanner) begin(c byte) {
	if s.next {
		s.next = false
		s.elements++
		if len(s.open) == 2 && s.open[0] == '{' {
			s.items++
		}
	}
	switch c {
	case '"':
		s.quoted = true
	case '{', '[':
		s.values++
		s.next = c == '['
		if len(s.open) <= nesting {
			s.open = append(s.open, c)
		}
	}
}
