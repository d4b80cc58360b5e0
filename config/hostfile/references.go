package hostfile

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Reference is a file that the content of another one names.
type Reference struct {
	Path string
	// Argument is the argument whose files have the same form; empty if the form is unknown.
	Argument string
	// At is the field with the path: plugins[0].path.
	At string
}

// kubeconfigForm and certificatesForm are arguments whose files have these forms.
const (
	kubeconfigForm   = "audit-webhook-config-file"
	certificatesForm = "client-ca-file"
	pluginForm       = "configuration of an admission plugin"
)

// fieldsOf are the fields with paths of the files that arguments name, by their last name, with the
// argument whose files have the form of those. Paths of kubeconfigs and of plugins' files may be
// relative to the file.
var fieldsOf = map[string]map[string]string{
	"admission-control-config-file": {"path": pluginForm, "kubeConfigFile": kubeconfigForm},
	pluginForm:                      {"kubeConfigFile": kubeconfigForm},
	"authorization-config":          {"kubeConfigFile": kubeconfigForm},
	"egress-selector-config-file":   {"caBundle": certificatesForm, "clientKey": "", "clientCert": ""},
	kubeconfigForm:                  {"certificate-authority": certificatesForm, "client-certificate": "", "client-key": "", "tokenFile": ""},
}

// References returns the files that the content of an argument's file names, sorted by their fields. An
// invalid content names none.
func References(argument, file, content string) []Reference {
	form := argument
	if readers[argument].kind == readers[kubeconfigForm].kind {
		form = kubeconfigForm
	}
	fields := fieldsOf[form]
	var tree any
	if len(fields) == 0 || yaml.Unmarshal([]byte(content), &tree) != nil {
		return nil
	}
	var out []Reference
	walk(tree, "", func(at, key, value string) {
		of, known := fields[key]
		if !known || value == "" || form == "admission-control-config-file" && key == "path" && strings.Count(at, ".") != 1 {
			return
		}
		if !path.IsAbs(value) {
			value = path.Join(path.Dir(file), value)
		}
		out = append(out, Reference{Path: path.Clean(value), Argument: of, At: at})
	})
	slices.SortFunc(out, func(a, b Reference) int { return strings.Compare(a.At, b.At) })
	return out
}

// walk calls a function for each text in a tree, with its path and the last key of that.
func walk(v any, at string, each func(at, key, value string)) {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			inside := strings.TrimPrefix(at+"."+k, ".")
			if text, ok := e.(string); ok {
				each(inside, k, text)
				continue
			}
			walk(e, inside, each)
		}
	case []any:
		for i, e := range v {
			walk(e, fmt.Sprintf("%s[%d]", at, i), each)
		}
	}
}

// PathsIn returns the paths in the value of a component's argument: the value itself, or those within the
// value of etcd's auth-token.
func PathsIn(component, argument, value string) []string {
	if component != "etcd" || argument != "auth-token" {
		return []string{value}
	}
	var out []string
	for _, option := range strings.Split(value, ",") {
		if key, p, ok := strings.Cut(option, "="); ok && (key == "pub-key" || key == "priv-key") {
			out = append(out, p)
		}
	}
	return out
}
