package backend

import "sync"

// Note is what a user is to know of a place, and that stops nothing.
type Note struct {
	// Title names the problem; Text says what is wrong, and what to do about it.
	Title, Text string
}

// Noting is a backend that has notes.
type Noting interface {
	// OnNote has a function told of each note, once, when the place is first contacted.
	OnNote(tell func(Note))
}

// Notes are those of a backend, to be part of it. The zero value tells none.
type Notes struct {
	mu   sync.Mutex
	tell func(Note)
	said map[Note]bool
}

// OnNote implements Noting.
func (n *Notes) OnNote(tell func(Note)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.tell = tell
}

// Say tells of a note that was not told before.
func (n *Notes) Say(notes ...Note) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.tell == nil {
		return
	}
	for _, note := range notes {
		if n.said[note] {
			continue
		}
		if n.said == nil {
			n.said = map[Note]bool{}
		}
		n.said[note] = true
		n.tell(note)
	}
}
