package hclconfig_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/kubewright/kubewright/config/hclconfig"
)

// TestExamplesAreValid checks that every example can be copied as it is.
func TestExamplesAreValid(t *testing.T) {
	t.Parallel()
	dir := filepath.Join("..", "..", "examples")
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, en := range entries {
		if !en.IsDir() {
			continue
		}
		t.Run(en.Name(), func(t *testing.T) {
			t.Parallel()
			// The operator provides the certificates, and keys in variables.
			fsys := withCA(t, filepath.Join(dir, en.Name()))
			fsys["etcd/ca.crt"], fsys["etcd/client.crt"] = fsys["ca.crt"], fsys["ca.crt"]
			o := hclconfig.Options{FS: fsys, ToolVersion: "0.1.0"}
			if variable := map[string]string{"external-ca": "ca_key", "external-etcd": "etcd_client_key"}[en.Name()]; variable != "" {
				o.Env = []string{"KUBEWRIGHT_VAR_" + variable + "=" + string(fsys["ca.key"].Data)}
			}
			c, diags := hclconfig.Load(o)
			for _, d := range diags {
				t.Error(d)
			}
			if c == nil || len(c.Clusters) == 0 || len(c.Nodes) == 0 {
				t.Fatal("no cluster or no nodes")
			}
		})
	}
}
