package hclconfig_test

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/kubewright/kubewright/config/hclconfig"
)

// crowded is a file system whose folder keys has any number of identical files.
type crowded struct {
	fstest.MapFS
	files int
}

// crowdedEntry is one of those files.
type crowdedEntry struct {
	fs.DirEntry
	name string
}

func (e crowdedEntry) Name() string { return e.name }

func (c crowded) one(name string) string {
	if strings.HasPrefix(name, "keys/") {
		return "keys/0.key"
	}
	return name
}

func (c crowded) Open(name string) (fs.File, error)     { return c.MapFS.Open(c.one(name)) }
func (c crowded) Stat(name string) (fs.FileInfo, error) { return c.MapFS.Stat(c.one(name)) }

func (c crowded) ReadDir(name string) ([]fs.DirEntry, error) {
	out, err := c.MapFS.ReadDir(name)
	if name != "keys" || err != nil {
		return out, err
	}
	for i := range c.files - 1 {
		out = append(out, crowdedEntry{out[0], fmt.Sprintf("%d.key", i+1)})
	}
	return out, nil
}

// TestSuppliedFolderIsLimited checks that a folder full of other files is not accepted as one with
// certificates.
func TestSuppliedFolderIsLimited(t *testing.T) {
	t.Parallel()
	text := strings.Replace(base, "\"1.36.3\"", "\"1.36.3\"\n certificates {\n  supplied = \"keys\"\n }", 1)
	_, diags := hclconfig.Load(hclconfig.Options{FS: crowded{folder("main.hcl", text, "keys/0.key", ""), 200_001}})
	if len(diags) == 0 || diags[0].Detail != `The folder "keys" cannot be read: it holds more than 200000 files.` {
		t.Errorf("got %v", diags)
	}
}
