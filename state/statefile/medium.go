package statefile

import (
	"bytes"
	"errors"

	"github.com/kubewright/kubewright/state"
)

// medium is a file system and the codec of the files on it.
type medium struct {
	FS
	codec state.Codec
}

// unseal reverses seal. Its errors are an *Error without path, with a remedy where one is known.
func (m medium) unseal(kept []byte) ([]byte, error) {
	if m.codec == nil {
		return kept, nil
	}
	plain, err := m.codec.Open(kept)
	refused := (*state.CodecError)(nil)
	switch {
	case err == nil:
		return plain, nil
	case errors.As(err, &refused):
		return nil, &Error{Kind: refused.Kind, Problem: refused.Problem, Remedy: refused.Remedy}
	}
	return nil, damaged("it is encrypted, and was cut or changed since it was written", err)
}

// seal returns the stored form of bytes.
func (m medium) seal(plain []byte) ([]byte, error) {
	if m.codec == nil {
		return plain, nil
	}
	kept, err := m.codec.Seal(plain)
	refused := (*state.CodecError)(nil)
	if errors.As(err, &refused) {
		return nil, &Error{Kind: refused.Kind, Problem: refused.Problem, Remedy: refused.Remedy}
	}
	return kept, err
}

// sealReadable is seal for essential files: what cannot be read back is not written. A state that
// no available identity can decrypt would stop all work with its clusters.
func (m medium) sealReadable(plain []byte) ([]byte, error) {
	kept, err := m.seal(plain)
	if err != nil {
		return nil, err
	}
	back, err := m.unseal(kept)
	refused := (*Error)(nil)
	switch {
	case errors.As(err, &refused) && refused.Kind == state.ErrSealed:
		refused.Problem = "what would be written could not be read here again (" + refused.Problem + ")"
		return nil, refused
	case err == nil && !bytes.Equal(back, plain):
		err = errors.New("internal error: what was encrypted is not what is decrypted")
	}
	return kept, err
}

// reseal returns a file in the form in which it would be written now.
func (m medium) reseal(kept []byte) ([]byte, error) {
	if m.codec == nil {
		return kept, nil
	}
	plain, err := m.unseal(kept)
	if err != nil {
		return nil, err
	}
	return m.sealReadable(plain)
}
