package console

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/kubewright/kubewright/config"
)

// WithoutPath returns an error without its path, for a message that names the path already.
func WithoutPath(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// DidYouMean returns a sentence to follow a name that does not exist; empty if no other name is
// similar. prefix goes before the name.
func DidYouMean(prefix, given string, names []string) string {
	near := config.Nearest(given, names)
	if near == "" {
		return ""
	}
	return fmt.Sprintf(" Did you mean %s%s?", prefix, near)
}

// ListOf joins names for a sentence.
func ListOf(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// PrintJSON prints encoded JSON, unless err is set.
func (c *Console) PrintJSON(b []byte, err error) error {
	if err == nil {
		_, err = c.Stdout.Write(append(b, '\n'))
	}
	return err
}

// PrintedTime returns a time to the minute, in UTC.
func PrintedTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 MST") }
