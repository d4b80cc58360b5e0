package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/cli"
)

var askedHost = regexp.MustCompile(`msg="asking host" host=(\S+) for=("[^"]*"|\S+)`)

// TestPlanSendsOneRequestPerHost checks that a plan that finds nothing to do connects to each host
// once and sends it one request. API and etcd are observed through one of the hosts. A status,
// which shows more, asks for nothing else.
func TestPlanSendsOneRequestPerHost(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"No changes.":              {"plan", "-detailed-exitcode", "-parallelism=1"},
		"cluster.prod: no problem": {"status", "-detailed-exitcode"},
		"kubewright_api_up{":       {"status", "-format=openmetrics", "-detailed-exitcode"},
		`"last_applies": [`:        {"status", "-json", "-detailed-exitcode"},
	} {
		sendsOneRequestPerHost(t, want, args)
	}
}

func sendsOneRequestPerHost(t *testing.T, want string, args []string) {
	t.Helper()
	env, printed := foundedFolder(t).env(args...)
	env.Getenv = func(name string) string { return map[string]string{"KUBEWRIGHT_LOG": "trace"}[name] }
	if code := cli.Main(env); code != 0 || !strings.Contains(printed(), want) {
		t.Fatalf("%v: exit code %d\n%s", args, code, printed())
	}
	asked := map[string][]string{}
	for _, line := range askedHost.FindAllStringSubmatch(printed(), -1) {
		asked[line[1]] = append(asked[line[1]], line[2])
	}
	for _, host := range crashHosts {
		if want := []string{"connection", "observation"}; !slices.Equal(asked[host], want) {
			t.Errorf("%v: %s got requests for %q, want %q", args, host, asked[host], want)
		}
		delete(asked, host)
	}
	if len(asked) > 0 {
		t.Errorf("%v: unexpected hosts got requests: %v", args, asked)
	}
	for _, what := range []string{`msg="asked API" .*for=observation`, `msg="asked etcd" .*for=members`} {
		if lines := regexp.MustCompile(".*"+what+".*").FindAllString(printed(), -1); len(lines) != 1 {
			t.Errorf("%v: %s is in the log %d times, want 1:\n%s", args, what, len(lines), strings.Join(lines, "\n"))
		}
	}
}

// TestNothingCallsKubeadm checks that neither the scripts of providers/shell, which make all
// changes on hosts, nor the operations, which are data, call kubeadm. Phases may mention its
// name in what they render and print.
func TestNothingCallsKubeadm(t *testing.T) {
	t.Parallel()
	scripts, err := filepath.Glob("../../providers/shell/scripts/*.sh")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("there are no scripts: %v", err)
	}
	comment := regexp.MustCompile(`(?m)(^|\s)#.*$`)
	for _, path := range scripts {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(comment.ReplaceAllString(string(text), ""), "kubeadm") {
			t.Errorf("%s calls kubeadm", path)
		}
	}
	names := []string{"kubeadm-certs", "Proxy for managing TTL for the kubeadm-certs secret"} // names of Secrets
	for _, pkg := range []string{"planner", "planner/diff", "planner/quorum", "planner/skew", "planner/executor", "providers", "providers/shell", "providers/ssh", "providers/local", "providers/kube", "providers/etcd", "providers/pki"} {
		for _, text := range stringsOf(t, pkg) {
			if strings.Contains(text, "kubeadm") && !slices.Contains(names, text) {
				t.Errorf("package %s has %q", pkg, text)
			}
		}
	}
}

// stringsOf returns the string literals of a package's non-test files.
func stringsOf(t *testing.T, pkg string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(pkg), "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no files: %v", pkg, err)
	}
	var out []string
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
				if text, err := strconv.Unquote(l.Value); err == nil && !strings.HasPrefix(text, module) {
					out = append(out, text)
				}
			}
			return true
		})
	}
	return out
}
