package sshconfig

import (
	"errors"
	"fmt"
	"io/fs"
	"os/user"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/state/safefile"
)

// Limits of a configuration.
const (
	// maxSize is the size of a configuration in bytes, counting each included file as often as it is
	// included.
	maxSize = 1 << 20
	maxLine = 16 << 10
	// maxDepth is how deep files may include others; OpenSSH's own limit.
	maxDepth = 16
)

// systemFolder is the folder from which the machine's own configuration includes files.
const systemFolder = "/etc/ssh"

// A Source is a file of a configuration. A file that does not exist has no lines.
type Source struct {
	Path string
	// System reports whether it is the machine's own file: the names of included files are relative
	// to /etc/ssh then, and otherwise to .ssh in the home folder.
	System bool
}

// A Config is a configuration: the files whose first value counts come first.
type Config struct{ files [][]line }

// A line is one that has a keyword.
type line struct {
	place string
	// keyword is in lower case, as is written in written.
	keyword, written string
	// values are the values of a keyword that matters, and the patterns of Host.
	values []string
	// criteria are those of Match.
	criteria []criterion
	// included are the lines of the files of Include, file by file.
	included [][]line
}

// Read reads a configuration. home is the operator's home folder. Files must be regular files;
// links are followed.
func Read(home string, sources ...Source) (*Config, error) {
	r := &fileReader{home: home, left: maxSize}
	c := &Config{}
	for _, s := range sources {
		lines, err := r.file(s.Path, s.System, 0)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, err
		default:
			c.files = append(c.files, lines)
		}
	}
	return c, nil
}

// A lineError is an error in a line of a file, included or not.
type lineError struct {
	place string
	err   error
}

func (e *lineError) Error() string { return e.place + ": " + e.err.Error() }
func (e *lineError) Unwrap() error { return e.err }

type fileReader struct {
	home string
	left int
}

func (r *fileReader) file(path string, system bool, depth int) ([]line, error) {
	text, err := safefile.ReadLinked(path, maxSize)
	if err != nil {
		return nil, err
	}
	if r.left -= len(text); r.left < 0 {
		return nil, fmt.Errorf("with what it includes it has more than %d bytes", maxSize)
	}
	var out []line
	number := 0
	for l := range strings.SplitSeq(string(text), "\n") {
		number++
		place := fmt.Sprintf("%s:%d", path, number)
		if len(l) > maxLine {
			return nil, &lineError{place, fmt.Errorf("a line has more than %d bytes", maxLine)}
		}
		l = strings.TrimLeft(strings.TrimRight(l, blank+"\f"), blank)
		if l == "" || l[0] == '#' {
			continue
		}
		one, err := r.line(place, l, system, depth)
		var inner *lineError
		if errors.As(err, &inner) {
			return nil, inner
		}
		if err != nil {
			return nil, &lineError{place, err}
		}
		out = append(out, one)
	}
	return out, nil
}

func (r *fileReader) line(place, text string, system bool, depth int) (line, error) {
	word, rest, ok := keyword(text)
	if !ok {
		return line{}, errors.New("a quotation does not end")
	}
	l := line{place: place, written: word, keyword: strings.ToLower(word)}
	if rest == "" {
		return l, fmt.Errorf("%s has no value", word)
	}
	args, ok := words(rest)
	if !ok {
		return l, errors.New("a quotation does not end")
	}
	var err error
	switch {
	case l.keyword == "host":
		l.values = args
	case l.keyword == "match":
		l.criteria, err = criteria(rest)
	case l.keyword == "include":
		l.included, err = r.include(args, system, depth+1)
	case readers[l.keyword] != nil:
		if l.values, err = readers[l.keyword](args, rest); err != nil {
			err = fmt.Errorf("%s %w", word, err)
		}
	}
	return l, err
}

func (r *fileReader) include(patterns []string, system bool, depth int) ([][]line, error) {
	if len(patterns) == 0 {
		return nil, errors.New("no file follows Include")
	}
	if depth > maxDepth {
		return nil, fmt.Errorf("files include others more than %d times", maxDepth)
	}
	var out [][]line
	for _, pattern := range patterns {
		if pattern == "" {
			return nil, errors.New("a file of Include has no name")
		}
		path := Home(pattern, r.home)
		if !filepath.IsAbs(path) {
			folder := filepath.Join(r.home, ".ssh")
			if system {
				folder = systemFolder
			}
			path = filepath.Join(folder, path)
		}
		files, err := glob(path)
		if err != nil {
			return nil, fmt.Errorf("cannot include %s: %w", pattern, err)
		}
		for _, file := range files {
			lines, err := r.file(file, system, depth)
			if err != nil {
				return nil, fmt.Errorf("cannot include %s: %w", file, err)
			}
			out = append(out, lines)
		}
	}
	return out, nil
}

// glob returns the files of a pattern as glob(3) does: ! negates a class of characters, and a
// wildcard does not stand for the dot at the beginning of a name.
func glob(pattern string) ([]string, error) {
	files, err := filepath.Glob(strings.ReplaceAll(pattern, "[!", "[^"))
	wanted := strings.Split(pattern, "/")
	return slices.DeleteFunc(files, func(file string) bool {
		for i, name := range strings.Split(file, "/") {
			if strings.HasPrefix(name, ".") && i < len(wanted) && strings.IndexAny(wanted[i], "*?[") == 0 {
				return true
			}
		}
		return false
	}), err
}

// Home returns a path with ~ and ~user at its beginning expanded. home is the operator's own
// folder. The path of an unknown user stays as it is.
func Home(path, home string) string {
	rest, ok := strings.CutPrefix(path, "~")
	if !ok {
		return path
	}
	name, below, _ := strings.Cut(rest, "/")
	if name != "" {
		u, err := user.Lookup(name)
		if err != nil {
			return path
		}
		home = u.HomeDir
	}
	if below == "" {
		return home
	}
	return filepath.Join(home, below)
}
