package sim

import (
	"cmp"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/config/atrest"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/sim/file"
	"github.com/kubewright/kubewright/providers/sim/machine"
	"github.com/kubewright/kubewright/providers/sim/operation"
	"github.com/kubewright/kubewright/state"
)

// Issuer makes records of keys and certificates on simulated hosts.
type Issuer struct{}

// Issuer returns the issuer for the world's hosts.
func (w *World) Issuer() Issuer { return Issuer{} }

// issue performs one effect of the issuer on a host.
func issue(ctx context.Context, on providers.Host, op planner.Operation, about string, batch providers.Batch, do func(*World, *machine.Machine) (bool, error)) (providers.Outcome, error) {
	var outcome providers.Outcome
	h, err := hostOf(on)
	if err != nil {
		return outcome, err
	}
	h.w.mu.Lock()
	defer h.w.mu.Unlock()
	m := h.machine()
	if err := operation.On(h.w.servers, m).Admit(ctx, batch); err != nil {
		return outcome, err
	}
	err = h.w.act(m, op.Op(), about, func() error {
		if outcome.Changed, err = do(h.w, m); outcome.Changed {
			m.CountChange(op.Op() + " " + about)
		}
		return err
	}, nil)
	return outcome, err
}

// IssueCA makes To.crt and To.key unless they exist; an existing private key is kept.
func (Issuer) IssueCA(ctx context.Context, on providers.Host, op planner.IssueCA, batch providers.Batch) (providers.Outcome, error) {
	return issue(ctx, on, op, op.To, batch, func(w *World, m *machine.Machine) (bool, error) {
		if m.File(file.Clean(op.To)+".crt") != nil && !op.Renew {
			return false, nil
		}
		if present := m.File(file.Clean(op.To) + ".key"); present != nil && present.Record != nil && present.Record.Key != "" && !op.Renew {
			r := w.fleet.CARecord(op.CommonName, op.Algorithm, op.Validity, present.Record.Key)
			return m.Write(op.To+".crt", file.OfRecord(&file.Record{Certificates: r.Certificates}, "", ""))
		}
		r := w.fleet.CARecord(op.CommonName, op.Algorithm, op.Validity, w.fleet.Derive(64, "key", m.Address, m.NextNumber()))
		return issuing{w.fleet, m}.writePair(op.To, r)
	})
}

// issuing makes keys and certificates on a machine.
type issuing struct {
	fleet *machine.Fleet
	m     *machine.Machine
}

// writePair writes a certificate and its key.
func (i issuing) writePair(base string, r *file.Record) (bool, error) {
	if _, err := i.m.Write(base+".key", file.OfRecord(&file.Record{Key: r.Key}, "0600", "")); err != nil {
		return false, err
	}
	return i.m.Write(base+".crt", file.OfRecord(&file.Record{Certificates: r.Certificates}, "", ""))
}

// IssueKeyPair makes To.key and To.pub; an existing private key is kept.
func (Issuer) IssueKeyPair(ctx context.Context, on providers.Host, op planner.IssueKeyPair, batch providers.Batch) (providers.Outcome, error) {
	return issue(ctx, on, op, op.To, batch, func(w *World, m *machine.Machine) (bool, error) {
		var key string
		if present := m.File(file.Clean(op.To) + ".key"); present != nil && present.Record != nil {
			key = present.Record.Key // tokens were signed with it
		} else {
			key = w.fleet.Derive(64, "key", m.Address, m.NextNumber())
			if _, err := m.Write(op.To+".key", file.OfRecord(&file.Record{Key: key}, "0600", "")); err != nil {
				return false, err
			}
		}
		return m.Write(op.To+".pub", file.OfRecord(&file.Record{Public: key}, "0600", ""))
	})
}

