package config

import (
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/encryption"
)

// Encryption lists the recipients to whom state, backups, journal and saved plans are
// encrypted.
type Encryption struct {
	// Recipients are public keys, as package encryption reads them.
	Recipients []string
	Source     state.Source
}

// Check checks the recipients.
func (e *Encryption) Check() diag.Diagnostics {
	if e == nil {
		return nil
	}
	if _, err := encryption.ParseRecipients(e.Recipients); err != nil {
		return diag.Diagnostics{diag.Errorf("Invalid recipient", "%v.", err).At(e.Source)}
	}
	return nil
}
