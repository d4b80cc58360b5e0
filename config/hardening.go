package config

import (
	"slices"

	"github.com/kubewright/kubewright/state"
)

// Hardening is a hardening block: which controls of a benchmark a cluster fulfils. Package hardening
// has the controls.
type Hardening struct {
	// Profile is empty where only Named controls are to hold.
	Profile string
	Named   []string `json:",omitempty"`
	// Exceptions are the controls that do not hold, and why.
	Exceptions []ControlException `json:",omitempty"`
	// Enforced are the numbers of the controls that hold.
	Enforced []string
	Source   state.Source
}

// ControlException is a control that a cluster does not fulfil.
type ControlException struct {
	Number, Reason string
	Source         state.Source
}

// Enforces reports whether the cluster fulfils a control.
func (h *Hardening) Enforces(number string) bool {
	return h != nil && slices.Contains(h.Enforced, number)
}

// ControlKey returns the key in Origins of what a control sets besides the settings of the language.
func ControlKey(number string) string { return state.JoinPath("hardening.control", number) }