// authority returns the certificate of the CA that a signer names, and an error if its key
// is needed but absent.
func (Issuer) authority(w *World, signer providers.Host, own *machine.Machine, ca planner.Signer, key bool, contents map[string]state.Secret) (*state.CertificateInfo, error) {
	if ca.Operator != "" {
		return operatorCA(ca, key, contents)
	}
	m := own
	if signer != nil {
		h, err := hostOf(signer)
		if err != nil {
			return nil, err
		}
		m = w.fleet.Machine(h.address)
		if err := m.Connected(context.Background()); err != nil {
			return nil, err
		}
	}
	keyFile := ""
	if key {
		keyFile = ca.Base + ".key"
		if m.File(file.Clean(keyFile)) == nil {
			return nil, fmt.Errorf("cannot sign with CA %s: %s holds no %s", ca.Name, m.Address, keyFile)
		}
	}
	c, err := m.Certificates().At(ca.Base+".crt", keyFile)
	if err != nil {
		return nil, fmt.Errorf("cannot sign with CA %s of %s: %w", ca.Name, m.Address, err)
	}
	return c, nil
}

// operatorCA returns a CA of the operator's, and an error if its key is needed but does not
// match.
func operatorCA(ca planner.Signer, key bool, contents map[string]state.Secret) (*state.CertificateInfo, error) {
	r, err := file.Import(contents[ca.CertificateRef()].Reveal(), nil)
	if err != nil || r == nil || len(r.Certificates) == 0 {
		return nil, fmt.Errorf("cannot use CA %s: %s is no certificate", ca.Name, ca.CertificateRef())
	}
	if key {
		k, err := file.Import(contents[ca.KeyRef()].Reveal(), nil)
		if err != nil || k == nil || k.Key != r.Certificates[0].KeyDigest {
			return nil, fmt.Errorf("cannot sign with CA %s: %s is not its key", ca.Name, ca.KeyRef())
		}
	}
	return &r.Certificates[0], nil
}

// leaf makes a certificate signed by a CA, and its key.
func (i issuing) leaf(ca *state.CertificateInfo, name string, organizations, usages []string, algorithm string, validity time.Duration) *file.Record {
	key := i.fleet.Derive(64, "key", i.m.Address, i.m.NextNumber())
	return &file.Record{Key: key, Certificates: []state.CertificateInfo{{
		CommonName: name, Organizations: slices.Clone(organizations),
		Usages: append([]string{"digital signature", "key encipherment"}, usages...), Algorithm: algorithm,
		NotBefore: i.fleet.Now.Add(-machine.Backdate), NotAfter: i.fleet.Now.Add(validity),
		Serial: i.fleet.Derive(16, "serial", key), Issuer: ca.CommonName, KeyDigest: key, IssuerKeyDigest: ca.KeyDigest,
	}}}
}

// IssueCertificate makes To.crt and To.key, signed by the CA on the host signer.
func (i Issuer) IssueCertificate(ctx context.Context, on, signer providers.Host, op planner.IssueCertificate, batch providers.Batch) (providers.Outcome, error) {
	return issue(ctx, on, op, op.To, batch, func(w *World, m *machine.Machine) (bool, error) {
		if m.File(file.Clean(op.To)+".crt") != nil && m.File(file.Clean(op.To)+".key") != nil && !op.Renew {
			return false, nil
		}
		ca, err := i.authority(w, signer, m, op.CA, true, batch.Contents)
		if err != nil {
			return false, err
		}
		r := issuing{w.fleet, m}.leaf(ca, op.CommonName, op.Organizations, op.Usages, op.Algorithm, op.Validity)
		c := &r.Certificates[0]
		c.DNSNames, c.IPAddresses = slices.Clone(op.DNSNames), slices.Clone(op.IPAddresses)
		return issuing{w.fleet, m}.writePair(op.To, r)
	})
}

// CopySecrets copies files from one host to another.
func (Issuer) CopySecrets(ctx context.Context, from, to providers.Host, op planner.CopySecrets, batch providers.Batch) (providers.Outcome, error) {
	source, err := hostOf(from)
	if err != nil {
		return providers.Outcome{}, err
	}
	return issue(ctx, to, op, op.From.String(), batch, func(w *World, m *machine.Machine) (bool, error) {
		if source.w != w {
			return false, errors.New("internal error: hosts of two worlds")
		}
		origin := w.fleet.Machine(source.address)
		if err := origin.Connected(ctx); err != nil {
			return false, err
		}
		changed := false
		for _, s := range op.Files {
			path := cmp.Or(s.Source, s.Path)
			f := origin.Resolve(file.Clean(path))
			if !f.IsRegular() {
				return changed, fmt.Errorf("cannot copy %s from %s: no such file", path, source.address)
			}
			one, err := m.Write(s.Path, f.WithAccess(s.Mode, s.Owner))
			changed = changed || one
			if err != nil {
				return changed, err
			}
		}
		return changed, nil
	})
}

