package machine

import "slices"

// Accounts are a machine's users. Each has a group of its name.
type Accounts struct{ m *Machine }

// AccountsOf returns the machine's users.
func AccountsOf(m *Machine) Accounts { return Accounts{m} }

// Has reports whether a user exists.
func (a Accounts) Has(name string) bool { return slices.Contains(a.m.Users, name) }

// Set creates a user, or removes it. It reports whether that changed anything.
func (a Accounts) Set(name string, there bool) bool {
	switch {
	case a.Has(name) == there:
		return false
	case there:
		Insert(&a.m.Users, name)
	default:
		a.m.Users = slices.DeleteFunc(a.m.Users, func(other string) bool { return other == name })
	}
	return true
}
