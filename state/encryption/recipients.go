package encryption

import (
	"errors"
	"fmt"
	"strings"

	"filippo.io/age"
	"filippo.io/age/agessh"
)

// ParseRecipients reads public keys: age recipients (age1…), and SSH keys as in authorized_keys
// (ssh-ed25519 and ssh-rsa).
func ParseRecipients(texts []string) ([]age.Recipient, error) {
	if len(texts) == 0 {
		return nil, errors.New("recipients is empty: what is written could not be read")
	}
	var out []age.Recipient
	for _, text := range texts {
		r, err := parseRecipient(strings.TrimSpace(text))
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

func parseRecipient(text string) (age.Recipient, error) {
	const forms = "write age1… as age-keygen prints it, or ssh-ed25519 AAAA… or ssh-rsa AAAA… as in ~/.ssh/id_ed25519.pub"
	switch {
	case strings.HasPrefix(strings.ToUpper(text), "AGE-SECRET-KEY-"):
		// Not quoted, because it is secret.
		return nil, errors.New("a recipient is a public key, and this is a secret one. It has been written down here: make a new one with age-keygen, and write its public key (age1…)")
	case strings.HasPrefix(text, "ssh-"):
		r, err := agessh.ParseRecipient(text)
		if err != nil {
			return nil, fmt.Errorf("recipient %q is no SSH key that can be encrypted to (%v): %s", shortened(text), err, forms)
		}
		return r, nil
	case strings.HasPrefix(text, "age1"):
		parsed, err := age.ParseRecipients(strings.NewReader(text))
		if err != nil || len(parsed) != 1 {
			return nil, fmt.Errorf("recipient %q is no public key of age, or one of a plugin, which is not supported: %s", shortened(text), forms)
		}
		return parsed[0], nil
	}
	return nil, fmt.Errorf("recipient %q is no public key: %s", shortened(text), forms)
}

// shortened returns enough of a public key to recognize it.
func shortened(text string) string {
	const most = 40
	if len(text) > most {
		return text[:most] + "…"
	}
	return text
}