// BundleTrust concatenates the first certificates, or public keys, of several files.
func (Issuer) BundleTrust(ctx context.Context, on providers.Host, op planner.BundleTrust, batch providers.Batch) (providers.Outcome, error) {
	return issue(ctx, on, op, op.To, batch, func(w *World, m *machine.Machine) (bool, error) {
		if strings.HasSuffix(op.To, ".pub") {
			return issuing{w.fleet, m}.bundlePublicKeys(op)
		}
		r, known := &file.Record{}, true
		for _, path := range op.Of {
			f := m.Resolve(file.Clean(path))
			if f == nil || f.Record == nil || len(f.Record.Certificates) == 0 {
				return false, fmt.Errorf("cannot write %s: %s is not there", op.To, path)
			}
			first := f.Record.Certificates[0]
			if !slices.ContainsFunc(r.Certificates, func(c state.CertificateInfo) bool { return c.KeyDigest == first.KeyDigest }) {
				r.Certificates = append(r.Certificates, first)
				text := firstBlock(f.Record.PEM)
				r.PEM, known = r.PEM+text, known && text != ""
			}
		}
		if !known { // one of them has a record only
			r.PEM = ""
		}
		return m.Write(op.To, file.OfRecord(r, "", ""))
	})
}

// firstBlock returns the first block of PEM; empty if there is none.
func firstBlock(text string) string {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return ""
	}
	return string(pem.EncodeToMemory(block))
}

func (i issuing) bundlePublicKeys(op planner.BundleTrust) (bool, error) {
	var keys []string
	for _, path := range op.Of {
		f := i.m.Resolve(file.Clean(path))
		if f == nil || len(f.Record.PublicKeys()) == 0 {
			return false, fmt.Errorf("cannot write %s: %s is not there", op.To, path)
		}
		if first := f.Record.Public; !slices.Contains(keys, first) {
			keys = append(keys, first)
		}
	}
	return i.m.Write(op.To, file.OfRecord(&file.Record{Public: keys[0], Further: keys[1:]}, "0600", ""))
}

// ImportSecrets copies the operator's files: certificates, keys and kubeconfigs become
// records, keys for encryption at rest are kept as they are, for API servers read them, and of other
// files only the digest is kept. The signer of a certificate is known if its CA is among the files.
func (Issuer) ImportSecrets(ctx context.Context, on providers.Host, op planner.ImportSecrets, batch providers.Batch) (providers.Outcome, error) {
	return issue(ctx, on, op, "", batch, func(w *World, m *machine.Machine) (bool, error) {
		var cas []*x509.Certificate
		for _, s := range op.Files {
			cas = append(cas, file.CAs(batch.Contents[s.Source].Reveal())...)
		}
		changed := false
		for _, s := range op.Files {
			content := batch.Contents[s.Source].Reveal()
			if len(content) == 0 {
				return changed, fmt.Errorf("cannot bring %s: the operator's %s is empty", s.Path, s.Source)
			}
			r, err := file.Import(content, cas)
			if err != nil {
				return changed, fmt.Errorf("cannot bring %s: %w", s.Path, err)
			}
			f := file.File{SHA256: file.Digest(content), Size: int64(len(content))}.WithAccess(s.Mode, s.Owner)
			if r != nil {
				f = file.OfRecord(r, s.Mode, s.Owner)
			} else if _, err := atrest.Parse(content); err == nil {
				f = w.fleet.NewFile(content, s.Mode, s.Owner)
			}
			one, err := m.Write(s.Path, f)
			changed = changed || one
			if err != nil {
				return changed, err
			}
		}
		return changed, nil
	})
}
