package ssh

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strings"

	"github.com/kubewright/kubewright/state/safefile"
)

// Limits for an ssh configuration. Parsing is quadratic in the length of a line.
const (
	maxConfigLine  = 16 << 10 // bytes
	maxConfigDepth = 5        // of Include, the parser's own limit
)

// systemFolder is the folder from which the machine's own configuration includes files.
const systemFolder = "/etc/ssh"

// configCheck checks an ssh configuration before it is parsed: the parser reads each
// included file to its end, even an endless device or pipe.
type configCheck struct {
	// left is how many more bytes the configuration may have, counting each included file
	// as often as it is included.
	left int64
}

// text checks a file's text. name is the file's name if another file includes it.
func (c *configCheck) text(name string, text []byte, depth int) error {
	if c.left -= int64(len(text)); c.left < 0 {
		return fmt.Errorf("with what it includes it has more than %d bytes", maxFile)
	}
	for line := range strings.SplitSeq(string([]rune(string(text))), "\n") {
		if len(line) > maxConfigLine {
			return fmt.Errorf("a line has more than %d bytes", maxConfigLine)
		}
		words, exact := patternsOf(line)
		if !exact && depth > 0 {
			return fmt.Errorf("%q has a comment, or more than one space between files: in an included file, write it without", strings.TrimSpace(line))
		}
		for _, pattern := range included(words, strings.HasPrefix(filepath.Clean(name), systemFolder)) {
			if err := c.include(pattern, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// plainIncludes returns the text with each Include in the form that the parser reads as
// OpenSSH does: one space between patterns, and no comment.
func plainIncludes(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if words, exact := patternsOf(line); !exact && len(words) > 0 {
			lines[i] = "Include " + strings.Join(words, " ")
		}
	}
	return strings.Join(lines, "\n")
}

func (c *configCheck) include(pattern string, depth int) error {
	paths, err := filepath.Glob(pattern)
	if err != nil {
		return fmt.Errorf("cannot include %s: %w", pattern, err)
	}
	for _, path := range paths {
		if depth > maxConfigDepth {
			return nil // the parser refuses it
		}
		text, err := safefile.ReadLinked(path, maxFile)
		if err != nil {
			return fmt.Errorf("cannot include a file: %w", err)
		}
		if err := c.text(path, text, depth); err != nil {
			return fmt.Errorf("cannot include %s: %w", path, err)
		}
	}
	return nil
}

// patternsOf returns the patterns of a line with Include as they are written, and reports
// whether the parser reads the same: it takes an empty pattern, which stands for the user's
// .ssh folder, from each space beyond the first, for example from the one before a comment.
func patternsOf(line string) (patterns []string, exact bool) {
	line = strings.TrimLeft(line, " \t\r")
	end := strings.IndexAny(line, " \t\r=")
	if end < 0 || strings.ToLower(line[:end]) != "include" {
		return nil, true
	}
	value, _, _ := strings.Cut(strings.TrimLeft(line[end:], " \t="), "#")
	value = strings.TrimSuffix(value, "\r")
	patterns = strings.FieldsFunc(value, func(r rune) bool { return r == ' ' || r == '\t' })
	return patterns, strings.Join(patterns, " ") == value
}

// included returns the paths of the files that a line includes, as patterns. system reports
// whether the line belongs to the machine's own configuration.
func included(words []string, system bool) []string {
	var out []string
	for _, word := range words {
		rest, below := strings.CutPrefix(word, "~/")
		switch {
		case filepath.IsAbs(word):
			out = append(out, word)
		case system:
			out = append(out, filepath.Join(systemFolder, word))
		case below:
			out = append(out, filepath.Join(homeFolder(), rest))
		default:
			out = append(out, filepath.Join(homeFolder(), ".ssh", word))
		}
	}
	return out
}

// homeFolder returns the folder in which the parser looks for included files.
func homeFolder() string {
	if u, err := user.Current(); err == nil {
		return u.HomeDir
	}
	return os.Getenv("HOME")
}
