package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/planview"
	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/hclconfig"
	"github.com/kubewright/kubewright/planner/pipeline"
	"github.com/kubewright/kubewright/state/safefile"
)

// generateFlag has plan write the blocks of clusters that import blocks refer to.
const generateFlag = "generate-config-out"

// generation is what -generate-config-out has written.
type generation struct {
	// file is its name; empty when nothing was written.
	file string
	// unsaid is what it does not have.
	unsaid planview.ImportGaps
}

// generate writes the clusters that import blocks refer to, and that have no block,
// into a new file of the configuration. From then on it is the user's as any other.
func (s *session) generate(ctx context.Context) error {
	name := s.opts.generateOut
	if name == "" {
		return nil
	}
	if err := s.fresh(name); err != nil {
		return err
	}
	there, diags := s.loadFolder(ctx, true)
	if err := s.failed(diags); err != nil {
		return err
	}
	found := &config.Config{}
	var shared config.Connection
	for _, i := range there.Imports {
		if !i.Unwritten {
			continue
		}
		shared = i.Connection
		one, err := s.found(ctx, i)
		if err != nil {
			return err
		}
		found.Clusters, found.Nodes = append(found.Clusters, one.Clusters...), append(found.Nodes, one.Nodes...)
	}
	if len(found.Clusters) == 0 {
		s.print(diag.Diagnostics{diag.Warningf("Nothing to generate", "There is no import block of a cluster whose block is missing, so that %s was not written.", name)})
		return nil
	}
	text := slices.Concat([]byte("# Written by kubewright plan, of what import blocks speak of. It is yours to change.\n\n"), hclconfig.WriteBeside(found, there, shared))
	return s.writeGenerated(ctx, name, text)
}

// found reads the cluster of an import block. Its hosts are reached as the
// configuration says, but for what the block's id says of it.
func (s *session) found(ctx context.Context, i config.Import) (*config.Config, error) {
	id, err := hop(i.ID)
	if err != nil {
		return nil, &diagError{diag.Diagnostics{diag.Errorf("Unknown host", "%s.", sentence(err.Error())).At(i.Source)}}
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
	d := discovery{session: s, options: importOptions{planOptions: s.opts, label: i.To.Name}, first: first}
	c, err := d.cluster(ctx)
	s.generated.unsaid.Add(d.unsaid)
	return c, err
}

// fresh refuses a file that is there, or that would not be read.
func (s *session) fresh(name string) error {
	if filepath.Ext(name) != ".hcl" || filepath.Base(name) != name {
		return &usageError{"kubewright plan", fmt.Errorf("-%s=%s: give the name of a new file *.hcl in the configuration folder, which the next plan reads", generateFlag, name)}
	}
	if _, err := os.Lstat(filepath.Join(s.folder(), name)); err == nil {
		return &diagError{diag.Diagnostics{diag.Errorf("File is there already", "%s exists, and nothing is written over it. Give another name, or delete it.", name)}}
	}
	return nil
}

// writeGenerated writes the file, and takes it back when the configuration cannot
// be read with it.
func (s *session) writeGenerated(ctx context.Context, name string, text []byte) error {
	path := filepath.Join(s.folder(), name)
	f, err := safefile.Create(path, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s has appeared meanwhile, and is not written over", name)
	}
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Close())
	var diags diag.Diagnostics
	if err == nil {
		var cfg *config.Config
		if cfg, diags = s.loadFolder(ctx, false); !diags.HasErrors() {
			diags = append(diags, pipeline.Check(cfg)...)
		}
	}
	if err == nil && !diags.HasErrors() {
		s.generated.file = name
		return nil
	}
	_ = os.Remove(path)
	if err != nil {
		return err
	}
	return s.failed(undescribed(diags, func(file string) []byte {
		if file == name {
			return text
		}
		return s.sourceText(file)
	}))
}

// tellGenerated says what was written, behind the plan that it is for.
func (s *session) tellGenerated() error {
	if s.generated.file == "" || s.quietStdout || s.lines != nil {
		return nil
	}
	return planview.Generated(s.Stdout, s.generated.file, s.generated.unsaid, s.options())
}
