package local_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/local"
	"github.com/kubewright/kubewright/state"
)

// TestSecretsAreNoArguments: what everybody on a host can list, arguments and
// environments of processes, holds no secret while one is written and read there.
func TestSecretsAreNoArguments(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("there is no /proc here")
	}
	const secret = "canary-pr0cess"
	forms := []string{secret, hex.EncodeToString([]byte(secret)), strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(secret)), "=")}
	h, who := local.New(ownRoot(t)), owner(t)
	done, found := make(chan struct{}), make(chan string, 1)
	seen := make(chan struct{})
	go watchProcesses(done, seen, found, forms)
	for looked := false; !looked; {
		op := planner.WriteFile{Path: "/etc/key", Mode: "0600", Owner: who, Content: planner.Content{Ref: "config:key"}}
		b := providers.Batch{Token: 1, Lineage: "l", Operations: planner.Operations{op}, Contents: map[string]state.Secret{"config:key": state.NewSecret([]byte(secret))}}
		if _, err := h.Perform(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		if got, err := h.ReadSecrets(t.Context(), []string{op.Path}); err != nil || string(got[op.Path].Reveal()) != secret {
			t.Fatalf("got %q, %v", got[op.Path].Reveal(), err)
		}
		select {
		case <-seen:
			looked = true
		default:
		}
	}
	close(done)
	if where := <-found; where != "" {
		t.Error(where)
	}
}

// watchProcesses looks into the processes that the test has started until done is
// closed, says that it has seen one, and in the end where it has found a secret.
func watchProcesses(done <-chan struct{}, seen chan<- struct{}, found chan<- string, forms []string) {
	where := ""
	for children := 0; ; {
		select {
		case <-done:
			found <- where
			return
		default:
		}
		folders, _ := filepath.Glob("/proc/[0-9]*")
		for _, folder := range folders {
			stat, _ := os.ReadFile(folder + "/stat")
			if !bytes.Contains(stat, fmt.Appendf(nil, ") S %d ", os.Getpid())) && !bytes.Contains(stat, fmt.Appendf(nil, ") R %d ", os.Getpid())) {
				continue
			}
			for _, name := range []string{"cmdline", "environ"} {
				text, _ := os.ReadFile(folder + "/" + name)
				for _, form := range forms {
					if bytes.Contains(text, []byte(form)) {
						where = fmt.Sprintf("%s of a process holds %s: %q", name, form, text)
					}
				}
				if len(text) > 0 && children == 0 {
					children++
					close(seen)
				}
			}
		}
	}
}
