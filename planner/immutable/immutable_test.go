package immutable

import (
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/hclconfig"
)

// TestImmutableSettingsAreRefused checks that every setting that the language calls immutable is refused in a living
// cluster.
func TestImmutableSettingsAreRefused(t *testing.T) {
	known := fixed(config.NewCluster("prod", "1.36.3"))
	var walk func(b *hclconfig.Block, path []string)
	walk = func(b *hclconfig.Block, path []string) {
		for _, a := range b.Attributes {
			name := strings.Join(append(path, a.Name), ".")
			if strings.HasSuffix(b.Name, "ca") {
				continue // checkAuthorities compares given CAs with those on the hosts
			}
			if _, is := known[name]; a.Cost == hclconfig.CostImmutable && !is {
				t.Errorf("%s is immutable, but another value is not refused", name)
			}
		}
		for _, inner := range b.Blocks {
			walk(inner, append(path[:len(path):len(path)], inner.Name))
		}
	}
	for _, b := range hclconfig.Schema().Blocks {
		if b.Name == "cluster" {
			walk(b, nil)
		}
	}
}
