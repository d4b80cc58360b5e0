package adoption

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/session"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/planview"
	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/hclwriter"
	"github.com/kubewright/kubewright/planner/pipeline"
	"github.com/kubewright/kubewright/state/safefile"
)

// Generation is the file that -generate-config-out has written.
type Generation struct {
	// file is its name; empty if nothing was written.
	file string
	// unsaid are the parts of the cluster that it cannot express.
	unsaid planview.ImportGaps
}

// Generate writes the clusters that import blocks refer to, and that have no block, into a new
// file of the configuration. From then on the file belongs to the user.
func Generate(ctx context.Context, s *session.Session, name string) (g Generation, err error) {
	if err := checkNewFile(s, name); err != nil {
		return g, err
	}
	there, diags := s.LoadFolder(ctx, true)
	if err := s.Report(diags); err != nil {
		return g, err
	}
	found := &config.Config{}
	var shared config.Connection
	for _, i := range there.Imports {
		if !i.Unwritten {
			continue
		}
		shared = i.Connection
		one, unsaid, err := readImport(ctx, s, i)
		g.unsaid.Add(unsaid)
		if err != nil {
			return g, err
		}
		found.Clusters, found.Nodes = append(found.Clusters, one.Clusters...), append(found.Nodes, one.Nodes...)
	}
	if len(found.Clusters) == 0 {
		s.Print(diag.Diagnostics{diag.Warningf("Nothing to generate", "There is no import block of a cluster whose block is missing, so that %s was not written.", name)})
		return g, nil
	}
	text := slices.Concat([]byte("# Written by kubewright plan, from import blocks. It is yours to change.\n\n"), hclwriter.WriteBeside(found, there, shared))
	if err := writeGenerated(ctx, s, name, text); err != nil {
		return g, err
	}
	g.file = name
	return g, nil
}

// readImport reads the cluster of an import block. Its hosts are reached as the configuration
// says, except for what the block's id sets.
func readImport(ctx context.Context, s *session.Session, i config.Import) (*config.Config, planview.ImportGaps, error) {
	id, err := hop(i.ID)
	if err != nil {
		return nil, planview.ImportGaps{}, console.Failure(diag.Diagnostics{diag.Errorf("Unknown host", "%s.", console.Sentence(err.Error())).At(i.Source)})
	}
	first := i.Connection
	if first.Host = id.Host; id.Type == "sim" {
		first.Type = id.Type
	}
	if id.User != "" {
		first.User = id.User
	}
	if id.Port != 0 {
		first.Port = id.Port
	}
	d := discovery{Session: s, options: Options{Options: s.Opts, Label: i.To.Name}, first: first}
	c, err := d.cluster(ctx)
	return c, d.unsaid, err
}

// checkNewFile refuses a file that exists, or that would not be read.
func checkNewFile(s *session.Session, name string) error {
	if filepath.Ext(name) != ".hcl" || filepath.Base(name) != name {
		return console.Misuse("kubewright plan", fmt.Errorf("-%s=%s: give the name of a new file *.hcl in the configuration folder, which the next plan reads", session.GenerateFlag, name))
	}
	if _, err := os.Lstat(filepath.Join(s.Folder(), name)); err == nil {
		return console.Failure(diag.Diagnostics{diag.Errorf("File is there already", "%s exists, and nothing is written over it. Give another name, or delete it.", name)})
	}
	return nil
}

// writeGenerated writes the file, and removes it again if the configuration cannot be read with
// it.
func writeGenerated(ctx context.Context, s *session.Session, name string, text []byte) error {
	path := filepath.Join(s.Folder(), name)
	f, err := safefile.Create(path, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists, and nothing is written over it", name)
	}
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Close())
	var diags diag.Diagnostics
	if err == nil {
		var cfg *config.Config
		if cfg, diags = s.LoadFolder(ctx, false); !diags.HasErrors() {
			diags = append(diags, pipeline.Check(cfg)...)
		}
	}
	if err == nil && !diags.HasErrors() {
		return nil
	}
	_ = os.Remove(path)
	if err != nil {
		return err
	}
	return s.Report(undescribed(diags, func(file string) []byte {
		if file == name {
			return text
		}
		return s.SourceText(file)
	}))
}

// PrintGenerated prints what was written, after the plan.
func PrintGenerated(s *session.Session, g Generation) error {
	if g.file == "" || s.QuietStdout || s.Lines != nil {
		return nil
	}
	return planview.Generated(s.Stdout, g.file, g.unsaid, s.Options())
}
