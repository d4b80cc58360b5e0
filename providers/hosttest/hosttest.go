// Package hosttest is the conformance suite for every providers.Host: over SSH, on this
// machine, simulated. It touches only paths below /etc/kubernetes, /var/lib/kubelet and
// /var/lib/kubewright, and programs in /usr/local/bin, so a host under test needs a root of
// its own for them.
//
// Secrets finds in texts the secrets of hosts.
package hosttest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// Subject is a host under test, blank.
type Subject struct {
	Host providers.Host
	// Owner is an owner that files can be given there, as USER:GROUP.
	Owner string
	// Root is the path of the host's files on this machine; empty for a simulated host,
	// which has no programs either.
	Root string
	// Again opens another connection to the same host, as another run would.
	Again func(t *testing.T) providers.Host
}

// Run runs the suite; blank makes a new host for each test.
func Run(t *testing.T, blank func(t *testing.T) Subject) {
	for name, test := range map[string]func(*testing.T, *subject){
		"Facts":                 testFacts,
		"Absent":                testAbsent,
		"WriteFile":             testWriteFile,
		"WriteFileModes":        testWriteFileModes,
		"WriteFileContents":     testWriteFileContents,
		"WriteSecret":           testWriteSecret,
		"WrongDigest":           testWrongDigest,
		"StrangeNames":          testStrangeNames,
		"MissingSysctl":         testMissingSysctl,
		"Directory":             testDirectory,
		"Access":                testAccess,
		"Again":                 testAgain,
		"Remove":                testRemove,
		"RemoveContents":        testRemoveContents,
		"RemoveRefusesFolders":  testRemoveRefusesFolders,
		"Glob":                  testGlob,
		"ReadSecrets":           testReadSecrets,
		"Keys":                  testKeys,
		"Upload":                testUpload,
		"Unpack":                testUnpack,
		"WrongArtifact":         testWrongArtifact,
		"Preserve":              testPreserve,
		"SetAsideEtcd":          testSetAsideEtcd,
		"Hears":                 testHears,
		"StopsAtFailure":        testStopsAtFailure,
		"Marks":                 testMarks,
		"Moved":                 testMoved,
		"Superseded":            testSuperseded,
		"SideBySide":            testSideBySide,
		"VoidToken":             testVoidToken,
		"Foreign":               testForeign,
		"ObserveChangesNothing": testObserveChangesNothing,
		"Room":                  testRoom,
		"Parallel":              testParallel,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := blank(t)
			t.Cleanup(func() { _ = s.Host.Close() })
			test(t, &subject{Subject: s, token: 1, lineage: "b71e2c"})
		})
	}
}

// subject is a Subject with shorthands.
type subject struct {
	Subject
	token   int64
	lineage string
}

const folder = "/etc/kubernetes/test"

func (s *subject) batch(ops ...planner.Operation) providers.Batch {
	return providers.Batch{Token: s.token, Lineage: s.lineage, Operations: ops}
}

func (s *subject) write(path, content string) planner.WriteFile {
	return planner.WriteFile{Path: path, Mode: "0600", Owner: s.Owner, Content: planner.Content{Inline: content}, SHA256: digest(content)}
}

// do performs operations that must all succeed, and returns which of them changed
// something.
func (s *subject) do(t *testing.T, ops ...planner.Operation) []bool {
	t.Helper()
	outcomes, err := s.Host.Perform(t.Context(), s.batch(ops...))
	if err != nil || len(outcomes) != len(ops) {
		t.Fatalf("%d of %d operations: %v", len(outcomes), len(ops), err)
	}
	changed := make([]bool, len(ops))
	for i, o := range outcomes {
		changed[i] = o.Changed
	}
	return changed
}

