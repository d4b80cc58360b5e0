package hosttest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// artifact returns an artifact with this content; opened counts how often it is read.
func artifact(content []byte, opened *int) providers.Artifact {
	return providers.Artifact{Size: int64(len(content)), Open: func() (io.ReadCloser, error) {
		*opened++
		return io.NopCloser(bytes.NewReader(content)), nil
	}}
}

// archive returns a tar.gz of alternating names and contents.
func archive(t *testing.T, pairs ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	for i := 0; i < len(pairs); i += 2 {
		if err := w.WriteHeader(&tar.Header{Name: pairs[i], Mode: 0o700, Size: int64(len(pairs[i+1])), Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, pairs[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// send performs operations that need an artifact and returns which of them changed
// something.
func (s *subject) send(t *testing.T, content []byte, ops ...planner.Operation) ([]bool, error) {
	t.Helper()
	b := s.batch(ops...)
	opened := 0
	b.Artifacts = map[string]providers.Artifact{"a": artifact(content, &opened)}
	outcomes, err := s.Host.Perform(t.Context(), b)
	var changed []bool
	for _, o := range outcomes {
		changed = append(changed, o.Changed)
	}
	return changed, err
}

// testUpload checks that a file arrives complete, with its mode, even if it is large, and
// that an existing one is left alone.
func testUpload(t *testing.T, s *subject) {
	large := []byte(strings.Repeat("0123456789abcde\n", 1<<16*3+7)) // just above 3 MiB: several blocks and a rest
	path := folder + "/bin/kubelet"
	op := planner.UploadArtifact{Artifact: "a", SHA256: digest(string(large)), Files: []planner.ArtifactFile{{Path: path, Mode: "0755", SHA256: digest(string(large))}}}
	for _, want := range []bool{true, false} {
		got, err := s.send(t, large, op, s.write(folder+"/behind", "x"))
		if err != nil || len(got) != 2 || got[0] != want {
			t.Fatalf("changed %v, %v; want %v", got, err, want)
		}
	}
	f := s.observe(t, state.Query{Files: []state.FileQuery{{Path: path, Read: state.ReadDigest}}}).Files[path]
	if f.SHA256 != op.SHA256 || f.Mode != "0755" || f.Size != int64(len(large)) {
		t.Errorf("got %+v", f)
	}
	wantFile(t, s.look(t, folder+"/behind"), "x", "0600", s.Owner)
}

// testUnpack checks that the requested members of an archive are installed one by one, and
// the others are not.
func testUnpack(t *testing.T, s *subject) {
	content := archive(t, "./bridge", "BRIDGE", "bin/ctr", "CTR", "LICENSE", "text")
	file := func(member, name, content string) planner.ArtifactFile {
		return planner.ArtifactFile{Member: member, Path: folder + "/" + name, Mode: "0755", SHA256: digest(content)}
	}
	op := planner.UploadArtifact{Artifact: "a", SHA256: digest(string(content)), Files: []planner.ArtifactFile{
		file("./bridge", "bin/bridge", "BRIDGE"), file("bin/ctr", "local bin/ctr", "CTR"),
	}}
	for _, want := range []bool{true, false} {
		if got, err := s.send(t, content, op); err != nil || !slices.Equal(got, []bool{want}) {
			t.Fatalf("changed %v, %v; want %v", got, err, want)
		}
	}
	s.wantProgram(t, "bin/bridge", "BRIDGE")
	s.wantProgram(t, "local bin/ctr", "CTR")
	if s.look(t, folder+"/LICENSE").Exists || s.look(t, folder).Entries != 2 {
		t.Error("more than was asked for was unpacked")
	}
	// A member that differs is replaced.
	s.do(t, s.write(folder+"/bin/bridge", "another"))
	if got, err := s.send(t, content, op); err != nil || !slices.Equal(got, []bool{true}) {
		t.Errorf("changed %v, %v", got, err)
	}
	s.wantProgram(t, "bin/bridge", "BRIDGE")
}

// wantProgram checks a file that came in an archive, by its digest.
func (s *subject) wantProgram(t *testing.T, name, content string) {
	t.Helper()
	path := folder + "/" + name
	f := s.observe(t, state.Query{Files: []state.FileQuery{{Path: path, Read: state.ReadDigest}}}).Files[path]
	if f.SHA256 != digest(content) || f.Mode != "0755" || f.Owner != s.Owner || f.Type != "file" {
		t.Errorf("%s: got %+v", name, f)
	}
}

// testWrongArtifact checks that an artifact other than the planned one is not installed,
// neither as a file nor as a member, and that existing files stay.
func testWrongArtifact(t *testing.T, s *subject) {
	content := archive(t, "tool", "TOOL")
	path := folder + "/tool"
	s.do(t, s.write(path, "before"))
	for name, op := range map[string]planner.UploadArtifact{
		"digest":  {SHA256: digest("x"), Files: []planner.ArtifactFile{{Path: path, Mode: "0755", SHA256: digest("x")}}},
		"archive": {SHA256: digest("x"), Files: []planner.ArtifactFile{{Member: "tool", Path: path, Mode: "0755", SHA256: digest("TOOL")}}},
		"member":  {SHA256: digest(string(content)), Files: []planner.ArtifactFile{{Member: "tool", Path: path, Mode: "0755", SHA256: digest("x")}}},
		"absent":  {SHA256: digest(string(content)), Files: []planner.ArtifactFile{{Member: "other", Path: path, Mode: "0755", SHA256: digest("TOOL")}}},
		"mode":    {SHA256: digest(string(content)), Files: []planner.ArtifactFile{{Member: "tool", Path: path, Mode: "rwx", SHA256: digest("TOOL")}}},
		"path":    {SHA256: digest(string(content)), Files: []planner.ArtifactFile{{Member: "tool", Path: "tool", Mode: "0755", SHA256: digest("TOOL")}}},
	} {
		op.Artifact = "a"
		if _, err := s.send(t, content, op); err == nil {
			t.Errorf("%s: it was accepted", name)
		}
		wantFile(t, s.look(t, path), "before", "0600", s.Owner)
	}
	if f := s.look(t, folder); f.Entries != 1 {
		t.Errorf("%d entries, want the one file", f.Entries)
	}
	// The host is still usable.
	good := planner.UploadArtifact{Artifact: "a", SHA256: digest(string(content)), Files: []planner.ArtifactFile{{Member: "tool", Path: path, Mode: "0755", SHA256: digest("TOOL")}}}
	if got, err := s.send(t, content, good); err != nil || !slices.Equal(got, []bool{true}) {
		t.Errorf("changed %v, %v", got, err)
	}
}

// testPreserve checks that the original file at a path is kept once, and is restored
// unchanged.
func testPreserve(t *testing.T, s *subject) {
	path, none := folder+"/config.toml", folder+"/none"
	first := s.write(path, "the site's\n")
	first.Mode = "0640"
	s.do(t, first)
	keep, back := planner.Preserve{Path: path}, planner.Restore{Path: path}
	wantChanged(t, s.do(t, keep, keep, planner.Preserve{Path: none}), true, false, false)
	// Our own file is not taken for the original one.
	wantChanged(t, s.do(t, s.write(path, "ours\n"), keep), true, false)
	wantChanged(t, s.do(t, back, back, planner.Restore{Path: none}), true, false, false)
	wantFile(t, s.look(t, path), "the site's\n", "0640", s.Owner)
	if s.look(t, none).Exists {
		t.Error("a file was written where none was before")
	}
	// The same if the file is gone in the meantime.
	s.do(t, keep, planner.RemovePath{Path: path}, back)
	wantFile(t, s.look(t, path), "the site's\n", "0640", s.Owner)
	if _, err := s.Host.Perform(t.Context(), s.batch(planner.Preserve{Path: folder})); err == nil {
		t.Error("a folder was kept")
	}
	testPreserveAny(t, s)
}

// testPreserveAny checks that a path where nothing was, and a folder, are restored as well: folders that
// were made go with what is in them, and one with something else in it stays.
func testPreserveAny(t *testing.T, s *subject) {
	outer, inner, file := folder+"/any", folder+"/any/inner", folder+"/any/inner/notice"
	any := func(p string) planner.Preserve { return planner.Preserve{Path: p, Any: true} }
	back := func(p string) planner.Restore { return planner.Restore{Path: p} }
	wantChanged(t, s.do(t, any(file), any(file), s.write(file, "mine\n"), any(file)), true, false, true, false)
	wantChanged(t, s.do(t, back(file), back(file)), true, false)
	if s.look(t, file).Exists || s.look(t, outer).Exists {
		t.Error("what was not there before is still there")
	}
	// A file that was there: its copy is restored, and its folder stays.
	first := s.write(file, "the site's\n")
	s.do(t, first, any(file), s.write(file, "mine\n"), back(file))
	wantFile(t, s.look(t, file), "the site's\n", first.Mode, s.Owner)
	s.do(t, planner.RemovePath{Path: outer})
	// A folder that was not there goes only when it is empty.
	s.do(t, any(outer), planner.EnsureDirectory{Path: outer, Mode: "0750", Owner: s.Owner}, s.write(outer+"/data", "data\n"), back(outer))
	if !s.look(t, outer+"/data").Exists {
		t.Error("a folder was removed with what was in it")
	}
	// One that was there gets its mode back, also after a file in it.
	s.do(t, planner.RemovePath{Path: outer + "/data"}, planner.EnsureDirectory{Path: inner, Mode: "0700", Owner: s.Owner})
	s.do(t, any(inner), planner.EnsureDirectory{Path: inner, Mode: "0755", Owner: s.Owner}, any(file), s.write(file, "mine\n"))
	wantChanged(t, s.do(t, back(file), back(inner), back(inner)), true, true, false)
	if got := s.look(t, inner); got.Mode != "0700" || s.look(t, file).Exists {
		t.Errorf("the folder has mode %s", got.Mode)
	}
}
