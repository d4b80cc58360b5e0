package state

import (
	"cmp"
	"slices"
	"strings"
)

// DeprecatedAPI is a version of an API that a client has requested from an API server, and that a
// later release of Kubernetes no longer serves.
type DeprecatedAPI struct {
	Group    string `json:"group"`
	Version  string `json:"version"`
	Resource string `json:"resource"`
	// Removed is the first release without it, as in 1.37.
	Removed string `json:"removed"`
	// Users are the field managers that have written objects of this version, as managedFields
	// names them, each with one such object.
	Users []string `json:"users,omitempty"`
}

// String returns the API as kubectl prints it: networking.k8s.io/v1beta1 ipaddresses.
func (d DeprecatedAPI) String() string {
	return strings.TrimPrefix(d.Group+"/", "/") + d.Version + " " + d.Resource
}

// MergeDeprecated joins the lists of several API servers, each API once.
func MergeDeprecated(lists ...[]DeprecatedAPI) []DeprecatedAPI {
	var out []DeprecatedAPI
	for _, d := range slices.Concat(lists...) {
		i := slices.IndexFunc(out, func(o DeprecatedAPI) bool { return o.String() == d.String() })
		if i < 0 {
			out = append(out, d)
			continue
		}
		users := append(slices.Clone(out[i].Users), d.Users...)
		slices.Sort(users)
		out[i].Users = slices.Compact(users)
	}
	slices.SortFunc(out, func(a, b DeprecatedAPI) int { return cmp.Compare(a.String(), b.String()) })
	return out
}
