package state

// Moved records that a target was renamed.
type Moved struct {
	From Target `json:"from"`
	To   Target `json:"to"`
}

// Of returns the target under its name after the move. The addons of a cluster move with it.
func (m Moved) Of(t Target) Target {
	switch {
	case t == m.From:
		return m.To
	case m.From.Type == TypeCluster && t.Type == TypeAddon && t.Name == m.From.Name:
		t.Name = m.To.Name
	}
	return t
}
