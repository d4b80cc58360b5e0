package backend

import (
	"net/url"
	"os"
	"strings"

	"github.com/kubewright/kubewright/state"
)

// Hide is err with a text that can be shown: without the secrets that the
// redactor knows, which a server may send back, and without passwords in
// addresses. What it wraps stays visible to errors.Is and errors.As.
func Hide(err error, secrets *state.Redactor) error {
	if err == nil {
		return nil
	}
	text := secrets.Text(state.WithoutPasswords(err.Error()))
	if text == err.Error() {
		return err
	}
	return &hidden{text, err}
}

type hidden struct {
	text string
	err  error
}

func (h *hidden) Error() string { return h.text }
func (h *hidden) Unwrap() error { return h.err }

// ProxySecrets returns the passwords of the proxies that the environment names: the
// libraries read them there, and a proxy may send them back.
func ProxySecrets() []string {
	var out []string
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"} {
		out = append(out, LoginSecrets(os.Getenv(name))...)
	}
	return out
}

// LoginSecrets returns what must not be shown of an address with user and password in
// it, also of one that cannot be parsed: the password as it is written and as it is
// meant, and both together as they are sent.
func LoginSecrets(address string) []string {
	if _, rest, ok := strings.Cut(address, "://"); ok {
		address = rest
	}
	at := strings.LastIndex(address, "@")
	user, password, ok := strings.Cut(address[:max(at, 0)], ":")
	if !ok || password == "" {
		return nil
	}
	return append(BasicSecrets(unescaped(user), unescaped(password)), password)
}

func unescaped(text string) string {
	if plain, err := url.PathUnescape(text); err == nil {
		return plain
	}
	return text
}

// BasicSecrets returns what must not be shown of a user and a password: the password,
// and both together as they are sent.
func BasicSecrets(user, password string) []string {
	if password == "" {
		return nil
	}
	return []string{password, user + ":" + password}
}
