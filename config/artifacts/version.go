package artifacts

import (
	"bytes"
	"regexp"
)

// A Go program contains its version as a string that the linker was given (-ldflags -X), and
// the linker ends such strings with a zero byte; strings from the source and from modules have
// none. Kubernetes' programs have no other string of this form. (Go's build information omits
// -ldflags in a build with -trimpath, and releases have no symbol table.)
var versionForm = regexp.MustCompile(`^v([0-9]+\.[0-9]+\.[0-9]+(?:[-+][0-9A-Za-z.+-]*)?)\x00`)

// versionLength is the maximum length of such a string, with its end, in bytes.
const versionLength = 64

// versionScan finds the version of a program among its bytes.
type versionScan struct {
	// version is without v; empty if there is none, or several.
	version string
	several bool
	held    []byte
}

// Write scans the next bytes of the program.
func (s *versionScan) Write(p []byte) (int, error) {
	b := append(s.held, p...)
	end := len(b) - versionLength
	for i := 0; i < end; {
		k := bytes.Index(b[i:], []byte("v1."))
		if k < 0 || i+k >= end {
			break
		}
		i += k
		s.look(b[i:])
		i++
	}
	s.held = append(s.held[:0], b[max(end, 0):]...)
	return len(p), nil
}

// done scans the bytes held back, and returns the version.
func (s *versionScan) done() string {
	for i := range s.held {
		s.look(s.held[i:])
	}
	if s.several {
		return ""
	}
	return s.version
}

func (s *versionScan) look(b []byte) {
	m := versionForm.FindSubmatch(b[:min(len(b), versionLength)])
	if m == nil {
		return
	}
	s.several = s.several || s.version != "" && s.version != string(m[1])
	s.version = string(m[1])
}
