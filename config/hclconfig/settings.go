package hclconfig

import (
	"bytes"
	"regexp"

	"github.com/hashicorp/hcl/v2"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
)

// checkVersion checks required_version against the version of kubewright.
func (l *loader) checkVersion(b *block) {
	a := b.attrs["required_version"]
	if !a.set() {
		return
	}
	if refs := a.expr.Variables(); len(refs) > 0 {
		l.eval.errorAt(refs[0].SourceRange(), "Variables not allowed", "required_version is a constant: it is read before anything else. Write it out.")
		return
	}
	want, ok := l.eval.get(b, "required_version")
	if !ok || l.options.ToolVersion == "" {
		return
	}
	fits, err := config.VersionMatches(l.options.ToolVersion, want.AsString())
	switch {
	case err != nil:
		l.eval.errorAt(a.expr.Range(), "Invalid version constraint", "%s.", err)
	case !fits:
		l.eval.errorAt(a.expr.Range(), "Unsupported kubewright version", "This configuration needs kubewright %s, and this is %s. Use a version that fits, or change required_version after checking that the configuration means the same.", want.AsString(), l.options.ToolVersion)
	}
}

// encryption returns the encryption block in the kubewright block; nil without one.
func (e *evaluator) encryption(settings *block) *config.Encryption {
	if settings == nil {
		return nil
	}
	b := e.one(settings, "encryption")
	if !b.written {
		return nil
	}
	out := &config.Encryption{Source: source(b.at)}
	if a := b.attrs["recipients"]; a.set() {
		if refs := a.expr.Variables(); len(refs) > 0 {
			e.errorAt(refs[0].SourceRange(), "Variables not allowed", "recipients is a constant: commands that read the state alone have no variables. Write the keys out.")
			return nil
		}
	}
	out.Recipients = e.strings(b, "recipients")
	return out
}

var privateKey = regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----`)

// keyWritten is the summary of a private key in the configuration.
const keyWritten = "Private key in the configuration"

// secretsInText reports private keys in the text of the configuration.
func (l *loader) secretsInText(parsed []*hcl.File) {
	for _, f := range parsed {
		name := f.Body.MissingItemRange().Filename
		for _, m := range privateKey.FindAllIndex(f.Bytes, -1) {
			line := bytes.Count(f.Bytes[:m[0]], []byte("\n")) + 1
			column := m[0] - bytes.LastIndexByte(f.Bytes[:m[0]], '\n')
			l.eval.add(diag.Errorf(keyWritten,
				"A private key is written here. Configuration is copied, committed and shown; a key must not be in it. Put it into a file that is not committed and refer to that (the connection's private_key is a path; a CA's key is file(\"ca.key\")), or give it in a sensitive variable, for example from the environment:\n\n  export %sca_key=\"$(cat ca.key)\"\n\nThen make a new key, for this one has been seen.", envPrefix).
				At(source(hcl.Range{
					Filename: name,
					Start:    hcl.Pos{Line: line, Column: column, Byte: m[0]},
					End:      hcl.Pos{Line: line, Column: column + m[1] - m[0], Byte: m[1]},
				})))
		}
	}
}
