package state

import "fmt"

// Source is the origin of a value: a line of the configuration, or a named default. The zero
// Source is unknown.
type Source struct {
	// File is relative to the configuration folder.
	File string `json:"file,omitempty"`
	// Line and Column count from 1; columns count Unicode graphemes.
	Line      int `json:"line,omitempty"`
	Column    int `json:"column,omitempty"`
	EndLine   int `json:"end_line,omitempty"`
	EndColumn int `json:"end_column,omitempty"`
	// StartByte and EndByte are offsets into the file, for underlining.
	StartByte int `json:"start_byte,omitempty"`
	EndByte   int `json:"end_byte,omitempty"`
	// Default names the origin of a default value, such as "kubeadm 1.36".
	Default string `json:"default,omitempty"`
	// Control is what of a benchmark the value serves, as in "CIS 1.2.16", where the hardening block
	// at the position stands for the value.
	Control string `json:"control,omitempty"`
}

// DefaultSource returns the source of a value that the user did not set.
func DefaultSource(by string) Source { return Source{Default: by} }

// IsZero reports whether the source is unknown.
func (s Source) IsZero() bool { return s == Source{} }

// String prints cluster.hcl:21, or default(kubeadm 1.36), or "".
func (s Source) String() string {
	switch {
	case s.File != "":
		return fmt.Sprintf("%s:%d", s.File, s.Line)
	case s.Default != "":
		return "default(" + s.Default + ")"
	}
	return ""
}
