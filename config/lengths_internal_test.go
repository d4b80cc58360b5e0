package config

import (
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/state"
)

// TestLengthLimits checks that a group of bootstrap tokens and the tag of an image may be as long as
// Kubernetes and the distribution specification allow, and no longer.
func TestLengthLimits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		refuse func(c checker, length int)
		most   int
	}{
		{"tag", func(c checker, length int) { c.tag("etcd.image_tag", strings.Repeat("v", length)) }, 128},
		{"group", func(c checker, length int) {
			c.tokenUse(BootstrapToken{Usages: []string{"authentication"}, Groups: []string{"system:bootstrappers:" + strings.Repeat("g", length)}})
		}, 256},
	} {
		for _, length := range []int{1, tt.most, tt.most + 1} {
			var out diag.Diagnostics
			tt.refuse(checker{out: &out, minor: 36, about: state.ClusterTarget("c")}, length)
			if out.HasErrors() != (length > tt.most) {
				t.Errorf("a %s of %d: %v", tt.name, length, out)
			}
		}
	}
}