func (s *subject) observe(t *testing.T, q state.Query) *state.Report {
	t.Helper()
	r, err := s.Host.Observe(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (s *subject) look(t *testing.T, path string) state.FileReport {
	t.Helper()
	return s.observe(t, state.Query{Files: []state.FileQuery{{Path: path, Read: state.ReadContent}}}).Files[path]
}

func digest(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

func wantFile(t *testing.T, got state.FileReport, content, mode, owner string) {
	t.Helper()
	if !got.Exists || got.Type != "file" || string(got.Content) != content || got.SHA256 != digest(content) ||
		got.Mode != mode || got.Owner != owner || got.Size != int64(len(content)) {
		t.Errorf("got %+v, want %q, mode %s, owner %s", got, content, mode, owner)
	}
}

func wantChanged(t *testing.T, got []bool, want ...bool) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("changed: got %v, want %v", got, want)
	}
}

func testFacts(t *testing.T, s *subject) {
	r := s.observe(t, state.Query{
		Units: []string{"no-such-unit.service"}, Sysctls: []string{"kernel.ostype", "no.such.sysctl"},
		Modules: []string{"no_such_module"}, Ports: []int{1}, Commands: []string{"cp", "no-such-command"},
	})
	f := r.Facts
	if f.Hostname == "" || f.Hostname != strings.ToLower(f.Hostname) || f.Arch == "" || f.Kernel == "" || f.CPUs < 1 || f.MemoryBytes < 1<<20 || f.BootID == "" {
		t.Errorf("the facts are incomplete: %+v", f)
	}
	if off := f.ClockOffset.Abs().Seconds(); off > 60 {
		t.Errorf("clock off by %v", f.ClockOffset)
	}
	if r.Elapsed <= 0 || r.Marks != nil {
		t.Errorf("elapsed %v, marks %v", r.Elapsed, r.Marks)
	}
	if u := r.Units["no-such-unit.service"]; u.Exists {
		t.Errorf("unit: %+v", u)
	}
	if _, ok := r.Sysctls["no.such.sysctl"]; ok {
		t.Error("a sysctl that does not exist has a value")
	}
	if r.Modules["no_such_module"] || !r.NoModules["no_such_module"] || r.Commands["no-such-command"] || !r.Commands["cp"] {
		t.Errorf("modules %v, none of %v, commands %v", r.Modules, r.NoModules, r.Commands)
	}
}

func testAbsent(t *testing.T, s *subject) {
	for _, read := range []state.Read{state.ReadStat, state.ReadDigest, state.ReadContent, state.ReadCertificate, state.ReadAuthority, state.ReadKubeconfig} {
		path := folder + "/absent"
		r := s.observe(t, state.Query{Files: []state.FileQuery{{Path: path, Read: read}}})
		if f, ok := r.Files[path]; !ok || f.Exists || f.Type != "" {
			t.Errorf("read %q: got %+v", read, f)
		}
	}
}

func testWriteFile(t *testing.T, s *subject) {
	path := folder + "/deep/er/file.yaml"
	wantChanged(t, s.do(t, s.write(path, "first\n")), true)
	wantFile(t, s.look(t, path), "first\n", "0600", s.Owner)
	wantChanged(t, s.do(t, s.write(path, "first\n")), false)
	wantChanged(t, s.do(t, s.write(path, "second\n"), s.write(path, "second\n")), true, false)
	wantFile(t, s.look(t, path), "second\n", "0600", s.Owner)
}

func testWriteFileModes(t *testing.T, s *subject) {
	path := folder + "/file"
	op := s.write(path, "x")
	for _, mode := range []string{"0600", "0644", "0755", "0400"} {
		op.Mode = mode
		wantChanged(t, s.do(t, op), true)
		wantFile(t, s.look(t, path), "x", mode, s.Owner)
		wantChanged(t, s.do(t, op), false)
	}
}

func testWriteFileContents(t *testing.T, s *subject) {
	for i, content := range []string{
		"", "\n", "no newline", "$(reboot) `id` 'quote' \"double\" \\ %s\n", "kubewright-frame 3\nabc",
		"utf-8 ümläut 日本\r\n\ttab", strings.Repeat("a line of a larger file\n", 20_000),
	} {
		path := fmt.Sprintf("%s/content-%d", folder, i)
		s.do(t, s.write(path, content))
		wantFile(t, s.look(t, path), content, "0600", s.Owner)
	}
}

// testWriteSecret checks that content that is not in the plan arrives as contents of the
// batch.
func testWriteSecret(t *testing.T, s *subject) {
	op := s.write(folder+"/key", "")
	op.Content, op.SHA256 = planner.Content{Ref: "config:key"}, ""
	secret := "\x00\x01binary\xff\n\n"
	b := s.batch(op)
	b.Contents = map[string]state.Secret{"config:key": state.NewSecret([]byte(secret))}
	if _, err := s.Host.Perform(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	got, err := s.Host.ReadSecrets(t.Context(), []string{op.Path})
	if err != nil || string(got[op.Path].Reveal()) != secret {
		t.Errorf("got %q, %v", got[op.Path].Reveal(), err)
	}
}

// testWrongDigest checks that content other than the planned one is not written.
func testWrongDigest(t *testing.T, s *subject) {
	op := s.write(folder+"/file", "what was planned")
	op.Content.Inline = "something else"
	if _, err := s.Host.Perform(t.Context(), s.batch(op)); err == nil {
		t.Error("content with another digest was written")
	}
	if s.look(t, op.Path).Exists {
		t.Error("the file is there")
	}
}

func testStrangeNames(t *testing.T, s *subject) {
	var writes, removals []planner.Operation
	var q state.Query
	names := []string{"with blank", "-rf", "quote'd", `dou"ble`, "$(id)", "`id`", "a;b", "*", "ümläut", "#x", "a=b", "~", "&", "a|b"}
	for _, name := range names {
		path := folder + "/" + name
		writes = append(writes, s.write(path, name))
		removals = append(removals, planner.RemovePath{Path: path})
		q.Files = append(q.Files, state.FileQuery{Path: path, Read: state.ReadContent})
	}
	s.do(t, append(writes, s.write(folder+"/other", ""))...)
	r := s.observe(t, q)
	for _, name := range names {
		wantFile(t, r.Files[folder+"/"+name], name, "0600", s.Owner)
	}
	s.do(t, removals...)
	r = s.observe(t, q)
	for path, f := range r.Files {
		if f.Exists {
			t.Errorf("%q is still there", path)
		}
	}
	if f := s.look(t, folder); f.Entries != 1 {
		t.Errorf("%d entries are left, want the other one", f.Entries)
	}
}

func testDirectory(t *testing.T, s *subject) {
	op := planner.EnsureDirectory{Path: folder + "/a/b", Mode: "0700", Owner: s.Owner}
	wantChanged(t, s.do(t, op, op), true, false)
	f := s.look(t, op.Path)
	if f.Type != "directory" || f.Mode != "0700" || f.Owner != s.Owner || f.Entries != 0 {
		t.Errorf("got %+v", f)
	}
	op.Mode = "0755"
	wantChanged(t, s.do(t, op, s.write(op.Path+"/.hidden", ""), s.write(op.Path+"/file", "")), true, true, true)
	if f := s.look(t, op.Path); f.Mode != "0755" || f.Entries != 2 {
		t.Errorf("got %+v", f)
	}
}

// testAccess checks that only mode and owner of a file change, and not even the time at
// which it was written. An absent file is not created.
func testAccess(t *testing.T, s *subject) {
	path := folder + "/ca.key"
	s.do(t, s.write(path, "secret"))
	before := s.look(t, path)
	op := planner.SetAccess{Path: path, Mode: "0640", Owner: s.Owner}
	wantChanged(t, s.do(t, op, op), true, false)
	after := s.look(t, path)
	wantFile(t, after, "secret", "0640", s.Owner)
	if !after.Modified.Equal(before.Modified) {
		t.Errorf("it was written at %s, but its time is now %s", before.Modified, after.Modified)
	}
	op.Owner = after.OwnerIDs
	wantChanged(t, s.do(t, op), false)
	if after.OwnerAs("0:0") != after.OwnerIDs || after.OwnerAs(s.Owner) != s.Owner {
		t.Errorf("the owner is %q, by ID %q", after.Owner, after.OwnerIDs)
	}
	s.do(t, planner.EnsureDirectory{Path: folder + "/folder", Mode: "0700", Owner: s.Owner})
	for _, path := range []string{folder + "/absent/file", folder + "/folder"} {
		if _, err := s.Host.Perform(t.Context(), s.batch(planner.SetAccess{Path: path, Mode: "0640", Owner: s.Owner})); err == nil {
			t.Errorf("%s has another mode now", path)
		}
	}
	absent := planner.SetAccess{Path: folder + "/absent/file", Mode: "0640", Owner: s.Owner, IfPresent: true}
	wantChanged(t, s.do(t, absent), false)
	if s.look(t, folder+"/absent").Exists || s.look(t, folder+"/folder").Mode != "0700" {
		t.Error("something was created or changed")
	}
}

func testRemove(t *testing.T, s *subject) {
	s.do(t, s.write(folder+"/tree/a/b", "x"), s.write(folder+"/file", "x"))
	wantChanged(t, s.do(t,
		planner.RemovePath{Path: folder + "/tree"}, planner.RemovePath{Path: folder + "/tree"},
		planner.RemovePath{Path: folder + "/file"}, planner.RemovePath{Path: folder + "/never/was"}), true, false, true, false)
	if f := s.look(t, folder); f.Entries != 0 {
		t.Errorf("%d entries are left", f.Entries)
	}
}

func testRemoveContents(t *testing.T, s *subject) {
	s.do(t, s.write(folder+"/tree/a/b", "x"), s.write(folder+"/tree/.hidden", "x"))
	op := planner.RemovePath{Path: folder + "/tree", ContentsOnly: true}
	absent := planner.RemovePath{Path: folder + "/absent", ContentsOnly: true}
	wantChanged(t, s.do(t, op, op, absent), true, false, false)
	if f := s.look(t, op.Path); f.Type != "directory" || f.Entries != 0 {
		t.Errorf("got %+v", f)
	}
	s.do(t, s.write(folder+"/file", "x"))
	if _, err := s.Host.Perform(t.Context(), s.batch(planner.RemovePath{Path: folder + "/file", ContentsOnly: true})); err == nil {
		t.Error("emptied a file")
	}
}

func testRemoveRefusesFolders(t *testing.T, s *subject) {
	s.do(t, s.write(folder+"/file", "x"))
	for _, path := range []string{"/", "/etc", "/var/lib", "/usr/bin", "//", "/etc/", "etc/kubernetes", "/etc/kubernetes/..", "/etc/./kubernetes", "/usr/local", "", "/proc/1"} {
		for _, contents := range []bool{true, false} {
			if _, err := s.Host.Perform(t.Context(), s.batch(planner.RemovePath{Path: path, ContentsOnly: contents})); err == nil {
				t.Errorf("removed %q", path)
			}
		}
	}
	wantFile(t, s.look(t, folder+"/file"), "x", "0600", s.Owner)
}

func testGlob(t *testing.T, s *subject) {
	s.do(t, s.write(folder+"/a.yaml", "1"), s.write(folder+"/b b.yaml", "22"), s.write(folder+"/c.conf", "3"), s.write(folder+"/.d.yaml", "4"))
	r := s.observe(t, state.Query{Globs: []string{folder + "/*.yaml", "/etc/kubernetes/none/*"}})
	if len(r.Files) != 2 || r.Files[folder+"/b b.yaml"].Size != 2 || r.Files[folder+"/a.yaml"].Content != nil {
		t.Errorf("got %+v", r.Files)
	}
}

func testReadSecrets(t *testing.T, s *subject) {
	s.do(t, s.write(folder+"/a", "alpha"), s.write(folder+"/b", ""))
	paths := []string{folder + "/a", folder + "/b", folder + "/absent"}
	check := func(got map[string]state.Secret) {
		t.Helper()
		if len(got) != 2 || string(got[paths[0]].Reveal()) != "alpha" || len(got[paths[1]].Reveal()) != 0 {
			t.Errorf("got %d secrets", len(got))
		}
	}
	got, err := s.Host.ReadSecrets(t.Context(), paths)
	if err != nil {
		t.Fatal(err)
	}
	check(got)
	r := s.observe(t, state.Query{Secrets: paths})
	check(r.Secrets)
	if len(r.Files) != 0 {
		t.Errorf("secrets are reported as files: %v", r.Files)
	}
	if got, err := s.Host.ReadSecrets(t.Context(), nil); err != nil || len(got) != 0 {
		t.Errorf("got %v, %v", got, err)
	}
}

func testStopsAtFailure(t *testing.T, s *subject) {
	outcomes, err := s.Host.Perform(t.Context(), s.batch(
		s.write(folder+"/first", "1"),
		planner.Unit{Unit: "no-such-unit.service", Action: "start"},
		s.write(folder+"/third", "3"),
	))
	if err == nil {
		t.Fatal("no error")
	}
	var command *providers.CommandError
	if !errors.As(err, &command) {
		t.Errorf("got %T %v, want a CommandError", err, err)
	}
	if len(outcomes) != 2 || !outcomes[0].Changed {
		t.Errorf("got outcomes %+v, want those of the two attempted", outcomes)
	}
	wantFile(t, s.look(t, folder+"/first"), "1", "0600", s.Owner)
	if s.look(t, folder+"/third").Exists {
		t.Error("the operation after the failed one was done")
	}
}

func testMarks(t *testing.T, s *subject) {
	marks := state.Marks{
		Format: 1, Lineage: s.lineage, Cluster: "prod", Node: state.NodeKeyTarget("cp", "cp1"), Founder: true,
		ClusterCA: "abcd", Owned: []string{"/etc/kubernetes"}, Before: map[string]string{"swap": "on"},
	}
	s.token = 8
	wantChanged(t, s.do(t, planner.Mark{Marks: marks}), true)
	got := s.observe(t, state.Query{}).Marks
	if got == nil || got.Cluster != "prod" || got.Lineage != s.lineage || got.Node != marks.Node || got.Token != 8 || got.Before["swap"] != "on" || !got.Founder {
		t.Fatalf("got %+v", got)
	}
	wantChanged(t, s.do(t, planner.Mark{Marks: marks}), false)
	s.token = 9
	s.do(t, s.write(folder+"/file", "x"))
	if got := s.observe(t, state.Query{}).Marks; got == nil || got.Token != 9 {
		t.Errorf("got %+v, want token 9", got)
	}
	wantChanged(t, s.do(t, planner.Mark{Remove: true}), true)
	if got := s.observe(t, state.Query{}).Marks; got != nil {
		t.Errorf("got %+v after the marks were removed", got)
	}
}

// testMoved checks that a file that has changed since the check is not overwritten.
func testMoved(t *testing.T, s *subject) {
	s.do(t, s.write(folder+"/a", "one"), s.write(folder+"/b", "one"))
	for _, tt := range []struct {
		name   string
		before planner.Operation
		expect map[string]string
		moved  string
	}{
		{"as it was", s.write(folder+"/a", "one"), map[string]string{folder + "/a": digest("one"), folder + "/b": digest("one")}, ""},
		{"changed", s.write(folder+"/b", "two"), map[string]string{folder + "/a": digest("one"), folder + "/b": digest("one")}, folder + "/b"},
		{"gone", planner.RemovePath{Path: folder + "/b"}, map[string]string{folder + "/b": digest("two")}, folder + "/b"},
	} {
		s.do(t, tt.before)
		b := s.batch(s.write(folder+"/new", tt.name))
		b.Expect = tt.expect
		outcomes, err := s.Host.Perform(t.Context(), b)
		if tt.moved == "" {
			if err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
			continue
		}
		if !errors.Is(err, providers.ErrMoved) || len(outcomes) != 0 || !strings.Contains(err.Error(), tt.moved+" has changed") {
			t.Errorf("%s: got %v, %v, want ErrMoved of %s", tt.name, outcomes, err, tt.moved)
		}
		wantFile(t, s.look(t, folder+"/new"), "as it was", "0600", s.Owner)
	}
}

func testForeign(t *testing.T, s *subject) {
	s.do(t, s.write(folder+"/file", "ours"))
	b := s.batch(s.write(folder+"/file", "theirs"))
	b.Lineage, b.Token = "another", 99
	outcomes, err := s.Host.Perform(t.Context(), b)
	if err == nil || len(outcomes) != 0 {
		t.Errorf("got %v, %v, want a refusal", outcomes, err)
	}
	wantFile(t, s.look(t, folder+"/file"), "ours", "0600", s.Owner)
}

// testObserveChangesNothing checks that an observation leaves no trace, not even of
// kubewright.
func testObserveChangesNothing(t *testing.T, s *subject) {
	s.observe(t, state.Query{Files: []state.FileQuery{{Path: folder + "/x", Read: state.ReadContent}}, Secrets: []string{folder + "/y"}, Preflight: true})
	r := s.observe(t, state.Query{Files: []state.FileQuery{{Path: "/var/lib/kubewright"}, {Path: folder}}})
	for path, f := range r.Files {
		if f.Exists {
			t.Errorf("%s is there: %+v", path, f)
		}
	}
}

// testRoom checks that every observation reports whether there is room for a change, and no
// other answers that belong to Preflight.
func testRoom(t *testing.T, s *subject) {
	r := s.observe(t, state.Query{})
	for _, name := range []string{"etc_free_kib", "var_lib_free_kib"} {
		if kib, err := strconv.ParseInt(r.Preflight[name], 10, 64); err != nil || kib <= 0 {
			t.Errorf("%s is %q", name, r.Preflight[name])
		}
	}
	if writable := r.Preflight["etc_writable"]; writable != "true" && writable != "false" || len(r.Preflight) != 3 {
		t.Errorf("got %v", r.Preflight)
	}
}

func testParallel(t *testing.T, s *subject) {
	s.do(t, s.write(folder+"/file", "x"))
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			if i%3 == 0 {
				path := fmt.Sprintf("%s/file-%d", folder, i)
				if _, err := s.Host.Perform(t.Context(), s.batch(s.write(path, "y"))); err != nil {
					t.Error(err)
				}
				return
			}
			r, err := s.Host.Observe(t.Context(), state.Query{Files: []state.FileQuery{{Path: folder + "/file", Read: state.ReadContent}}})
			if err != nil || string(r.Files[folder+"/file"].Content) != "x" {
				t.Errorf("got %v, %v", r, err)
			}
		})
	}
	wg.Wait()
	if f := s.look(t, folder); f.Entries != 5 {
		t.Errorf("%d files, want 5", f.Entries)
	}
}

