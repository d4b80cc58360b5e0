package console

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/kubewright/kubewright/config"
)

// WithoutPath is an error without the path that is named beside it.
func WithoutPath(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// DidYouMean returns the sentence behind a name that does not exist; empty when no
// other is near. prefix goes before the name.
func DidYouMean(prefix, given string, names []string) string {
	near := config.Nearest(given, names)
	if near == "" {
		return ""
	}
	return fmt.Sprintf(" Did you mean %s%s?", prefix, near)
}

// ListOf are names for a sentence.
func ListOf(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// PrintJSON prints JSON that was just encoded, unless that failed.
func (c *Console) PrintJSON(b []byte, err error) error {
	if err == nil {
		_, err = c.Stdout.Write(append(b, '\n'))
	}
	return err
}

// PrintedTime returns a time to the minute, in UTC.
func PrintedTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 MST") }
