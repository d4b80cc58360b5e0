package state

// Moved says that what was known under one target is another one by now.
type Moved struct {
	From Target `json:"from"`
	To   Target `json:"to"`
}

// Of returns the target by its name after the move. With a cluster go its addons.
func (m Moved) Of(t Target) Target {
	switch {
	case t == m.From:
		return m.To
	case m.From.Type == TypeCluster && t.Type == TypeAddon && t.Name == m.From.Name:
		t.Name = m.To.Name
	}
	return t
}
