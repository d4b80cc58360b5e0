package planfile_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/kubewright/kubewright/planner/planfile"
)

// FuzzRead checks that no file panics, even with a matching checksum, and that a plan that was read
// equals itself.
func FuzzRead(f *testing.F) {
	path := filepath.Join(f.TempDir(), "a.kwplan")
	saved, err := json.Marshal(planfile.File{Plan: samplePlan()})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(saved, true)
	f.Add([]byte(`{"plan":{"steps":[{"operations":[{"op":"remove_path","path":"/a"}]}]}}`), true)
	f.Add([]byte(`{"plan":{"steps":[{"operations":[{"op":"none"}]}]}}`), true)
	f.Add([]byte(`{"format_version":1,"saved":{}}`), false)
	f.Add([]byte(`{"format_version":99}`), false)
	f.Fuzz(func(t *testing.T, b []byte, sealed bool) {
		if sealed {
			sum := sha256.Sum256(b)
			b = fmt.Appendf(nil, `{"format_version":%d,"kubewright_version":"1","sha256":%q,"saved":%s}`, planfile.FormatVersion, hex.EncodeToString(sum[:]), b)
		}
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		read, err := planfile.Read(path, nil)
		if err != nil {
			return
		}
		if read.Plan == nil {
			t.Fatal("neither a plan nor an error")
		}
		planfile.Digest(read.Plan)
		if d := planfile.Compare(read.Plan, read.Plan, nil); len(d) > 0 {
			t.Errorf("a plan differs from itself: %v", d)
		}
	})
}
