package planfile

import (
	"crypto/hmac"
	"encoding/hex"
	"encoding/json"
	"errors"

	"github.com/kubewright/kubewright/state"
)

// macPurpose separates the key of saved plans from other keys of a state.
const macPurpose = "saved plan"

// The kinds of errors of File.Authenticate.
var (
	// ErrEarlierFormat: a version of the tool that did not authenticate plans wrote the file.
	ErrEarlierFormat = errors.New("the saved plan was written by an earlier version of kubewright, which did not authenticate plans")
	// ErrNoMAC: the file was written without a key, or its authentication code was removed.
	ErrNoMAC = errors.New("the saved plan has no authentication code")
	// ErrOtherMAC: the file was written with the key of another state, or was changed since.
	ErrOtherMAC = errors.New("the saved plan's authentication code is not one of this state's key")
)

// Authenticate verifies that the file was written with a state's key: it returns nil, or an error
// that wraps ErrEarlierFormat, ErrNoMAC or ErrOtherMAC. The comparison takes the same time whatever
// the code of the file is. No code matches the zero Key.
func (f File) Authenticate(key state.Key) error {
	switch {
	case f.read.FormatVersion < FormatVersion:
		return ErrEarlierFormat
	case f.read.MAC == "":
		return ErrNoMAC
	}
	want, err := f.read.mac(key)
	if err != nil || want == "" || !hmac.Equal([]byte(want), []byte(f.read.MAC)) {
		return ErrOtherMAC
	}
	return nil
}

// mac returns the hex authentication code of everything else in the envelope; empty for the zero
// Key.
func (e envelope) mac(key state.Key) (string, error) {
	e.MAC = ""
	b, err := json.Marshal(e)
	if err != nil {
		return "", err
	}
	return hex.EncodeToString(key.MAC(macPurpose, b)), nil
}
