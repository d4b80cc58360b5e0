package state

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"slices"
)

// Key keys the fingerprints of secrets, and authenticates saved plans. It is random, is created
// once with a state's lineage, and is stored only in the state file: without it a fingerprint
// reveals nothing about a secret, not even a short one. With it a short secret can be guessed:
// fingerprints are not stretched, since a plan computes one for each sensitive value on each
// node, and those in existing states have to stay valid. No verb of fmt prints it.
type Key struct{ secret Secret }

// NewKey returns the key for the text in State.FingerprintKey; "" means no key.
func NewKey(text string) Key { return Key{NewSecret([]byte(text))} }

// IsZero reports whether there is no key yet: nothing was applied so far.
func (k Key) IsZero() bool { return k.secret.IsZero() }

// Fingerprint returns 32 hex digits of an HMAC-SHA-256 over the value's JSON, by which equal
// values can be recognized. Without a key it is "".
func (k Key) Fingerprint(v Value) string {
	b, err := v.MarshalJSON()
	if err != nil {
		return ""
	}
	return k.Sum(b)
}

// Sum returns the fingerprint of bytes.
func (k Key) Sum(b []byte) string {
	if k.IsZero() {
		return ""
	}
	mac := hmac.New(sha256.New, k.secret.Reveal())
	mac.Write(b)
	return hex.EncodeToString(mac.Sum(nil))[:32]
}

// MAC returns the HMAC-SHA-256 of content under a key that is derived from k for one purpose
// (HKDF-SHA-256). A fingerprint or a MAC for another purpose does not verify. Without a key it is
// nil.
func (k Key) MAC(purpose string, content []byte) []byte {
	if k.IsZero() {
		return nil
	}
	derived, err := hkdf.Key(sha256.New, k.secret.Reveal(), nil, "kubewright "+purpose, sha256.Size)
	if err != nil {
		panic("internal error: no key can be derived: " + err.Error()) // only of a key that is too long
	}
	mac := hmac.New(sha256.New, derived)
	mac.Write(content)
	return mac.Sum(nil)
}

// unknownFingerprint equals no fingerprint of a desired value, not even one without a key.
const unknownFingerprint = "unknown"

// Cover replaces an observed value with its fingerprint. Without a key the result equals no
// desired value.
func (k Key) Cover(v Value) Value {
	switch {
	case v.IsNull() || v.Kind() == KindSensitive:
		return v
	case k.IsZero():
		return SensitiveValue("", unknownFingerprint)
	}
	return SensitiveValue("", k.Fingerprint(v))
}

// Unkeyed returns a value without the fingerprints in it.
func Unkeyed(v Value) Value {
	if !v.HasSensitive() {
		return v
	}
	switch v.Kind() {
	case KindList:
		list := make([]Value, len(v.AsList()))
		for i, e := range v.AsList() {
			list[i] = Unkeyed(e)
		}
		return List(list...)
	case KindMap:
		m := make(map[string]Value, len(v.AsMap()))
		for k, e := range v.AsMap() {
			m[k] = Unkeyed(e)
		}
		return Map(m)
	case KindArgs:
		args := slices.Clone(v.AsArgs())
		for i := range args {
			args[i].Hidden = args[i].Hidden.Unkeyed()
		}
		return Args(args)
	}
	s := v.AsSensitive().Unkeyed()
	return SensitiveValue(s.Ref, s.Fingerprint)
}

// Unkeyed returns the replacement of a secret where there is no key.
func (s Sensitive) Unkeyed() Sensitive {
	if s.Ref == "" && !s.IsZero() {
		return Sensitive{Fingerprint: unknownFingerprint}
	}
	return Sensitive{Ref: s.Ref}
}
