package commandline

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"testing"

	"github.com/kubewright/kubewright/config/remedy"
	"github.com/kubewright/kubewright/state"
)

// TestCommandsAreQuotedForShell checks that commands can be copied to a shell, where each flag and
// argument is one word whatever key a node has.
func TestCommandsAreQuotedForShell(t *testing.T) {
	t.Parallel()
	key := state.NodeKeyTarget("worker", "o'brien")
	for want, r := range map[string]remedy.Remedy{
		`kubewright apply -replace='node.worker["o'\''brien"]' -accept-new-host='node.worker["o'\''brien"]'`: remedy.Apply.With(remedy.Replace.Of(key), remedy.NewHost.Of(key)),
		"kubewright etcd restore -forget-unreachable=node.gw FILE":                                           remedy.Restore.On("FILE").With(remedy.GoneHost.Of(state.NodeTarget("gw"))),
		`kubewright state rm 'node.worker["o'\''brien"]'`:                                                    remedy.Forget.On(key.String()),
		"-allow-unreachable": remedy.With(remedy.Option{Kind: remedy.WithoutSilent}),
	} {
		if got := Line(r); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestEveryRemedyIsSpelled checks that there is a command for each action, and a flag for each kind
// of option.
func TestEveryRemedyIsSpelled(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "..", "..", "..", "config", "remedy", "remedy.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		typ, _ := spec.Type.(*ast.Ident)
		value, _ := spec.Values[0].(*ast.BasicLit)
		if typ == nil || value == nil {
			return true
		}
		found++
		name := value.Value[1 : len(value.Value)-1]
		if typ.Name == "Action" && commands[remedy.Action(name)] == "" || typ.Name == "Kind" && flags[remedy.Kind(name)] == "" {
			t.Errorf("%s %s has no name on the command line", typ.Name, name)
		}
		return true
	})
	if found < 20 || found != len(commands)+len(flags) {
		t.Errorf("found %d actions and kinds, and %d commands and flags", found, len(commands)+len(flags))
	}
}

// TestErrorsAreSpelled checks that an error keeps what it wraps.
func TestErrorsAreSpelled(t *testing.T) {
	t.Parallel()
	cause := remedy.Textf("refused: see %s", remedy.Members)
	err := Error(fmt.Errorf("step: %w", cause))
	if err.Error() != "step: refused: see kubewright etcd status" || !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
	if plain := errors.New("plain"); Error(plain) != plain || Error(nil) != nil {
		t.Error("other errors change")
	}
}
