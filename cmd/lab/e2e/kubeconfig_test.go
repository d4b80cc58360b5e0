//go:build e2e

package e2e

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// elsewhere is a user's kubeconfig for another cluster.
const elsewhere = `apiVersion: v1
kind: Config
clusters: [{name: elsewhere, cluster: {server: "https://192.0.2.1:6443"}}]
users: [{name: me, user: {token: mine}}]
contexts: [{name: elsewhere, context: {cluster: elsewhere, user: me}}]
current-context: elsewhere
`

// kubeconfigFiles runs kubectl, on the operator's machine, with the files that kubewright
// kubeconfig writes: the administrator's, a user's with a group, and an existing one into which
// both are merged.
func (s *site) kubeconfigFiles() {
	// The endpoint's name does not resolve on this machine.
	server := "-server=https://" + s.planes[0].Address().String() + ":6443"
	jane := []string{"-user=jane", "-group=viewers", "-validity=10m", server}
	admin, user, merged := filepath.Join(s.dir, "admin.kubeconfig"), filepath.Join(s.dir, "jane.kubeconfig"), filepath.Join(s.dir, "config")
	s.must("kubeconfig", server, "-out="+admin)
	s.must(append([]string{"kubeconfig", "-out=" + user}, jane...)...)
	if err := os.WriteFile(merged, []byte(elsewhere), 0o644); err != nil {
		s.t.Fatal(err)
	}
	before := s.env
	s.env = append(slices.Clone(before), "KUBECONFIG="+merged)
	s.must("kubeconfig", server, "-merge")
	s.must(append([]string{"kubeconfig", "-merge"}, jane...)...)
	s.env = before

	for _, file := range []string{admin, user, merged} {
		info, err := os.Stat(file)
		if err != nil {
			s.t.Fatal(err)
		}
		if info.Mode() != fs.FileMode(0o600) {
			s.t.Errorf("%s has the mode %v, want 0600", file, info.Mode())
		}
	}
	for _, file := range [][]string{{admin}, {merged, "--context=kubernetes-admin@prod"}} {
		out, err := s.kubectlHere(file[0], append(file[1:], "get", "nodes", "-o", "name")...)
		if nodes := strings.Fields(out); err != nil || len(nodes) != len(s.hosts()) || !slices.Contains(nodes, "node/"+s.nodeName(s.planes[0])) {
			s.t.Errorf("kubectl get nodes with %v: %v\n%s", file, err, out)
		}
	}
	for _, file := range [][]string{{user}, {merged, "--context=jane@prod"}} {
		if out, err := s.kubectlHere(file[0], append(file[1:], "get", "nodes")...); err == nil || !strings.Contains(out, `nodes is forbidden: User "jane" cannot list resource "nodes"`) {
			s.t.Errorf("kubectl get nodes with %v, whose group has no permission: %v\n%s", file, err, out)
		}
	}
	if out, err := s.kubectlHere(merged, "config", "get-contexts", "-o", "name"); err != nil || strings.Join(strings.Fields(out), " ") != "elsewhere jane@prod kubernetes-admin@prod" {
		s.t.Errorf("contexts of the merged file: %v\n%s", err, out)
	}
	if out, err := s.kubectlHere(merged, "--context=elsewhere", "config", "view", "--raw", "--minify"); err != nil || !strings.Contains(out, "https://192.0.2.1:6443") || !strings.Contains(out, "token: mine") {
		s.t.Errorf("context that the file had before the merge: %v\n%s", err, out)
	}

	s.kubectl("create", "clusterrole", "nodes", "--verb=list", "--resource=nodes")
	s.kubectl("create", "clusterrolebinding", "nodes", "--clusterrole=nodes", "--group=viewers")
	s.eventually("the user's group may list nodes", func() (string, bool) {
		out, err := s.kubectlHere(user, "get", "nodes", "-o", "name")
		return fmt.Sprint(out, err), err == nil && len(strings.Fields(out)) == len(s.hosts())
	})
	s.kubectl("delete", "clusterrolebinding,clusterrole", "nodes")
}

// kubectlHere runs kubectl on this machine with a given kubeconfig.
func (s *site) kubectlHere(kubeconfig string, args ...string) (string, error) {
	s.t.Helper()
	cmd := exec.Command(s.Artifacts().Kubectl(), append([]string{"--kubeconfig=" + kubeconfig, "--cache-dir=" + s.t.TempDir()}, args...)...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}
