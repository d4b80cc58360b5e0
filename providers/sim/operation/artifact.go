package operation

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/sim/file"
	"github.com/kubewright/kubewright/providers/sim/machine"
)

// uploadArtifact installs a file, or members of an archive. It reads and checks the data as
// a real host does, so that a plan for other files fails here as well.
func (do Operations) uploadArtifact(op planner.UploadArtifact, batch providers.Batch) (bool, error) {
	what := "upload " + op.Artifact
	need := slices.DeleteFunc(slices.Clone(op.Files), func(f planner.ArtifactFile) bool {
		present := do.m.File(file.Clean(f.Path))
		return present.IsRegular() && present.SHA256 == f.SHA256 && present.EffectiveMode() == f.Mode && present.EffectiveOwner() == file.RootOwner
	})
	if len(need) == 0 {
		return false, nil
	}
	if do.m.Conditions.DiskFull {
		return false, do.m.CommandError(what, 1, "write error: No space left on device")
	}
	contents, err := receive(op.Artifact, op.SHA256, batch)
	if err != nil {
		return false, do.m.CommandError(what, 1, err.Error())
	}
	for _, f := range need {
		got, there := contents[f.Member]
		if !there || got.digest != f.SHA256 {
			return false, do.m.CommandError(what, 1, f.Member+" in the archive is not what was planned")
		}
		content := file.File{SHA256: f.SHA256, Size: got.size}
		if _, err := do.m.Write(f.Path, content.WithAccess(f.Mode, "")); err != nil {
			return false, err
		}
		version := versionInName.FindString(op.Artifact)
		if version == "" {
			version = got.version
		}
		machine.SetText(&do.m.Versions, file.Clean(f.Path), version, "")
	}
	do.servers.Advance(machine.TimeUpload)
	return true, nil
}

// received is one file that arrived.
type received struct {
	digest string
	size   int64
	// version is the version that the program would print.
	version string
}

// versionInProgram matches the version in the content of a simulated program.
var versionInProgram = regexp.MustCompile(`Kubernetes v(\d+\.\d+\.\d+)`)

// receive reads an artifact: the file itself under the empty name, and the members of an
// archive under theirs.
func receive(name, digest string, batch providers.Batch) (map[string]received, error) {
	a, ok := batch.Artifacts[name]
	if !ok {
		return nil, fmt.Errorf("internal error: missing artifact %s", name)
	}
	r, err := a.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	sum := sha256.New()
	in := bufio.NewReader(io.TeeReader(r, sum))
	out := map[string]received{}
	if head, _ := in.Peek(2); bytes.Equal(head, []byte{0x1f, 0x8b}) {
		if err := unpack(in, out); err != nil {
			return nil, err
		}
	} else if out[""], err = take(in); err != nil {
		return nil, err
	}
	if _, err := io.Copy(io.Discard, in); err != nil {
		return nil, err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != digest {
		return nil, fmt.Errorf("the data did not arrive whole: its digest is %s, planned was %s", got, digest)
	}
	return out, nil
}

func unpack(r io.Reader, out map[string]received) error {
	z, err := gzip.NewReader(r)
	if err != nil {
		return err
	}
	for archive := tar.NewReader(z); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if header.Typeflag == tar.TypeReg {
			if out[header.Name], err = take(archive); err != nil {
				return err
			}
		}
	}
}

// take reads one file. In a large one it searches only the beginning for a version.
func take(r io.Reader) (received, error) {
	sum := sha256.New()
	var head bytes.Buffer
	size, err := io.Copy(io.MultiWriter(sum, &head), io.LimitReader(r, 1<<20))
	if err != nil {
		return received{}, err
	}
	rest, err := io.Copy(sum, r)
	out := received{digest: hex.EncodeToString(sum.Sum(nil)), size: size + rest}
	if v := versionInProgram.FindSubmatch(head.Bytes()); v != nil {
		out.version = string(v[1])
	}
	return out, err
}

// versionInName matches a version in the name of an artifact.
var versionInName = regexp.MustCompile(`\d+\.\d+\.\d+`)
