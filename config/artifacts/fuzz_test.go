package artifacts_test

import (
	"path"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config/artifacts"
)

// FuzzParseSums checks that no file of checksums panics, and that it yields only checksums and
// names.
func FuzzParseSums(f *testing.F) {
	sum := strings.Repeat("0a", 32)
	f.Add([]byte(sum + "  amd64/kubelet\n"))
	f.Add([]byte(sum + " *./kubelet\r\n# remark\n\n"))
	f.Add([]byte("SHA256 (kubelet) = " + sum))
	f.Add([]byte("SHA256 ("))
	f.Fuzz(func(t *testing.T, b []byte) {
		sums, _ := artifacts.ParseSums(b)
		for name, sum := range sums {
			if len(sum) != 64 || strings.Trim(sum, "0123456789abcdef") != "" || name != path.Clean(name) {
				t.Errorf("%q has the sum %q", name, sum)
			}
		}
	})
}
