//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/cmd/lab/internal/build"
	"github.com/kubewright/kubewright/cmd/lab/internal/conformance"
	"github.com/kubewright/kubewright/cmd/lab/internal/lab"
)

// conformanceVariable asks for the whole conformance suite, which takes hours.
const conformanceVariable = "KUBEWRIGHT_CONFORMANCE"

// conformanceProcesses is the number of processes that run tests in parallel, unless
// KUBEWRIGHT_CONFORMANCE_PROCESSES names another one.
const conformanceProcesses = 4

// TestConformance lets Kubernetes' own conformance suite judge a new cluster of three control
// planes and two workers. A run that was interrupted continues: a test that has passed with the
// same programs does not run again.
func TestConformance(t *testing.T) {
	if os.Getenv(conformanceVariable) == "" {
		t.Skip("takes hours: runs with make conformance")
	}
	suite := conformanceSuite(t, lab.DefaultKubernetes)
	s := newSiteOf(t, lab.Options{Name: "e2econf", ControlPlanes: 3, Workers: 2, Archives: suite.Images})
	s.offer(suite.Images)
	s.must("apply", "-auto-approve", "-no-color")
	s.wantCluster()
	s.wantConformance(suite, suite.Tests)
}

// The tests of a tenth of the suite, always the same one, judge clusters of other releases, and
// clusters that have a past.

func TestConformanceOf134(t *testing.T) {
	begin(t)
	testTenth(t, "e2ec134", "v1.34.9")
}

func TestConformanceOf135(t *testing.T) {
	begin(t)
	testTenth(t, "e2ec135", "v1.35.8")
}

func TestConformanceOf137(t *testing.T) {
	begin(t)
	testTenth(t, "e2ec137", "v1.37.1")
}

// testTenth lets a tenth of the suite of a release judge a new cluster of the release.
func testTenth(t *testing.T, name, version string) {
	t.Helper()
	suite := conformanceSuite(t, version)
	s := newSiteOf(t, lab.Options{Name: name, Kubernetes: version, ControlPlanes: 3, Workers: 2, Archives: suite.Images})
	s.offer(suite.Images)
	s.must("apply", "-auto-approve", "-no-color")
	s.wantCluster()
	s.wantConformance(suite, conformance.Tenth(suite.Tests))
}

// TestConformanceAfterUpgrade judges a cluster that was upgraded from the minor version before.
func TestConformanceAfterUpgrade(t *testing.T) {
	begin(t)
	suite := conformanceSuite(t, upgradeTo)
	s := newSiteOf(t, lab.Options{Name: "e2ecu", Kubernetes: upgradeFrom, MoreImages: []string{upgradeTo}, ControlPlanes: 3, Workers: 2, Archives: suite.Images})
	s.offer(suite.Images)
	s.must("apply", "-auto-approve", "-no-color")
	s.wantCluster()
	s.version = upgradeTo
	s.extra = "  install { artifacts = \"./artifacts\" }\n"
	s.bringKubelet(upgradeTo)
	s.configure()
	s.must("apply", "-auto-approve", "-no-color")
	s.wantVersion(upgradeTo)
	s.wantConformance(suite, conformance.Tenth(suite.Tests))
}

// TestConformanceAfterRotation judges a cluster whose CAs were all rotated.
func TestConformanceAfterRotation(t *testing.T) {
	begin(t)
	suite := conformanceSuite(t, lab.DefaultKubernetes)
	s := newSiteOf(t, lab.Options{Name: "e2ecr", ControlPlanes: 3, Workers: 2, Archives: suite.Images})
	s.offer(suite.Images)
	s.must("apply", "-auto-approve", "-no-color")
	s.wantCluster()
	s.must("apply", "-auto-approve", "-no-color", "-replace=cluster.prod/ca", "-replace=cluster.prod/front-proxy-ca", "-replace=cluster.prod/etcd-ca")
	s.wantCluster()
	s.wantConformance(suite, conformance.Tenth(suite.Tests))
}

// TestConformanceHardened judges a cluster that was created with a hardening block.
func TestConformanceHardened(t *testing.T) {
	begin(t)
	suite := conformanceSuite(t, lab.DefaultKubernetes)
	s := newSiteOf(t, lab.Options{Name: "e2ech", ControlPlanes: 3, Workers: 2, Archives: suite.Images})
	s.logIn()
	s.offer(suite.Images)
	s.extra = hardening
	s.configure()
	s.hardened()
	s.wantConformance(suite, conformance.Tenth(suite.Tests))
}

