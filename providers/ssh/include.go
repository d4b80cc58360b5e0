package ssh

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strings"

	"github.com/kubewright/kubewright/state/safefile"
)

// Limits of an ssh configuration. Parsing takes the square of a line's length.
const (
	maxConfigLine  = 16 << 10 // bytes
	maxConfigDepth = 5        // of Include, beyond which the parser refuses it
)

// systemFolder is where the machine's own configuration includes files from.
const systemFolder = "/etc/ssh"

// configCheck refuses an ssh configuration before it is parsed: the parser reads each
// included file to its end, also a device or a pipe that has none.
type configCheck struct {
	// left is how many bytes the configuration may still have, with all that it includes, as
	// often as it does.
	left int64
}

// text checks a file's text. name is the file's name if another one includes it.
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
			return nil // for the parser to refuse
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

// included returns the patterns of the files that a line includes, as the parser makes them of
// it. system is whether the line is one of the machine's own configuration.
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

// homeFolder returns where the parser looks for what is included.
func homeFolder() string {
	if u, err := user.Current(); err == nil {
		return u.HomeDir
	}
	return os.Getenv("HOME")
}
