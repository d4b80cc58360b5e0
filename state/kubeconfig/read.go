package kubeconfig

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// reader walks the tree of a kubeconfig.
type reader struct {
	foreign []string
	// err is the first error.
	err error
}

// entries reads one of the lists: each entry is a name and, under key, a map.
func (r *reader) entries(tree map[string]any, list, key string, keys []string, add func(name string, content map[string]any)) {
	all, ok := tree[list].([]any)
	if !ok && tree[list] != nil {
		r.fail(list + " is no list")
	}
	seen := map[string]bool{}
	for i, e := range all {
		entry, ok := e.(map[string]any)
		content, isMap := entry[key].(map[string]any)
		if !ok || !isMap && entry[key] != nil {
			r.fail(fmt.Sprintf("%s[%d] is not a name and a %s", list, i, key))
			continue
		}
		name := r.text(entry, "name")
		if seen[name] {
			r.fail(fmt.Sprintf("%s has two entries %s", list, quoted(name)))
		}
		seen[name] = true
		path := fmt.Sprintf("%s[%s]", list, quoted(name))
		r.only(path, entry, []string{"name", key})
		r.only(path, content, keys)
		add(name, content)
	}
}

// only records the set keys of a map that are not among keys. As for kubectl, null, false and
// empty values count as unset.
func (r *reader) only(path string, m map[string]any, keys []string) {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if slices.Contains(keys, key) || unset(m[key]) {
			continue
		}
		field := key
		if !plain(key) {
			field = quoted(key)
		}
		if path != "" {
			field = path + "." + field
		}
		r.foreign = append(r.foreign, field)
	}
}

func unset(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case bool:
		return !v
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

func (r *reader) text(m map[string]any, key string) string {
	text, ok := m[key].(string)
	if !ok && m[key] != nil {
		r.fail(key + " is no text")
	}
	return text
}

func (r *reader) data(m map[string]any, key string) []byte {
	b, err := base64.StdEncoding.DecodeString(r.text(m, key))
	if err != nil {
		r.fail(key + " is not base64")
	}
	return b
}

func (r *reader) fail(problem string) {
	if r.err == nil {
		r.err = errors.New("cannot parse kubeconfig: " + problem)
	}
}

// plain reports whether a key is shown without quotes.
func plain(key string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
	return key != "" && len(key) <= longest && strings.Trim(key, letters) == ""
}

// longest is the number of bytes of a name that are shown.
const longest = 60

func quoted(name string) string {
	if len(name) > longest {
		name = name[:longest] + "..."
	}
	return strconv.QuoteToASCII(name)
}
