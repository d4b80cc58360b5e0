package artifacts

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/state/safefile"
)

// file reads one file: its checksum, and its content.
func (r *reader) file(name string) (config.Artifact, error) {
	n, _ := recognise(name)
	if n.contrary {
		return n.Artifact, fmt.Errorf("its folder says another architecture than its name; move it")
	}
	f, err := safefile.OpenLinked(filepath.Join(r.dir, filepath.FromSlash(name)))
	if err != nil {
		return n.Artifact, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return n.Artifact, err
	}
	path, err := filepath.Abs(f.Name())
	if err != nil {
		return n.Artifact, err
	}
	if known, ok := r.memory.recall(path, info); ok && known.SHA256 == r.sums[name] {
		return known, nil
	}
	if err := r.readFile(&n, f); err != nil {
		return n.Artifact, err
	}
	n.Size = info.Size()
	r.memory.keep(path, info, n.Artifact)
	return n.Artifact, nil
}

// readFile reads all of a file.
func (r *reader) readFile(n *named, f io.Reader) error {
	sum := sha256.New()
	in := bufio.NewReaderSize(io.TeeReader(f, sum), 1<<20)
	// A problem with the content is reported only if the checksum is right.
	problem := n.contents(in)
	if _, err := io.Copy(io.Discard, in); err != nil {
		return err
	}
	n.SHA256 = hex.EncodeToString(sum.Sum(nil))
	if want := r.sums[n.Name]; n.SHA256 != want {
		return fmt.Errorf("its SHA-256 is %s, and %s says %s. Fetch it again, and compare it with what its project publishes", n.SHA256, SumsFile, want)
	}
	for i := range n.Programs {
		if n.Programs[i].Member == "" {
			n.Programs[i].SHA256 = n.SHA256
		}
	}
	return problem
}

// contents reads the content of the file.
func (n *named) contents(in *bufio.Reader) error {
	switch {
	case n.unpacked != nil:
		return n.readPrograms(in)
	case n.Kind == config.ArtifactImages:
		return n.readImages(in)
	case n.Kind == config.ArtifactConfig:
		return nil
	}
	name := path.Base(n.Name)
	if n.Kind == config.ArtifactRunc {
		name = "runc"
	}
	// Peeked bytes are valid only until the next read.
	head, _ := in.Peek(elfHead)
	problem := n.checkProgram(head)
	version, err := n.versionOf(in)
	n.Programs = []config.Program{{Name: name, Version: version}}
	return errors.Join(problem, err)
}

// versionOf reads a program to its end, and returns the version in a Kubernetes program.
func (n *named) versionOf(in io.Reader) (string, error) {
	var scan versionScan
	var to io.Writer = io.Discard
	if n.Kind == config.ArtifactKubernetes {
		to = &scan
	}
	_, err := io.Copy(to, in)
	return scan.done(), err
}

// readPrograms reads an archive of programs.
func (n *named) readPrograms(in io.Reader) error {
	z, err := gzip.NewReader(in)
	if err != nil {
		return fmt.Errorf("it is no archive: %w", err)
	}
	for archive := tar.NewReader(z); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("it is no whole archive: %w", err)
		}
		member := strings.TrimPrefix(header.Name, "./")
		if header.Typeflag != tar.TypeReg || path.Clean(member) != member || !n.unpacked(member) {
			continue
		}
		sum := sha256.New()
		body := bufio.NewReaderSize(io.TeeReader(archive, sum), 1<<16)
		head, _ := body.Peek(elfHead)
		if err := n.checkProgram(head); err != nil {
			return fmt.Errorf("%s in it: %w", member, err)
		}
		version, err := n.versionOf(body)
		if err != nil {
			return fmt.Errorf("it is no whole archive: %w", err)
		}
		n.Programs = append(n.Programs, config.Program{Name: path.Base(member), Member: header.Name, SHA256: hex.EncodeToString(sum.Sum(nil)), Version: version})
	}
	if len(n.Programs) == 0 {
		return errors.New("none of the programs that are expected in such an archive is in it")
	}
	return nil
}

// elfHead is the number of bytes of a program that contain its architecture.
const elfHead = 20

// machines are the ELF numbers of architectures (elf(5), e_machine).
var machines = map[uint16]string{62: "amd64", 183: "arm64", 21: "ppc64le", 22: "s390x"}

// checkProgram requires a Linux program for the architecture that the file is filed under; a
// file that is filed under none gets the program's.
func (n *named) checkProgram(head []byte) error {
	if len(head) < elfHead || !bytes.HasPrefix(head, []byte("\x7fELF")) {
		return errors.New("it is no program for Linux")
	}
	var order binary.ByteOrder = binary.LittleEndian
	if head[5] == 2 {
		order = binary.BigEndian
	}
	number := order.Uint16(head[18:])
	arch := machines[number]
	switch {
	case arch == "":
		return fmt.Errorf("it is a program for a machine that there is no Kubernetes for (ELF machine %d)", number)
	case n.Arch == "":
		n.Arch = arch
	case n.Arch != arch:
		return fmt.Errorf("it is a program for %s, and filed under %s", arch, n.Arch)
	}
	return nil
}
