package hclconfig_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/kubewright/kubewright/config/hclconfig"
)

// TestFileAgeNeedsADecrypter checks that file_age is an error where the command decrypts nothing, and
// that what it returns is sensitive elsewhere.
func TestFileAgeNeedsADecrypter(t *testing.T) {
	t.Parallel()
	folder := fstest.MapFS{
		"main.hcl":  {Data: []byte("output \"x\" {\n  value = file_age(\"token.age\")\n}\n")},
		"token.age": {Data: []byte("sealed")},
	}
	_, diags := hclconfig.Load(hclconfig.Options{FS: folder})
	if len(diags) != 1 || !strings.Contains(diags[0].Detail, `"token.age" is not decrypted here, because this command has no use for secrets`) {
		t.Errorf("without a decrypter: %v", diags)
	}
	_, diags = hclconfig.Load(hclconfig.Options{FS: folder, Decrypt: func(b []byte) ([]byte, error) { return append(b, " open"...), nil }})
	if len(diags) != 1 || diags[0].Summary != "Output refers to sensitive values" {
		t.Errorf("with a decrypter: %v", diags)
	}
	_, diags = hclconfig.Load(hclconfig.Options{FS: folder, Decrypt: func([]byte) ([]byte, error) { return []byte{0xff}, nil }})
	if len(diags) != 1 || !strings.Contains(diags[0].Detail, "holds no text in UTF-8") {
		t.Errorf("with other bytes: %v", diags)
	}
}
