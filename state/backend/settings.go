package backend

import (
	"cmp"
	"fmt"
	"strconv"
)

// Settings are the settings of a backend as text, by their names in the configuration. Missing
// ones are empty.
type Settings map[string]string

// Bool returns a boolean setting.
func (s Settings) Bool(name string) bool {
	on, _ := strconv.ParseBool(s[name])
	return on
}

// Int returns an integer setting; an empty one is 0.
func (s Settings) Int(name string) (int, error) {
	n, err := strconv.Atoi(cmp.Or(s[name], "0"))
	if err != nil {
		return 0, fmt.Errorf("%s = %s: it is a whole number", name, s[name])
	}
	return n, nil
}

// Need fails when a setting is missing, and says how to give it.
func (s Settings) Need(typ string, names ...string) error {
	for _, name := range names {
		if s[name] == "" {
			return fmt.Errorf("the backend %q needs %s: write it into the backend block, or give it with -backend-config=%s=VALUE", typ, name, name)
		}
	}
	return nil
}
