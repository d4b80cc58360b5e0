package hclconfig

import (
	"errors"
	"io/fs"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
)

// Settings are the settings for commands that work on the state alone: where it is kept, and to
// whom it is encrypted. Other mistakes in a configuration do not matter to them.
type Settings struct {
	// Backend is nil for a file beside the configuration, and Encryption is nil without its
	// block.
	Backend    *config.Backend
	Encryption *config.Encryption
	// Whole reports whether every file could be parsed. A folder that does not exist, or has no
	// configuration, is whole.
	Whole bool
	// Misplaced are the errors of the backend block, Wrong the errors of all settings, and
	// those that kept them from being read.
	Misplaced, Wrong diag.Diagnostics
}

// ReadSettings reads the kubewright block of a configuration and nothing else.
func ReadSettings(o Options) *Settings {
	fsys, closeRoot, err := o.open()
	if err != nil {
		unread := diag.Diagnostics{diag.Errorf("Cannot read the configuration folder", "%s.", err)}
		if errors.Is(err, fs.ErrNotExist) {
			return &Settings{Whole: true, Wrong: unread}
		}
		return &Settings{Misplaced: unread, Wrong: unread}
	}
	defer closeRoot()
	f := &files{fsys: fsys, texts: map[string][]byte{}, answers: map[string]string{}}
	names, err := f.listed(".hcl", ".hcl.json")
	parsed, syntax, unread := f.parse()
	s := &Settings{Whole: err == nil && (len(names) == 0 || !syntax.HasErrors() && !unread.HasErrors())}
	s.readBackend(parsed, newSettingsEvaluator(f, o))
	e := newSettingsEvaluator(f, o)
	e.report(syntax)
	e.add(unread...)
	if len(parsed) > 0 && !e.diags.HasErrors() {
		s.readEncryption(parsed, e)
	}
	s.Wrong = e.diags
	return s
}

// newSettingsEvaluator returns an evaluator without references: the settings come before
// everything else.
func newSettingsEvaluator(f *files, o Options) *evaluator {
	return &evaluator{
		seen: map[[2]any]bool{}, text: f.text, cover: f.coverer(o), meter: newMeter(), functions: map[string]function.Function{},
		variables: map[string]*thunk{}, locals: map[string]*thunk{}, clusters: map[string]*block{}, nodes: map[string]*nodeSet{},
	}
}

// readBackend finds the backend block despite mistakes elsewhere, also in partly parsed files.
func (s *Settings) readBackend(parsed []*hcl.File, e *evaluator) {
	for _, file := range parsed {
		for _, settings := range blocksOf(file.Body, settingsBlock.Name, "") {
			for _, block := range blocksOf(settings.Body, backendBlock.Name, backendBlock.Label) {
				s.Backend = e.backend(e.readBlock(block, backendBlock))
			}
		}
	}
	e.diags.Sort()
	s.Misplaced = e.diags
}

// readEncryption reads the whole block, if all files could be parsed: a command that writes a
// state has to know that there is no encryption block, not only that none was found.
func (s *Settings) readEncryption(parsed []*hcl.File, e *evaluator) {
	content, _, more := hcl.MergeFiles(parsed).PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: settingsBlock.Name}}})
	e.report(more)
	for _, b := range content.Blocks {
		s.Encryption = e.encryption(bind(e.readBlock(b, settingsBlock), settingsBlock.Name, "", nil))
	}
	e.add(s.Encryption.Check()...)
}
