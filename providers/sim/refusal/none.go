//go:build withoutverdicts

package refusal

// EtcdMinor returns 0: no version is known.
func EtcdMinor(string) int { return 0 }

// Exits returns an empty reason.
func (s Start) Exits() string { return "" }
