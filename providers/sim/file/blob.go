package file

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"
)

// Blob is content in the world's file: text unchanged, anything else in base64.
type Blob string

const blobBase64 = "base64:"

// MarshalText implements encoding.TextMarshaler.
func (b Blob) MarshalText() ([]byte, error) {
	if utf8.ValidString(string(b)) && !strings.HasPrefix(string(b), blobBase64) {
		return []byte(b), nil
	}
	return []byte(blobBase64 + base64.StdEncoding.EncodeToString([]byte(b))), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (b *Blob) UnmarshalText(text []byte) error {
	encoded, ok := strings.CutPrefix(string(text), blobBase64)
	if !ok {
		*b = Blob(text)
		return nil
	}
	plain, err := base64.StdEncoding.DecodeString(encoded)
	*b = Blob(plain)
	return err
}
