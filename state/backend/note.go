package backend

import "sync"

// Note is a warning about a place that does not stop the run.
type Note struct {
	// Title names the problem; Text says what is wrong and what to do about it.
	Title, Text string
}

// Noting is a backend that reports notes.
type Noting interface {
	// OnNote calls a function with each note, once, when the place is first contacted.
	OnNote(tell func(Note))
}

// Notes implements Noting for backends that embed it. The zero value reports nothing.
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

// Say reports the notes that were not reported before.
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
