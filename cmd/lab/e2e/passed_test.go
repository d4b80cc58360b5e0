//go:build e2e

package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/kubewright/kubewright/cmd/lab/internal/build"
)

// resumeVariable asks to skip the tests that have passed on this machine with exactly the same
// code. All tests take hours: this continues a run that was interrupted.
const resumeVariable = "KUBEWRIGHT_E2E_RESUME"

// resumes skips a test that has passed with this code, if requested, and otherwise records when
// it passes.
func resumes(t *testing.T) {
	t.Helper()
	folder, err := passed()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, t.Name())
	when, err := os.ReadFile(file)
	if err == nil && os.Getenv(resumeVariable) != "" {
		t.Skipf("passed with the same code, %s; without %s it runs again", when, resumeVariable)
	}
	t.Cleanup(func() {
		if t.Failed() || t.Skipped() {
			_ = os.Remove(file)
			return
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Error(err)
		}
		if err := os.WriteFile(file, []byte(time.Now().UTC().Format(time.RFC3339)), 0o644); err != nil {
			t.Error(err)
		}
	})
}

// passed is the folder that records the tests that have passed with this code: this test binary
// and the tool that it runs.
var passed = sync.OnceValues(func() (string, error) {
	cache, err := build.DefaultCache()
	if err != nil {
		return "", err
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	code := sha256.New()
	for _, program := range []string{self, toolPath} {
		f, err := os.Open(program)
		if err != nil {
			return "", err
		}
		_, err = io.Copy(code, f)
		if err := f.Close(); err != nil {
			return "", err
		}
		if err != nil {
			return "", err
		}
	}
	return cache.Path("passed", hex.EncodeToString(code.Sum(nil))), nil
})
