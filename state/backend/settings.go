package backend

import (
	"cmp"
	"fmt"
	"strconv"
)

// Settings are what a backend is told, by the names of the configuration, as
// text. What is missing is the empty text.
type Settings map[string]string

// Bool is a setting that is true or false.
func (s Settings) Bool(name string) bool {
	on, _ := strconv.ParseBool(s[name])
	return on
}

// Int returns a setting that is a whole number.
func (s Settings) Int(name string) (int, error) {
	n, err := strconv.Atoi(cmp.Or(s[name], "0"))
	if err != nil {
		return 0, fmt.Errorf("%s = %s: it is a whole number", name, s[name])
	}
	return n, nil
}

// Need fails when a setting is missing, and says how it is given.
func (s Settings) Need(typ string, names ...string) error {
	for _, name := range names {
		if s[name] == "" {
			return fmt.Errorf("the backend %q needs %s: write it into the backend block, or give it with -backend-config=%s=VALUE", typ, name, name)
		}
	}
	return nil
}
