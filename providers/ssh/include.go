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
		for _, pattern := range included(line, strings.HasPrefix(filepath.Clean(name), systemFolder)) {
			if err := c.include(pattern, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
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

// included returns the patterns of the files that a line includes, as the parser interprets
// it. system reports whether the line belongs to the machine's own configuration.
func included(line string, system bool) []string {
	line = strings.TrimLeft(line, " \t\r")
	end := strings.IndexAny(line, " \t\r=")
	if end < 0 || strings.ToLower(line[:end]) != "include" {
		return nil
	}
	value, _, _ := strings.Cut(strings.TrimLeft(line[end:], " \t="), "#")
	var out []string
	for word := range strings.SplitSeq(strings.TrimSuffix(value, "\r"), " ") {
		rest, below := strings.CutPrefix(word, "~/")
		switch {
		case word == "":
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
