package cli

import (
	"regexp"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config/elsewhere"
	"github.com/spf13/pflag"
)

var (
	namedCommand = regexp.MustCompile(`kubewright ([a-z-]+(?: (?:status|snapshot|restore|push|pull|list|recover)\b)?)`)
	namedFlag    = regexp.MustCompile(`(?:^|\s)-([a-z][a-z-]+)`)
)

// TestOtherToolsHintsAreTrue checks that the commands and flags that the hints name exist, and
// that no hint stands for a command of kubewright.
func TestOtherToolsHintsAreTrue(t *testing.T) {
	t.Parallel()
	own, flags := map[string]bool{}, map[string]bool{"help": true}
	for _, cmd := range everyCommand(commandLine()) {
		own[strings.TrimPrefix(cmd.CommandPath(), "kubewright ")] = true
		for _, set := range []*pflag.FlagSet{cmd.LocalFlags(), cmd.PersistentFlags()} {
			set.VisitAll(func(f *pflag.Flag) { flags[f.Name] = true })
		}
	}
	commands, named := 0, 0
	for _, kind := range []elsewhere.Kind{elsewhere.Language, elsewhere.Command, elsewhere.Flag} {
		for _, name := range elsewhere.Names(kind) {
			if kind == elsewhere.Command && own[name] {
				t.Errorf("%s is a command of kubewright", name)
			}
			text := elsewhere.Instead(kind, name)
			for _, m := range namedCommand.FindAllStringSubmatch(text, -1) {
				first, _, _ := strings.Cut(m[1], " ")
				if !own[first] && !proseAfterName[first] || own[first] && !own[m[1]] {
					t.Errorf("%s: there is no kubewright %s: %s", name, m[1], text)
				}
				commands++
			}
			for _, m := range namedFlag.FindAllStringSubmatch(text, -1) {
				if !flags[m[1]] {
					t.Errorf("%s: there is no flag -%s: %s", name, m[1], text)
				}
				named++
			}
		}
	}
	if commands < 20 || named < 20 {
		t.Errorf("only %d commands and %d flags were found in the hints", commands, named)
	}
}

// proseAfterName are words that follow the name of the tool in a sentence.
var proseAfterName = map[string]bool{
	"brings": true, "creates": true, "does": true, "installs": true, "reaches": true, "runs": true, "writes": true, "block": true,
}
