package shell

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/kubewright/kubewright/config/atrest"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/pki"
	"github.com/kubewright/kubewright/state"
)

// errMoved reports that a file changed while it was read; a retry helps.
var errMoved = errors.New("a file changed while it was being read")

// reading is the parser state from answer to report. Every parser is strict: unexpected
// input is an error, never skipped, because a misunderstood host would get a wrong plan.
type reading struct {
	query    *query
	sections map[string][]section
	report   *state.Report
	// contents and digests are keyed by path below the root.
	contents map[string][]byte
	digests  map[string]string
	tooLarge map[string]bool
	// matches counts the files that match a pattern and were not requested by name.
	matches int
	// listening are sockets with a listener, those in /run as paths in /var/run.
	listening map[string]bool
}

// parseReport parses the answer to a query. began is when the answer began to arrive.
func parseReport(q *query, a answer, began time.Time) (*reading, error) {
	r := &reading{
		query: q, sections: map[string][]section{}, report: &state.Report{Files: map[string]state.FileReport{}},
		contents: map[string][]byte{}, digests: map[string]string{}, tooLarge: map[string]bool{},
	}
	for _, s := range a.sections {
		r.sections[s.words[0]] = append(r.sections[s.words[0]], s)
	}
	steps := []func() error{r.unseen, r.stats, r.links, r.targets, r.entries, r.readDigests, r.readContents, r.attach}
	if q.facts {
		steps = append(steps, func() error { return r.facts(began) }, r.addresses, r.sockets, r.files, r.units, r.simple, r.ports, r.processes, r.packages, r.slow, r.preflight, r.marks)
	}
	for _, step := range append(steps, r.secrets) {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// lines returns the lines of a section that has to occur once.
func (r *reading) lines(name string) ([]string, error) {
	s := r.sections[name]
	if len(s) != 1 {
		return nil, unexpected(name, fmt.Sprintf("%d times in the answer", len(s)))
	}
	text := strings.TrimSuffix(string(s[0].body), "\n")
	if text == "" {
		return nil, nil
	}
	return strings.Split(text, "\n"), nil
}

// unexpected is the error for input that makes no sense.
func unexpected(section, text string) error {
	return notUnderstood(providers.ErrProtocol, section, text)
}

// foreign is the error for the output of a tool that is missing or is not compatible with
// GNU's: a retry gives the same.
func foreign(section, text string) error {
	return notUnderstood(providers.ErrUnsupported, section, text)
}

func notUnderstood(kind error, section, text string) error {
	return &providers.Error{Kind: kind, Do: "understand the host's " + section, Cause: errors.New(providers.Sanitize(text, 200))}
}

// path removes the root from a path of the host.
func (r *reading) path(p string) string { return strings.TrimPrefix(p, r.query.root) }

// File types in st_mode (inode(7)).
const (
	typeMask      = 0o170000
	typeLink      = 0o120000
	typeFile      = 0o100000
	typeDirectory = 0o040000
)

// unseen fails if the host cannot determine whether files exist: if they counted as absent,
// they would be recreated.
func (r *reading) unseen() error {
	if len(r.sections["unseen"]) == 0 {
		return nil
	}
	lines, err := r.lines("unseen")
	if err != nil {
		return err
	}
	why := strings.TrimPrefix(providers.Sanitize(lines[0], 300), "stat: ")
	if len(lines) > 1 {
		why += fmt.Sprintf(", and %d more", len(lines)-1)
	}
	return fmt.Errorf("cannot tell whether files are there: %s. See what the kernel's log says of the disk (dmesg)", why)
}

func (r *reading) stats() error {
	lines, err := r.lines("stats")
	if err != nil {
		return err
	}
	asked := r.set(r.query.stats)
	for _, line := range lines {
		f := strings.SplitN(line, "|", 6)
		if len(f) != 6 || !strings.HasPrefix(f[5], "/") {
			return foreign("files", line)
		}
		raw, err1 := strconv.ParseUint(f[0], 16, 32)
		size, err2 := strconv.ParseInt(f[1], 10, 64)
		mode, err3 := strconv.ParseUint(f[2], 8, 32)
		modified, err4 := moment(f[4])
		if err := errors.Join(err1, err2, err3, err4); err != nil {
			return foreign("files", line)
		}
		file := state.FileReport{
			Exists: true, Type: "other", Size: size,
			Mode: fmt.Sprintf("%04o", mode), Modified: modified,
		}
		file.Owner, file.OwnerIDs = owners(f[3])
		switch raw & typeMask {
		case typeLink:
			file.Type = "link"
		case typeFile:
			file.Type = "file"
		case typeDirectory:
			file.Type = "directory"
		}
		if err := r.found(asked, r.path(f[5])); err != nil {
			return err
		}
		r.report.Files[r.path(f[5])] = file
	}
	return nil
}

// owners splits USER:GROUP:UID:GID. Names of hosts may have no colon.
func owners(text string) (names, ids string) {
	f := strings.SplitN(providers.Sanitize(text, 100), ":", 3)
	if len(f) < 3 {
		return strings.Join(f, ":"), ""
	}
	return f[0] + ":" + f[1], f[2]
}

func (r *reading) links() error {
	lines, err := r.lines("links")
	if err != nil {
		return err
	}
	if len(lines)%2 != 0 {
		return unexpected("links", strings.Join(lines, " "))
	}
	for i := 0; i < len(lines); i += 2 {
		p := r.path(lines[i])
		if err := r.seen("links", p); err != nil {
			return err
		}
		f := r.report.Files[p]
		f.Link = providers.Sanitize(lines[i+1], 4096)
		r.report.Files[p] = f
	}
	return nil
}

// targets records the files that links lead to. A host without such links omits the
// section.
func (r *reading) targets() error {
	if len(r.sections["targets"]) == 0 {
		return nil
	}
	lines, err := r.lines("targets")
	if err != nil {
		return err
	}
	if len(lines)%2 != 0 {
		return unexpected("links", strings.Join(lines, " "))
	}
	for i, line := range lines[:len(lines)/2] {
		f, target := strings.SplitN(line, "|", 3), lines[len(lines)/2+i]
		if len(f) != 3 || !strings.HasPrefix(target, "/") || r.report.Files[r.path(f[2])].Type != "link" {
			return unexpected("links", line+" "+target)
		}
		mode, err := strconv.ParseUint(f[0], 8, 32)
		if err != nil {
			return unexpected("links", line)
		}
		link := r.report.Files[r.path(f[2])]
		link.Target, link.TargetMode, link.TargetOwner = r.path(target), fmt.Sprintf("%04o", mode), providers.Sanitize(f[1], 100)
		r.report.Files[r.path(f[2])] = link
	}
	return nil
}

func (r *reading) entries() error {
	lines, err := r.lines("entries")
	if err != nil {
		return err
	}
	for _, line := range lines {
		number, name, ok := strings.Cut(line, " ")
		n, err := strconv.Atoi(number)
		if err != nil || !ok {
			return unexpected("folders", line)
		}
		if err := r.seen("folders", r.path(name)); err != nil {
			return err
		}
		f := r.report.Files[r.path(name)]
		f.Entries = n
		r.report.Files[r.path(name)] = f
	}
	return nil
}

func (r *reading) readDigests() error {
	lines, err := r.lines("digests")
	if err != nil {
		return err
	}
	asked := r.set(r.query.digests)
	for _, line := range lines {
		sum, name, ok := strings.Cut(line, "  ")
		if _, err := hex.DecodeString(sum); err != nil || len(sum) != 2*sha256.Size || !ok {
			return unexpected("digests", line)
		}
		if !asked[r.path(name)] {
			return r.unasked("digests", r.path(name))
		}
		r.digests[r.path(name)] = sum
	}
	return nil
}

// readContents splits the contents, which arrive as one section.
func (r *reading) readContents() error {
	if err := r.sizes(); err != nil {
		return err
	}
	s := r.sections["contents"]
	if len(s) > 1 {
		return unexpected("contents", "twice in the answer")
	}
	if len(s) == 0 { // none of the files exists
		return nil
	}
	all := make([]byte, base64.StdEncoding.DecodedLen(len(s[0].body)))
	n, err := base64.StdEncoding.Decode(all, s[0].body) // it ignores line breaks
	if err != nil {
		return unexpected("contents", err.Error())
	}
	return r.split(all[:n])
}

// split divides the contents by the sizes that precede them, and checks each against its
// digest.
func (r *reading) split(all []byte) error {
	sizes, err := parseSizes(r.sections["sizes"][0])
	if err != nil {
		return err
	}
	for _, f := range sizes {
		if f.size > contentCap {
			continue
		}
		if int64(len(all)) < f.size {
			return errMoved
		}
		content := all[:f.size:f.size]
		all = all[f.size:]
		sum := sha256.Sum256(content)
		p := r.path(f.name)
		if hex.EncodeToString(sum[:]) != r.digests[p] {
			return errMoved
		}
		r.contents[p] = content
	}
	if len(all) > 0 {
		return errMoved
	}
	return nil
}

type fileSize struct {
	size int64
	name string
}

func parseSizes(s section) ([]fileSize, error) {
	var sizes []fileSize
	for line := range strings.SplitSeq(strings.TrimSuffix(string(s.body), "\n"), "\n") {
		if line == "" {
			continue
		}
		number, name, ok := strings.Cut(line, " ")
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil || n < 0 || !ok {
			return nil, unexpected("sizes", line)
		}
		sizes = append(sizes, fileSize{n, name})
	}
	return sizes, nil
}

// sizes records which files were too large to be sent.
func (r *reading) sizes() error {
	if len(r.sections["sizes"]) == 0 {
		return unexpected("sizes", "missing in the answer")
	}
	asked := r.set(r.query.contents, r.query.certificates, r.query.keys, r.query.kubeconfig)
	for _, s := range r.sections["sizes"] {
		sizes, err := parseSizes(s)
		if err != nil {
			return err
		}
		for _, f := range sizes {
			if !asked[r.path(f.name)] {
				return r.unasked("sizes", r.path(f.name))
			}
			r.tooLarge[r.path(f.name)] = f.size > contentCap
		}
	}
	return nil
}

// attach adds digests, contents, certificates, kubeconfigs and the identities of keys to
// the files' reports.
func (r *reading) attach() error {
	certificates, err := r.texts("certificates", r.query.certificates)
	if err != nil {
		return err
	}
	kubeconfigs, err := r.texts("kubeconfigs", r.query.kubeconfig)
	if err != nil {
		return err
	}
	keys, err := r.holders()
	if err != nil {
		return err
	}
	for _, f := range r.query.Files {
		report, ok := r.report.Files[f.Path]
		if !ok {
			r.report.Files[f.Path] = report // it was observed not to exist
			continue
		}
		if f.Read != state.ReadStat {
			report.SHA256 = r.digests[f.Path]
		}
		switch f.Read {
		case state.ReadContent:
			report.Content = r.contents[f.Path]
		case state.ReadCertificate, state.ReadAuthority:
			if report.Certificates, err = pki.ParseCertificates(certificates[f.Path]); err == nil {
				report.Content = certificates[f.Path] // until pki.Link has processed it
			}
		case state.ReadKey:
			public, held := keys[f.Path]
			if !held {
				err = errNoKey
			}
			report.PublicKeys = pki.PublicOf(public)
		case state.ReadPublicKeys:
			report.PublicKeys, err = pki.ParsePublicKeys(r.contents[f.Path])
		case state.ReadEncryption:
			var file atrest.File
			if file, err = atrest.Parse(r.contents[f.Path]); err == nil {
				report.Encryption = file.Info()
			}
		case state.ReadKubeconfig:
			report.Kubeconfig, err = pki.ParseKubeconfig(kubeconfigs[f.Path])
		}
		if err != nil {
			report.Invalid = providers.Sanitize(err.Error(), 200)
		}
		if r.tooLarge[f.Path] && f.Read != state.ReadDigest && f.Read != state.ReadStat {
			report.Invalid = fmt.Sprintf("larger than %d bytes", contentCap)
		}
		r.report.Files[f.Path], err = report, nil
	}
	pki.Link(r.report.Files)
	for _, f := range r.query.Files {
		if report := r.report.Files[f.Path]; f.Read == state.ReadAuthority && len(report.Certificates) > 0 {
			report.Content = pki.Blocks(certificates[f.Path])
			r.report.Files[f.Path] = report
		}
	}
	return nil
}

var errNoKey = errors.New("no private key in the file")

// holders returns the files that hold a private key, each with the public part that the
// host reports.
func (r *reading) holders() (map[string]string, error) {
	out := map[string]string{}
	if len(r.sections["keys"]) == 0 {
		return out, nil
	}
	lines, err := r.lines("keys")
	asked := r.set(r.query.keys)
	for _, line := range lines {
		public, name, _ := strings.Cut(line, " ")
		if !asked[r.path(name)] {
			return nil, r.unasked("keys", r.path(name))
		}
		out[r.path(name)] = public
	}
	return out, err
}

// texts returns the excerpts of several files, each after a line ">PATH".
func (r *reading) texts(name string, paths []string) (map[string][]byte, error) {
	out := map[string][]byte{}
	if len(r.sections[name]) == 0 {
		return out, nil
	}
	lines, err := r.lines(name)
	if err != nil {
		return nil, err
	}
	asked, current := r.set(paths), ""
	for _, line := range lines {
		if p, ok := strings.CutPrefix(line, ">"); ok {
			if current = r.path(p); !asked[current] {
				return nil, r.unasked(name, current)
			}
			continue
		}
		if current == "" {
			return nil, unexpected(name, line)
		}
		out[current] = append(append(out[current], line...), '\n')
	}
	return out, nil
}

func (r *reading) secrets() error {
	for _, p := range r.query.Secrets {
		content, ok := r.contents[p]
		if !ok {
			continue
		}
		if r.report.Secrets == nil {
			r.report.Secrets = map[string]state.Secret{}
		}
		r.report.Secrets[p] = state.NewSecret(content)
	}
	return nil
}

// files removes the files that were read for facts only, and converts them into facts.
func (r *reading) files() error {
	asked := map[string]bool{}
	for _, f := range r.query.Files {
		asked[f.Path] = true
	}
	f := &r.report.Facts
	for _, dir := range caDirs {
		if r.report.Files[dir].Exists {
			f.CADirs = append(f.CADirs, dir)
		}
		if !asked[dir] && !r.globbed(dir) {
			delete(r.report.Files, dir)
		}
	}
	f.MachineID = oneWord(r.contents[machineIDFile])
	f.OS, f.OSVersion = parseOSRelease(r.contents[osReleaseFile])
	return nil
}
