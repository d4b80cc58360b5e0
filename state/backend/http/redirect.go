package http

import (
	"fmt"
	nethttp "net/http"
	"net/url"
	"strings"

	"github.com/kubewright/kubewright/state/backend"
)

// maxRedirects bounds how many redirects of a read are followed.
const maxRedirects = 5

// follow decides about a redirect. Clients turn a redirected write into a GET, which would
// succeed and do nothing, so only reads are followed. They stay on the configured server, or go
// from http to https on the same host. Credentials go only to the configured origin, and to its
// https on the corresponding port.
func follow(next *nethttp.Request, via []*nethttp.Request) error {
	first, last := via[0], via[len(via)-1]
	if first.Method != nethttp.MethodGet || len(via) > maxRedirects {
		return nethttp.ErrUseLastResponse
	}
	if backend.Origin(last.URL) != backend.Origin(next.URL) && !upgrades(last.URL, next.URL) {
		return nethttp.ErrUseLastResponse
	}
	if !trusted(first.URL, next.URL) {
		next.Header.Del("Authorization")
	}
	return nil
}

// upgrades reports whether a redirect goes from http to https of the same host.
func upgrades(from, to *url.URL) bool {
	return strings.EqualFold(from.Scheme, "http") && strings.EqualFold(to.Scheme, "https") && strings.EqualFold(from.Hostname(), to.Hostname())
}

// trusted reports whether credentials for one address may be sent to the other: it has the same
// origin, or is its https variant, on the same port or on 443 instead of 80. A different port may
// belong to a different server.
func trusted(configured, other *url.URL) bool {
	if backend.Origin(configured) == backend.Origin(other) {
		return true
	}
	return upgrades(configured, other) && (backend.Port(configured) == backend.Port(other) || backend.Port(configured) == "80" && backend.Port(other) == "443")
}

// redirected is the error of a redirect that was not followed.
func (b *Backend) redirected(r request, resp *nethttp.Response) error {
	status := fmt.Sprintf("%d %s", resp.StatusCode, nethttp.StatusText(resp.StatusCode))
	to, err := resp.Location()
	if err != nil {
		return &backend.Error{
			Op: r.op, Place: b.String(), Problem: fmt.Sprintf("the server answers %s to %s at the backend's %s, and does not say where to go", status, r.method, r.setting),
			Remedy: "see whether the address is right",
		}
	}
	why := "and only reads are redirected: the same request there could succeed without writing or locking anything"
	switch {
	case r.method != nethttp.MethodGet:
	case backend.Origin(resp.Request.URL) == backend.Origin(to) || upgrades(resp.Request.URL, to):
		why = fmt.Sprintf("and has done so %d times", maxRedirects)
	default:
		why = "which is another server: no state is read from it, and no credentials are sent to it"
	}
	return &backend.Error{
		Op: r.op, Place: b.String(),
		Problem: b.secrets.Text(fmt.Sprintf("the server redirects %s %s to %s (%s), %s", r.method, b.settings[r.setting], b.shown(to), status, why)),
		Remedy:  b.configure(r.setting, to),
	}
}

// moved is the error of an address whose reads are redirected, where following them does not
// help.
func (b *Backend) moved(op, problem string, to *url.URL) error {
	return &backend.Error{
		Op: op, Place: b.String(), Problem: b.secrets.Text(fmt.Sprintf("the server redirects GET %s to %s, %s", b.String(), b.shown(to), problem)),
		Remedy: b.configure("address", to),
	}
}

// configure says how to configure the new address.
func (b *Backend) configure(setting string, to *url.URL) string {
	return b.secrets.Text(fmt.Sprintf("nothing was written: if that is the right server, give the backend %s = %q, or set KUBEWRIGHT_HTTP_%s", setting, b.shown(to), strings.ToUpper(setting)))
}

// maxShown bounds how much of an address from the server is shown.
const maxShown = 300

// shown returns an address without parts that may be secret. The query is kept only if it is a
// configured one.
func (b *Backend) shown(u *url.URL) string {
	plain := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}
	query := u.Query()
	query.Del("ID")
	for _, name := range addresses {
		if configured, err := url.Parse(b.settings[name]); err == nil && configured.RawQuery != "" && configured.Query().Encode() == query.Encode() {
			plain.RawQuery = configured.RawQuery
		}
	}
	text := plain.String()
	return text[:min(len(text), maxShown)]
}