// privateKey is a key, publicKey the identity of its public half.
const (
	privateKey = `-----BEGIN EC PRIVATE KEY-----
MHcCAQEEIF+DoZDj413N8Ep5fElsCA07vmiJX5dOH+CQwK1biEO8oAoGCCqGSM49
AwEHoUQDQgAEywrGHbzBOIwaIjbOb7eMzPikoFubBf4hMF+tJVuGEYMu70rrkz+v
awxYAtYlZuQ2WjB+YocitDF0qqsp5Y9uvA==
-----END EC PRIVATE KEY-----
`
	publicKey = "b347f8fb444c9956a8bebac8590f70fd488e2983c6e7f9a8c074806138d2881e"
)

// testKeys checks that an observation reports whether a file has a private key and, if that
// can be derived, the identity of its public key, and nothing else of the key.
func testKeys(t *testing.T, s *subject) {
	const begin, end = "-----BEGIN EC PRIVATE KEY-----\n", "-----END EC PRIVATE KEY-----\n"
	files := map[string]struct {
		content string
		held    bool
	}{
		folder + "/real.key":    {privateKey, true},
		folder + "/whole.key":   {begin + "AAAA\n" + end, true},
		folder + "/behind.key":  {"-----BEGIN EC PARAMETERS-----\nBggq\n-----END EC PARAMETERS-----\n" + begin + "AAAA\n" + end, true},
		folder + "/garbage.key": {"garbage\n", false},
		folder + "/empty.key":   {"", false},
		folder + "/cut.key":     {begin + "AAAA\n", false},
		folder + "/public.key":  {"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", false},
	}
	var q state.Query
	ops := []planner.Operation{planner.EnsureDirectory{Path: folder + "/folder.key", Mode: "0700", Owner: s.Owner}}
	for path, f := range files {
		ops = append(ops, s.write(path, f.content))
		q.Files = append(q.Files, state.FileQuery{Path: path, Read: state.ReadKey})
	}
	s.do(t, ops...)
	q.Files = append(q.Files, state.FileQuery{Path: folder + "/folder.key", Read: state.ReadKey}, state.FileQuery{Path: folder + "/none.key", Read: state.ReadKey})
	r := s.observe(t, q)
	for path, want := range files {
		got := r.Files[path]
		if !got.Exists || (got.Invalid == "") != want.held || got.SHA256 != digest(want.content) || got.Content != nil {
			t.Errorf("%s: %+v, want a key: %t", path, got, want.held)
		}
		if public := []string{publicKey}; slices.Equal(got.PublicKeys, public) != (want.content == privateKey) {
			t.Errorf("%s: it was identified as that of %v", path, got.PublicKeys)
		}
	}
	if got := r.Files[folder+"/folder.key"]; !got.Exists || got.Invalid == "" {
		t.Errorf("a folder holds a key: %+v", got)
	}
	if got := r.Files[folder+"/none.key"]; got.Exists || got.Invalid != "" {
		t.Errorf("an absent file is reported: %+v", got)
	}
}
