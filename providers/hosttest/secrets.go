package hosttest

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/rsa"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"html"
	"net/url"
	"strconv"
	"strings"

	"k8s.io/client-go/util/keyutil"
)

// Secrets are values that no text may contain. They are found in the forms in which they
// can leak.
type Secrets struct {
	// forms maps all forms of all secrets to the names of the secrets.
	forms map[string]string
	// begin has the forms by their first bytes, as many as fit into a number or as the
	// shortest form has; mayBegin rules out most numbers with which no form begins.
	begin    map[uint32][]string
	mayBegin [1 << 16]bool
	short    int
}

// Hide registers a value for the search. what names it.
func (s *Secrets) Hide(what, value string) {
	if s.forms == nil {
		s.forms = map[string]string{}
	}
	for _, form := range forms(value) {
		s.forms[form] = what
	}
	s.short = 4
	for form := range s.forms {
		s.short = min(s.short, len(form))
	}
	s.begin, s.mayBegin = map[uint32][]string{}, [1 << 16]bool{}
	for form := range s.forms {
		first := uint32(0)
		for i := range s.short {
			first = s.next(first, form[i])
		}
		s.begin[first] = append(s.begin[first], form)
		s.mayBegin[spread(first)] = true
	}
}

// next returns the number of the last bytes, moved one byte further in the text.
func (s *Secrets) next(last uint32, b byte) uint32 {
	return (last<<8 | uint32(b)) & uint32(1<<(8*s.short)-1)
}

// spread returns a hash of a number (Knuth's, by the golden ratio).
func spread(n uint32) uint16 { return uint16(n * 2654435769 >> 16) }

// HideKey registers a private key in PEM for the search: a secret part of it, as bytes and
// as the corresponding text in the file.
func (s *Secrets) HideKey(what string, key []byte) error {
	der, text, err := middle(key)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	s.Hide(what, string(der))
	s.Hide(what, text)
	return nil
}

// Find returns the secrets in a text, each form once, with the text around it.
func (s *Secrets) Find(text string) []string {
	var found []string
	known := map[string]bool{}
	last := uint32(0)
	for end := range len(text) {
		// Tests search long texts: avoid a map lookup at each byte.
		if last = s.next(last, text[end]); !s.mayBegin[spread(last)] || end+1 < s.short {
			continue
		}
		i := end + 1 - s.short
		for _, form := range s.begin[last] {
			if known[form] || !strings.HasPrefix(text[i:], form) {
				continue
			}
			known[form] = true
			found = append(found, fmt.Sprintf("%s shows as %q: …%s…", s.forms[form], form, text[max(0, i-200):min(len(text), i+len(form)+60)]))
		}
	}
	return found
}

// forms returns the forms in which a value can leak: unchanged, escaped as in JSON, Go,
// URLs and HTML, in hexadecimal and in base64.
func forms(value string) []string {
	quoted, err := json.Marshal(value)
	if err != nil {
		panic(err) // every string is valid in JSON
	}
	plain := strconv.Quote(value)
	out := []string{
		value, string(quoted[1 : len(quoted)-1]), plain[1 : len(plain)-1], url.QueryEscape(value), html.EscapeString(value),
		hex.EncodeToString([]byte(value)), strings.ToUpper(hex.EncodeToString([]byte(value))),
	}
	// In base64 a text has three forms, depending on its offset in a longer one.
	for before := range 3 {
		text := append(make([]byte, before), value...)
		from, to := within(before, len(text))
		for _, coding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			out = append(out, coding.EncodeToString(text)[from:to])
		}
	}
	return out
}

// within returns the range of base64 letters that depend on these bytes alone.
func within(from, to int) (int, int) { return (from*8 + 5) / 6, to * 8 / 6 }

const (
	// line is how many bytes a line of PEM has, and part how many are searched for.
	line = 48
	part = 16
)

// middle returns a part of a key's secret, within one line of its PEM: the bytes, and their
// text there. The public part of a key is elsewhere, too.
func middle(key []byte) (der []byte, text string, err error) {
	block, _ := pem.Decode(key)
	if block == nil {
		return nil, "", errors.New("there is no PEM in it")
	}
	parsed, err := keyutil.ParsePrivateKeyPEM(key)
	if err != nil {
		return nil, "", err
	}
	var secret []byte
	switch k := parsed.(type) {
	case *rsa.PrivateKey:
		secret = k.Primes[0].Bytes()
	case *ecdsa.PrivateKey:
		secret, err = k.Bytes()
	default:
		err = fmt.Errorf("it is of the unknown type %T", parsed)
	}
	if err != nil {
		return nil, "", err
	}
	at := bytes.Index(block.Bytes, secret)
	if at < 0 {
		return nil, "", errors.New("its secret does not stand in it")
	}
	if at%line+part > line {
		at += line - at%line
	}
	from, to := within(at, at+part)
	return block.Bytes[at : at+part], base64.StdEncoding.EncodeToString(block.Bytes)[from:to], nil
}
