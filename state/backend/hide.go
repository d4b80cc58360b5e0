package backend

import (
	"net/url"
	"os"
	"strings"

	"github.com/kubewright/kubewright/state"
)

// Hide returns err with a text that is safe to show: without the secrets that the redactor knows,
// which a server may echo, and without passwords in addresses. The wrapped error stays visible to
// errors.Is and errors.As.
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

// ProxySecrets returns the passwords of the proxies in the environment: the client libraries read
// them there, and a proxy may echo them.
func ProxySecrets() []string {
	var out []string
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"} {
		out = append(out, LoginSecrets(os.Getenv(name))...)
	}
	return out
}

// LoginSecrets returns the secrets in an address with user and password, even one that cannot be
// parsed: the password as written and unescaped, and USER:PASSWORD as basic authentication sends
// it.
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

// BasicSecrets returns the secrets of a user and a password: the password, and USER:PASSWORD as
// basic authentication sends it.
func BasicSecrets(user, password string) []string {
	if password == "" {
		return nil
	}
	return []string{password, user + ":" + password}
}
