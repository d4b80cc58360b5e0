package sshconfig

import (
	"fmt"
	"slices"
	"strings"
)

// Asked is what ssh would be asked for: ssh USER@NAME.
type Asked struct {
	// Name is the host as it is written. User is empty where none is given.
	Name, User string
	// LocalUser is the operator's login name.
	LocalUser string
}

// Settings are what a configuration says about a host.
type Settings struct {
	// HostName is the name or address to connect to.
	HostName string
	values   map[string][]string
}

// Get returns the value of a keyword, in lower case; empty if the configuration has none.
func (s *Settings) Get(keyword string) string {
	if v := s.values[keyword]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// All returns all values of a keyword, in lower case.
func (s *Settings) All(keyword string) []string { return slices.Clone(s.values[keyword]) }

// Settings returns what the configuration says about a host. It fails if that depends on what is
// not evaluated here.
func (c *Config) Settings(a Asked) (*Settings, error) {
	e := &evaluation{asked: a, host: a.Name, out: &Settings{values: map[string][]string{}}}
	if err := e.pass(c); err != nil {
		return nil, err
	}
	name, err := e.hostName()
	if err != nil {
		return nil, err
	}
	if e.again { // once more, with the name that the first pass has found
		e.host, e.final = name, true
		e.out.values["hostname"] = []string{strings.ReplaceAll(name, "%", "%%")}
		if err := e.pass(c); err != nil {
			return nil, err
		}
	}
	e.out.HostName = name
	return e.out, nil
}

// An evaluation is about one host.
type evaluation struct {
	asked Asked
	// host is what Host matches.
	host string
	// final reports whether this is the last of two passes; again reports whether the configuration
	// wants two.
	final, again bool
	out          *Settings
}

func (e *evaluation) pass(c *Config) error {
	for _, lines := range c.files {
		if err := e.lines(lines, activity{on: true}); err != nil {
			return err
		}
	}
	return nil
}

// lines evaluates the lines of a file that is included where within applies.
func (e *evaluation) lines(lines []line, within activity) error {
	now := within
	for _, l := range lines {
		switch l.keyword {
		case "host":
			now = both(within, e.hosts(l))
		case "match":
			now = both(within, e.matching(l))
		case "include":
			for _, file := range l.included {
				if err := e.lines(file, now); err != nil {
					return err
				}
			}
		default:
			if err := e.set(l, now); err != nil {
				return err
			}
		}
	}
	return nil
}

// both returns whether a block within another one applies.
func both(outer, inner activity) activity {
	switch {
	case !outer.on || !inner.on:
		return activity{}
	case outer.because != "":
		return outer
	}
	return inner
}

func (e *evaluation) set(l line, now activity) error {
	if readers[l.keyword] == nil {
		if !ignored[l.keyword] && !InList(l.keyword, strings.ToLower(e.out.Get("ignoreunknown"))) {
			return fmt.Errorf("%s: OpenSSH has no setting %q", l.place, l.written)
		}
		return nil
	}
	set := e.out.values[l.keyword]
	if !now.on || len(set) > 0 && !several[l.keyword] || several[l.keyword] && slices.Contains(set, l.values[0]) {
		return nil
	}
	// Of ProxyJump and ProxyCommand, the first one counts, but for ProxyJump none.
	jump := e.out.Get("proxyjump")
	if l.keyword == "proxyjump" && e.out.Get("proxycommand") != "" || l.keyword == "proxycommand" && jump != "" && !strings.EqualFold(jump, "none") {
		return nil
	}
	if now.because != "" {
		return fmt.Errorf("%s: %s is set where %s", l.place, l.written, now.because)
	}
	e.out.values[l.keyword] = append(set, l.values...)
	return nil
}

// hostName returns the name to connect to, in lower case as OpenSSH connects to it.
func (e *evaluation) hostName() (string, error) {
	name, err := Expand(e.out.Get("hostname"), map[byte]string{'h': e.asked.Name})
	if err != nil {
		return "", fmt.Errorf("HostName %w", err)
	}
	if name == "" {
		name = e.asked.Name
	}
	return strings.ToLower(name), nil
}

// destination is the name that Match host matches.
func (e *evaluation) destination() string {
	if name, err := e.hostName(); err == nil {
		return name
	}
	return e.asked.Name
}

func (e *evaluation) user() string {
	for _, name := range []string{e.asked.User, e.out.Get("user")} {
		if name != "" {
			return name
		}
	}
	return e.asked.LocalUser
}

// Expand returns a text with the %-tokens of ssh_config(5) replaced. A token that is not among the
// given ones is an error, as it is for OpenSSH.
func Expand(text string, tokens map[byte]string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '%' {
			b.WriteByte(text[i])
			continue
		}
		if i++; i == len(text) {
			return "", fmt.Errorf("%q ends with %%", text)
		}
		value, ok := tokens[text[i]]
		switch {
		case text[i] == '%':
			b.WriteByte('%')
		case ok:
			b.WriteString(value)
		default:
			return "", fmt.Errorf("%q has %%%c, which has no meaning there", text, text[i])
		}
	}
	return b.String(), nil
}
