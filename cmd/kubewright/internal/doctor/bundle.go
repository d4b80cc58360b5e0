package doctor

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/session"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/listing"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/safefile"
)

const bundleReadme = `A support bundle of kubewright.

doctor.txt, doctor.json   what does not run on the hosts, and why
version.json              of kubewright and of this machine
configuration/            the files of the configuration
state.json                what the last apply recorded
hosts/                    facts of each host that answered
clusters/                 nodes, static pods and members of etcd, as API and etcd report them

Left out: values of variables, sensitive values, keys, tokens and passwords, the key of the state's
fingerprints, machine IDs, and the content of files on hosts. Logs are the last lines of what does
not run. Read the files before you send them.
`

// A bundle is the files of a support request, by name.
type bundle struct {
	secrets *state.Redactor
	names   []string
	files   map[string][]byte
}

// add adds a text without the secrets in it.
func (b *bundle) add(name, text string) {
	b.names = append(b.names, name)
	b.files[name] = []byte(b.text(text))
}

// addJSON adds a value as JSON.
func (b *bundle) addJSON(name string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	var plain any
	if err := json.Unmarshal(text, &plain); err != nil {
		return err
	}
	if text, err = json.MarshalIndent(b.clean(plain), "", "  "); err != nil {
		return err
	}
	b.names = append(b.names, name)
	b.files[name] = append(text, '\n')
	return nil
}

// clean returns a value of JSON without the secrets in it: none in a text, and no text at all where
// its name, or the text before it in a pair, says that it is one.
func (b *bundle) clean(v any) any {
	switch v := v.(type) {
	case string:
		return b.text(v)
	case []any:
		if name, ok := first(v).(string); ok && len(v) == 2 && credentialName().MatchString(name) {
			return []any{name, removed}
		}
		for i := range v {
			v[i] = b.clean(v[i])
		}
	case map[string]any:
		for name, inner := range v {
			if _, text := inner.(string); text && credentialName().MatchString(name) {
				v[name] = removed
				continue
			}
			v[name] = b.clean(inner)
		}
	}
	return v
}

func first(list []any) any {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

// text returns a text without the secrets of the configuration, and without what looks like a
// credential although nothing says that it is one.
func (b *bundle) text(text string) string {
	text = b.secrets.Text(state.WithoutPasswords(text))
	for _, pattern := range credentials() {
		text = pattern.ReplaceAllString(text, "${1}"+removed)
	}
	return text
}

const removed = "(credential removed)"

// credentialName matches the name of a value that is a credential.
var credentialName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:password|passwd|secret|token|authorization)$`)
})

// credentials match credentials; the first group is kept.
var credentials = sync.OnceValue(func() []*regexp.Regexp {
	var out []*regexp.Regexp
	for _, text := range []string{
		`()-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)`,
		`()eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*`, // JSON Web Tokens
		`()\b[a-z0-9]{6}\.[a-z0-9]{16}\b`,                     // bootstrap tokens
		`()AGE-SECRET-KEY-1[A-Z0-9]+`,
		`((?i)(?:password|passwd|secret|token|authorization)["']?\s*[:=]\s*["']?(?:bearer\s+)?)[^\s,;"'{}\[\]]+`,
	} {
		out = append(out, regexp.MustCompile(text))
	}
	return out
})

// writeBundle writes what helps to find the cause of a problem from a distance into a file.
func writeBundle(s *session.Session, v *topology.Fleet, found []listing.Examined, file string) error {
	b := &bundle{secrets: s.Config.Secrets, files: map[string][]byte{}}
	var text, lines bytes.Buffer
	err := errors.Join(listing.Doctor(&text, found, ui.Options{}), listing.DoctorJSON(&lines, found, ui.Options{}))
	b.add("README.txt", bundleReadme)
	b.add("doctor.txt", text.String())
	err = errors.Join(err, b.addJSON("doctor.json", json.RawMessage(lines.Bytes())), b.addJSON("version.json", map[string]string{
		"kubewright": console.Version, "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH, "written": s.Now().UTC().Format(time.RFC3339),
	}), b.addConfiguration(s), b.addState(s.Recorded), b.addObserved(v))
	if err != nil {
		return err
	}
	archive, err := b.archive(s.Now())
	if err != nil {
		return err
	}
	return safefile.WriteFile(s.Named(file), archive, 0o600)
}

// addConfiguration adds the files of the configuration, with their secrets covered.
func (b *bundle) addConfiguration(s *session.Session) error {
	entries, err := os.ReadDir(s.Folder())
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := e.Name()
		if !e.Type().IsRegular() || !strings.HasSuffix(name, ".hcl") && !strings.HasSuffix(name, ".hcl.json") {
			continue
		}
		covered := bytes.ReplaceAll(s.SourceText(name), []byte{diag.Covered}, []byte("*"))
		b.add(path.Join("configuration", filepath.Base(name)), string(covered))
	}
	return nil
}

// addState adds the recorded state without the key of its fingerprints.
func (b *bundle) addState(recorded *state.State) error {
	if recorded == nil {
		return nil
	}
	shown := *recorded
	shown.FingerprintKey = ""
	shown.Nodes = map[state.Target]*state.RecordedNode{}
	for t, n := range recorded.Nodes {
		n := *n
		n.MachineID = ""
		shown.Nodes[t] = &n
	}
	return b.addJSON("state.json", shown)
}

// addObserved adds facts of hosts, and what API and etcd report of nodes, static pods and members.
func (b *bundle) addObserved(v *topology.Fleet) error {
	var errs []error
	for t, r := range v.Reports {
		if r != nil {
			facts := r.Facts
			facts.MachineID, facts.BootID = "", ""
			errs = append(errs, b.addJSON("hosts/"+fileName(t.String())+".json", facts))
		}
	}
	for label, r := range v.ClusterReports {
		if r == nil {
			continue
		}
		nodes := map[string]state.NodeReport{}
		for name, n := range r.Nodes {
			n.Annotations = nil // which anything may have written
			nodes[name] = n
		}
		errs = append(errs, b.addJSON("clusters/"+fileName(label)+".json", map[string]any{
			"version": r.Version, "nodes": nodes, "static_pods": r.StaticPods, "etcd_members": r.Members,
		}))
	}
	return errors.Join(errs...)
}

// fileName returns a name without signs that a file system may not take.
func fileName(text string) string {
	return strings.Trim(regexp.MustCompile(`[^A-Za-z0-9.-]+`).ReplaceAllString(text, "_"), "_")
}

// archive returns the files as a compressed archive.
func (b *bundle) archive(now time.Time) ([]byte, error) {
	var out bytes.Buffer
	packed := gzip.NewWriter(&out)
	files := tar.NewWriter(packed)
	slices.Sort(b.names)
	for _, name := range b.names {
		header := &tar.Header{Name: "kubewright-support/" + name, Mode: 0o600, Size: int64(len(b.files[name])), ModTime: now, Typeflag: tar.TypeReg}
		if err := files.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := files.Write(b.files[name]); err != nil {
			return nil, err
		}
	}
	err := errors.Join(files.Close(), packed.Close())
	return out.Bytes(), err
}
