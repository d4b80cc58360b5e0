package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/state"
)

// DeprecatedAPIs returns those that the API server on the host was asked for. A
// version that does not serve one has forgotten it.
func (a *api) DeprecatedAPIs(ctx context.Context) ([]state.DeprecatedAPI, error) {
	var out []state.DeprecatedAPI
	err := a.read(ctx, "api.deprecated", "", func(s *session) error {
		_, p := a.h.w.podOf(s.on, compAPI)
		var major, minor, removed int
		if _, err := fmt.Sscanf(p.tag(), "v%d.%d", &major, &minor); err != nil {
			return nil //nolint:nilerr // an image of the user's, whose version nobody knows
		}
		for _, d := range s.on.Deprecated {
			if _, err := fmt.Sscanf(d.Removed, "1.%d", &removed); err == nil && removed > minor {
				out = append(out, d)
			}
		}
		return nil
	})
	return state.MergeDeprecated(out), err
}

// deprecated has somebody ask the host's API server for an API:
// GROUP/VERSION/RESOURCE RELEASE, which does not serve it any more, and the name
// of a field manager.
func (e *edit) deprecated() error {
	words, err := e.words("GROUP/VERSION/RESOURCE", "the release without it", "a field manager")
	if err != nil {
		return err
	}
	parts := strings.Split(words[0], "/")
	if len(parts) != 3 {
		return fmt.Errorf("%q is not written GROUP/VERSION/RESOURCE", words[0])
	}
	e.m.Deprecated = append(slices.Clone(e.m.Deprecated), state.DeprecatedAPI{
		Group: parts[0], Version: parts[1], Resource: parts[2], Removed: words[1], Users: []string{words[2] + " (" + parts[2] + "-1)"},
	})
	return nil
}
