package observation

import (
	"encoding/pem"
	"path"
	"strings"

	"github.com/kubewright/kubewright/config/atrest"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers/sim/file"
	"github.com/kubewright/kubewright/state"
)

func (ob Observation) file(p string, read state.Read) state.FileReport {
	f := ob.m.File(p)
	if f == nil {
		f = ob.preserved(p)
	}
	if f == nil {
		return state.FileReport{}
	}
	r := state.FileReport{Exists: true, Type: f.Type, Mode: f.EffectiveMode(), Size: f.Size, Link: f.Link, Modified: f.Modified}
	r.Owner, r.OwnerIDs = owners(f.EffectiveOwner())
	if r.Type == "" {
		r.Type = "file"
	}
	if f.IsDir() {
		r.Entries = len(ob.m.Children(p))
	}
	if f.Type == file.Link {
		target := ""
		if f, target = ob.m.Follow(p); f.IsRegular() {
			r.Target, r.TargetMode, r.TargetOwner = target, f.EffectiveMode(), f.EffectiveOwner()
		}
	}
	if read == state.ReadStat {
		return r
	}
	if !f.IsRegular() {
		if read == state.ReadKey {
			r.Invalid = noKey
		}
		return r
	}
	r.SHA256 = f.SHA256
	ob.content(f, read, &r)
	return r
}

// owners returns an owner as stat shows it, by name and by ID. Simulated machines have no name for an ID,
// and of users with a name but root the ID of the first one.
func owners(owner string) (names, ids string) {
	user, group, _ := strings.Cut(owner, ":")
	uid, gid := "1000", "1000"
	for _, part := range []struct{ name, id *string }{{&user, &uid}, {&group, &gid}} {
		switch {
		case *part.name == "root":
			*part.id = "0"
		case strings.Trim(*part.name, "0123456789") == "":
			*part.id, *part.name = *part.name, "UNKNOWN"
		}
	}
	return user + ":" + group, uid + ":" + gid
}

// preserved returns the copy or record of what was at a path before kubewright wrote there, or nil.
func (ob Observation) preserved(p string) *file.File {
	if original, ok := strings.CutPrefix(p, planner.PreservedCopies); ok {
		return ob.m.Before[original]
	}
	if id, ok := strings.CutPrefix(p, planner.PreservedRecords+"/"); ok {
		for original := range ob.m.Was {
			if planner.PreservedID(original) == id {
				return &file.File{}
			}
		}
	}
	return nil
}

// content adds the parts of the content that the query reads.
func (ob Observation) content(f *file.File, read state.Read, r *state.FileReport) {
	switch read {
	case state.ReadContent:
		r.Content = ob.servers.Text(f)
	case state.ReadCertificate, state.ReadAuthority:
		if f.Record == nil || len(f.Record.Certificates) == 0 {
			r.Invalid = "no certificate in the file"
			return
		}
		r.Certificates = append([]state.CertificateInfo(nil), f.Record.Certificates...)
		if read == state.ReadAuthority {
			r.Content = ob.servers.Text(f)
		}
	case state.ReadKey:
		if key := ob.privateKey(f); key != "" {
			r.PublicKeys = []string{key}
		} else if !ob.holdsKey(f) {
			r.Invalid = noKey
		}
	case state.ReadPublicKeys:
		if r.PublicKeys = f.Record.PublicKeys(); r.PublicKeys == nil {
			r.Invalid = "no public key in the file"
		}
	case state.ReadEncryption:
		config, err := atrest.Parse(ob.servers.Text(f))
		if err != nil {
			r.Invalid = err.Error()
			return
		}
		r.Encryption = config.Info()
	case state.ReadKubeconfig:
		if f.Record == nil || f.Record.Kubeconfig == nil {
			r.Invalid = "not a kubeconfig"
			return
		}
		k := *f.Record.Kubeconfig
		if k.Client != nil {
			client := *k.Client
			k.Client = &client
		}
		r.Kubeconfig = &k
	}
}

const noKey = "no private key in the file"

// privateKey returns the identity of the private key in a file; empty if it is unknown.
func (ob Observation) privateKey(f *file.File) string {
	r := f.Record
	if r == nil {
		r, _ = file.Import(ob.servers.Content(f), nil)
	}
	if r == nil {
		return ""
	}
	return r.Key
}

// holdsKey reports whether a file has a private key.
func (ob Observation) holdsKey(f *file.File) bool {
	if f.Record != nil {
		return f.Record.Key != ""
	}
	for block, rest := pem.Decode(ob.servers.Content(f)); block != nil; block, rest = pem.Decode(rest) {
		if strings.HasSuffix(block.Type, "PRIVATE KEY") {
			return true
		}
	}
	return false
}

// nameIssuers keeps the issuer's digest only if its certificate is in the same report, as
// on a host that has to find it by verifying.
func nameIssuers(r *state.Report) {
	known := map[string]bool{}
	for _, f := range r.Files {
		for _, c := range f.Certificates {
			if c.IsCA {
				known[c.KeyDigest] = true
			}
		}
	}
	for _, f := range r.Files {
		for i := range f.Certificates {
			if !known[f.Certificates[i].IssuerKeyDigest] {
				f.Certificates[i].IssuerKeyDigest = ""
			}
		}
		if f.Kubeconfig != nil && f.Kubeconfig.Client != nil && !known[f.Kubeconfig.Client.IssuerKeyDigest] {
			f.Kubeconfig.Client.IssuerKeyDigest = ""
		}
	}
}

func (ob Observation) observeGlob(glob string, r *state.Report) {
	dir := file.Clean(path.Dir(glob))
	candidates := ob.m.Children(dir)
	if strings.ContainsAny(dir, "*?[") {
		candidates = ob.m.Tree("/")
	}
	for _, p := range candidates {
		if ok, _ := path.Match(file.Clean(glob), p); !ok || strings.HasPrefix(path.Base(p), ".") && !strings.HasPrefix(path.Base(glob), ".") {
			continue
		}
		if _, asked := r.Files[p]; !asked {
			r.Files[p] = ob.file(p, state.ReadDigest)
		}
	}
}

// Secrets returns the contents of the files that exist.
func (ob Observation) Secrets(paths []string) map[string]state.Secret {
	out := map[string]state.Secret{}
	for _, p := range paths {
		if f := ob.m.Resolve(file.Clean(p)); f.IsRegular() {
			out[p] = state.NewSecret(ob.servers.Text(f))
		}
	}
	return out
}
