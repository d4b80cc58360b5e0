package testrun

import (
	"bytes"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/testview"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/workspace"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/hclconfig"
	"github.com/kubewright/kubewright/state/safefile"
)

// WriteReport writes the results as JUnit XML.
func WriteReport(a *workspace.Workspace, name string, results []testview.File) error {
	var b bytes.Buffer
	err := testview.JUnit(&b, results, a.Sources)
	if err == nil {
		err = safefile.WriteFile(a.Named(name), b.Bytes(), 0o644)
	}
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", name, console.WithoutPath(err))
	}
	return nil
}

// Names returns the test files to carry out: those of the configuration folder and of one below it,
// or only the chosen ones.
func Names(a *workspace.Workspace, folder string, filter []string) ([]string, error) {
	if !filepath.IsLocal(folder) {
		return nil, console.Failure(diag.Diagnostics{diag.Errorf("Test folder is outside the configuration folder", "-test-directory=%s is not in the configuration folder, and test files are part of it. Name a folder below it.", folder)})
	}
	names, err := hclconfig.TestFiles(hclconfig.Options{Dir: a.Folder()}, filepath.ToSlash(folder))
	if err != nil {
		return nil, console.Failure(diag.Diagnostics{diag.Errorf("Cannot read the configuration folder", "%s.", console.WithoutPath(err))})
	}
	if len(names) == 0 {
		return nil, console.Failure(diag.Diagnostics{diag.Errorf("No test files", "Neither the configuration folder nor %s below it has a file whose name ends in %s. "+
			"Write one, or name its folder with -test-directory.", path.Clean(filepath.ToSlash(folder)), hclconfig.TestSuffix)})
	}
	if len(filter) == 0 {
		return names, nil
	}
	var chosen []string
	for _, given := range filter {
		name := path.Clean(filepath.ToSlash(given))
		if !slices.Contains(names, name) {
			return nil, console.Failure(diag.Diagnostics{diag.Errorf("No such test file", "-filter=%s is none of the test files, which are %s.", given, strings.Join(names, ", "))})
		}
		chosen = append(chosen, name)
	}
	return slices.DeleteFunc(names, func(name string) bool { return !slices.Contains(chosen, name) }), nil
}