// TestConformanceAfterAdoption judges a cluster that kubeadm created and kubewright adopted.
func TestConformanceAfterAdoption(t *testing.T) {
	begin(t)
	suite := conformanceSuite(t, lab.DefaultKubernetes)
	s := adopted(t, adoption{name: "conformance", lab: lab.Options{Name: "e2eca", ControlPlanes: 3, Workers: 2, Archives: suite.Images}})
	if t.Failed() {
		return
	}
	s.offer(suite.Images)
	s.wantConformance(suite, conformance.Tenth(suite.Tests))
}

// conformanceSuite returns the conformance suite of a release.
func conformanceSuite(t *testing.T, version string) build.Conformance {
	t.Helper()
	cache, err := build.DefaultCache()
	if err != nil {
		t.Fatal(err)
	}
	cache.Log = os.Stderr
	release, err := build.FindRelease(version)
	if err != nil {
		t.Fatal(err)
	}
	suite, err := cache.Conformance(context.Background(), release)
	if err != nil {
		t.Fatal(err)
	}
	return suite
}

// wantConformance runs tests of the suite, and checks that each passes but for the exceptions.
func (s *site) wantConformance(suite build.Conformance, tests []string) {
	s.t.Helper()
	excepted := exceptions(s.t, "conformance")
	kubeconfig, err := s.Kubeconfig(context.Background(), s.planes[0].Name)
	if err != nil {
		s.t.Fatal(err)
	}
	folder := s.conformanceFolder(suite)
	file := filepath.Join(folder, "kubeconfig")
	if err := os.WriteFile(file, kubeconfig, 0o600); err != nil {
		s.t.Fatal(err)
	}
	kept, err := conformance.OpenVerdicts(filepath.Join(folder, "verdicts.jsonl"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer kept.Close()
	runner := conformance.Runner{
		Program: suite.Program, Kubectl: suite.Kubectl, Kubeconfig: file, Folder: folder,
		Processes: conformanceProcesses, Log: os.Stderr,
		Alive: func(ctx context.Context) error {
			_, err := s.Kubectl(ctx, s.planes[0].Name, "get", "--raw", "/readyz")
			return err
		},
	}
	if n, err := strconv.Atoi(os.Getenv("KUBEWRIGHT_CONFORMANCE_PROCESSES")); err == nil {
		runner.Processes = n
	}
	if err := runner.Run(context.Background(), tests, kept); err != nil {
		s.t.Fatal(err)
	}
	passed := 0
	for _, test := range tests {
		v, ok := kept.Of(test)
		reason, known := excepted[test]
		switch {
		case ok && v.Passed && known:
			s.t.Errorf("%s passes: it is no exception any more", test)
		case ok && v.Passed:
			passed++
		case known:
			s.t.Logf("excepted: %s: %s", test, reason)
		default:
			s.t.Errorf("%s did not pass: %s", test, v.Reason)
		}
	}
	s.t.Logf("conformance of Kubernetes %s: %d of %d tests passed (reports in %s)", suite.Release.Kubernetes, passed, len(tests), folder)
}

// conformanceFolder returns the folder for the verdicts on this site's cluster. It depends on
// what the cluster is made by and of: kubewright, its configuration, and the suite.
func (s *site) conformanceFolder(suite build.Conformance) string {
	s.t.Helper()
	cache, err := build.DefaultCache()
	if err != nil {
		s.t.Fatal(err)
	}
	digest := sha256.New()
	for _, name := range []string{toolPath, suite.Program} {
		f, err := os.Open(name)
		if err != nil {
			s.t.Fatal(err)
		}
		_, err = io.Copy(digest, f)
		f.Close()
		if err != nil {
			s.t.Fatal(err)
		}
	}
	configuration, err := os.ReadFile(filepath.Join(s.dir, "cluster.hcl"))
	if err != nil {
		s.t.Fatal(err)
	}
	fmt.Fprintln(digest, s.Name(), suite.Release, suite.Images, strings.ReplaceAll(string(configuration), s.dir, ""))
	folder := cache.Path("conformance", s.Name()+"-"+suite.Release.Kubernetes+"-"+hex.EncodeToString(digest.Sum(nil))[:10])
	if err := os.MkdirAll(folder, 0o755); err != nil {
		s.t.Fatal(err)
	}
	return folder
}

// exceptions returns, by full name, the tests of a suite that cannot pass on the lab's hosts, with
// the reason that was seen: lines "NAME :: REASON" of a file, in which # begins a comment.
func exceptions(t testing.TB, suite string) map[string]string {
	t.Helper()
	file := "testdata/" + suite + "-exceptions.txt"
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all := map[string]string{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, reason, ok := strings.Cut(line, " :: ")
		if !ok || reason == "" {
			t.Fatalf("%s: %q has no reason", file, line)
		}
		all[name] = reason
	}
	return all
}
