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

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// Issuer makes records of keys and certificates on simulated hosts.
type Issuer struct{}

var _ providers.Issuer = Issuer{}

// Issuer returns the issuer for the world's hosts.
func (w *World) Issuer() Issuer { return Issuer{} }

// backdate is how far before now certificates begin, as kubeadm's do.
const backdate = 5 * time.Minute

// issue does one effect of the issuer's on a host.
func issue(ctx context.Context, on providers.Host, op planner.Operation, about string, batch providers.Batch, do func(*World, *machine) (bool, error)) (providers.Outcome, error) {
	var outcome providers.Outcome
	h, err := hostOf(on)
	if err != nil {
		return outcome, err
	}
	h.w.mu.Lock()
	defer h.w.mu.Unlock()
	m := h.machine()
	if err := h.w.admit(ctx, m, batch); err != nil {
		return outcome, err
	}
	err = h.w.act(m, op.Op(), about, func() error {
		if outcome.Changed, err = do(h.w, m); outcome.Changed {
			h.w.did(m, op.Op()+" "+about)
		}
		return err
	}, nil)
	return outcome, err
}

// IssueCA makes To.crt and To.key unless they exist; a private key that exists is kept.
func (Issuer) IssueCA(ctx context.Context, on providers.Host, op planner.IssueCA, batch providers.Batch) (providers.Outcome, error) {
	return issue(ctx, on, op, op.To, batch, func(w *World, m *machine) (bool, error) {
		if w.get(m, clean(op.To)+".crt") != nil && !op.Renew {
			return false, nil
		}
		if present := w.get(m, clean(op.To)+".key"); present != nil && present.Record != nil && present.Record.Key != "" && !op.Renew {
			r := w.caRecord(op.CommonName, op.Algorithm, op.Validity, present.Record.Key)
			return w.write(m, op.To+".crt", recordFile(&record{Certificates: r.Certificates}, "", ""))
		}
		r := w.caRecord(op.CommonName, op.Algorithm, op.Validity, w.derive(64, "key", m.address, m.next()))
		return w.writePair(m, op.To, r)
	})
}

func (w *World) caRecord(name, algorithm string, validity time.Duration, key string) *record {
	return &record{Key: key, Certificates: []state.CertificateInfo{{
		CommonName: name, DNSNames: []string{name}, Usages: []string{"digital signature", "key encipherment", "cert sign"}, IsCA: true,
		Algorithm: algorithm, NotBefore: w.d.Now.Add(-backdate), NotAfter: w.d.Now.Add(validity),
		Serial: w.derive(16, "serial", key), Issuer: name, KeyDigest: key, IssuerKeyDigest: key,
	}}}
}

// writePair writes a certificate and its key.
func (w *World) writePair(m *machine, base string, r *record) (bool, error) {
	if _, err := w.write(m, base+".key", recordFile(&record{Key: r.Key}, "0600", "")); err != nil {
		return false, err
	}
	return w.write(m, base+".crt", recordFile(&record{Certificates: r.Certificates}, "", ""))
}

// IssueKeyPair makes To.key and To.pub; a private key that exists is kept.
func (Issuer) IssueKeyPair(ctx context.Context, on providers.Host, op planner.IssueKeyPair, batch providers.Batch) (providers.Outcome, error) {
	return issue(ctx, on, op, op.To, batch, func(w *World, m *machine) (bool, error) {
		var key string
		if present := w.get(m, clean(op.To)+".key"); present != nil && present.Record != nil {
			key = present.Record.Key // tokens were signed with it
		} else {
			key = w.derive(64, "key", m.address, m.next())
			if _, err := w.write(m, op.To+".key", recordFile(&record{Key: key}, "0600", "")); err != nil {
				return false, err
			}
		}
		return w.write(m, op.To+".pub", recordFile(&record{Public: key}, "0600", ""))
	})
}

// authority returns the CA that a signer names: its certificate, and an error
// unless its key is there where it is needed.
func (Issuer) authority(w *World, signer providers.Host, own *machine, ca planner.Signer, key bool, contents map[string]state.Secret) (*state.CertificateInfo, error) {
	if ca.Operator != "" {
		return operatorCA(ca, key, contents)
	}
	m := own
	if signer != nil {
		h, err := hostOf(signer)
		if err != nil {
			return nil, err
		}
		m = w.machine(h.address)
		if err := w.connected(context.Background(), m); err != nil {
			return nil, err
		}
	}
	keyFile := ""
	if key {
		keyFile = ca.Base + ".key"
		if w.get(m, clean(keyFile)) == nil {
			return nil, fmt.Errorf("cannot sign with CA %s: %s holds no %s", ca.Name, m.address, keyFile)
		}
	}
	c, err := w.certificateAt(m, ca.Base+".crt", keyFile)
	if err != nil {
		return nil, fmt.Errorf("cannot sign with CA %s of %s: %w", ca.Name, m.address, err)
	}
	return c, nil
}

// operatorCA returns a CA of the operator's, and an error unless its key belongs to
// it where that is needed.
func operatorCA(ca planner.Signer, key bool, contents map[string]state.Secret) (*state.CertificateInfo, error) {
	r, err := importRecord(contents[ca.CertificateRef()].Reveal(), nil)
	if err != nil || r == nil || len(r.Certificates) == 0 {
		return nil, fmt.Errorf("cannot use CA %s: %s is no certificate", ca.Name, ca.CertificateRef())
	}
	if key {
		k, err := importRecord(contents[ca.KeyRef()].Reveal(), nil)
		if err != nil || k == nil || k.Key != r.Certificates[0].KeyDigest {
			return nil, fmt.Errorf("cannot sign with CA %s: %s is not its key", ca.Name, ca.KeyRef())
		}
	}
	return &r.Certificates[0], nil
}

// leaf makes a certificate signed by a CA, and its key.
func (w *World) leaf(m *machine, ca *state.CertificateInfo, name string, organizations, usages []string, algorithm string, validity time.Duration) *record {
	key := w.derive(64, "key", m.address, m.next())
	return &record{Key: key, Certificates: []state.CertificateInfo{{
		CommonName: name, Organizations: slices.Clone(organizations),
		Usages: append([]string{"digital signature", "key encipherment"}, usages...), Algorithm: algorithm,
		NotBefore: w.d.Now.Add(-backdate), NotAfter: w.d.Now.Add(validity),
		Serial: w.derive(16, "serial", key), Issuer: ca.CommonName, KeyDigest: key, IssuerKeyDigest: ca.KeyDigest,
	}}}
}

// IssueCertificate makes To.crt and To.key, signed by the CA that signer holds.
func (i Issuer) IssueCertificate(ctx context.Context, on, signer providers.Host, op planner.IssueCertificate, batch providers.Batch) (providers.Outcome, error) {
	return issue(ctx, on, op, op.To, batch, func(w *World, m *machine) (bool, error) {
		if w.get(m, clean(op.To)+".crt") != nil && w.get(m, clean(op.To)+".key") != nil && !op.Renew {
			return false, nil
		}
		ca, err := i.authority(w, signer, m, op.CA, true, batch.Contents)
		if err != nil {
			return false, err
		}
		r := w.leaf(m, ca, op.CommonName, op.Organizations, op.Usages, op.Algorithm, op.Validity)
		c := &r.Certificates[0]
		c.DNSNames, c.IPAddresses = slices.Clone(op.DNSNames), slices.Clone(op.IPAddresses)
		return w.writePair(m, op.To, r)
	})
}

// WriteKubeconfig writes a kubeconfig with a client certificate or a token.
func (i Issuer) WriteKubeconfig(ctx context.Context, on, signer providers.Host, op planner.WriteKubeconfig, token state.Secret, batch providers.Batch) (providers.Outcome, error) {
	return issue(ctx, on, op, op.Path, batch, func(w *World, m *machine) (bool, error) {
		if w.get(m, clean(op.Path)) != nil && !op.Renew && token.IsZero() {
			return false, nil
		}
		ca, err := i.authority(w, signer, m, op.CA, token.IsZero(), batch.Contents)
		if err != nil {
			return false, err
		}
		k := &state.KubeconfigInfo{
			Server: op.Server, Cluster: op.Cluster, User: op.User, Context: op.User + "@" + op.Cluster, CAs: []state.CertificateInfo{*ca},
		}
		if path := trustedBy(op); path != "" {
			if k.CAs, err = w.trustedAt(signer, m, path); err != nil {
				return false, err
			}
		}
		r := &record{Kubeconfig: k}
		if token.IsZero() {
			client := w.leaf(m, ca, op.CommonName, op.Organizations, []string{"client auth"}, op.Algorithm, op.Validity)
			k.Client, r.ClientKey = &client.Certificates[0], client.Key
		} else {
			k.Token, r.Token = true, string(token.Reveal())
		}
		return w.write(m, op.Path, recordFile(r, "0600", ""))
	})
}

// SetKubeconfig changes the server or the client certificate's path of a kubeconfig.
func (Issuer) SetKubeconfig(ctx context.Context, on providers.Host, op planner.SetKubeconfig, batch providers.Batch) (providers.Outcome, error) {
	return issue(ctx, on, op, op.Path, batch, func(w *World, m *machine) (bool, error) {
		f := w.get(m, clean(op.Path))
		if f == nil || f.Record == nil || f.Record.Kubeconfig == nil {
			return false, fmt.Errorf("cannot change %s: it is no kubeconfig", op.Path)
		}
		r, k := *f.Record, *f.Record.Kubeconfig
		if op.Server != "" {
			k.Server = op.Server
		}
		if op.Trust != "" {
			k.CAs = w.certificatesAt(m, op.Trust)
		}
		if op.ClientCertificate != "" {
			k.Client, r.ClientKey = nil, ""
			k.ClientCertificate, k.ClientKey = op.ClientCertificate, op.ClientCertificate
		}
		r.Kubeconfig = &k
		return w.write(m, op.Path, recordFile(&r, f.mode(), f.owner()))
	})
}

// CopySecrets brings files from one host to another.
func (Issuer) CopySecrets(ctx context.Context, from, to providers.Host, op planner.CopySecrets, batch providers.Batch) (providers.Outcome, error) {
	source, err := hostOf(from)
	if err != nil {
		return providers.Outcome{}, err
	}
	return issue(ctx, to, op, op.From.String(), batch, func(w *World, m *machine) (bool, error) {
		if source.w != w {
			return false, errors.New("internal error: hosts of two worlds")
		}
		origin := w.machine(source.address)
		if err := w.connected(ctx, origin); err != nil {
			return false, err
		}
		changed := false
		for _, s := range op.Files {
			path := cmp.Or(s.Source, s.Path)
			f := w.resolve(origin, clean(path))
			if !f.isRegular() {
				return changed, fmt.Errorf("cannot copy %s from %s: no such file", path, source.address)
			}
			one, err := w.write(m, s.Path, f.withMode(s.Mode, s.Owner))
			changed = changed || one
			if err != nil {
				return changed, err
			}
		}
		return changed, nil
	})
}

// BundleTrust puts the first certificates, or public keys, of files together.
func (Issuer) BundleTrust(ctx context.Context, on providers.Host, op planner.BundleTrust, batch providers.Batch) (providers.Outcome, error) {
	return issue(ctx, on, op, op.To, batch, func(w *World, m *machine) (bool, error) {
		if strings.HasSuffix(op.To, ".pub") {
			return w.bundlePublicKeys(m, op)
		}
		r, known := &record{}, true
		for _, path := range op.Of {
			f := w.resolve(m, clean(path))
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
		if !known { // one of them is a record alone
			r.PEM = ""
		}
		return w.write(m, op.To, recordFile(r, "", ""))
	})
}

// firstBlock returns the first block of PEM; empty where there is none.
func firstBlock(text string) string {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return ""
	}
	return string(pem.EncodeToMemory(block))
}

func (w *World) bundlePublicKeys(m *machine, op planner.BundleTrust) (bool, error) {
	var keys []string
	for _, path := range op.Of {
		f := w.resolve(m, clean(path))
		if f == nil || len(f.Record.publics()) == 0 {
			return false, fmt.Errorf("cannot write %s: %s is not there", op.To, path)
		}
		if first := f.Record.Public; !slices.Contains(keys, first) {
			keys = append(keys, first)
		}
	}
	return w.write(m, op.To, recordFile(&record{Public: keys[0], Further: keys[1:]}, "0600", ""))
}

// ImportSecrets brings files of the operator's: certificates, keys and
// kubeconfigs become records, of anything else only the digest is kept. Who
// signed a certificate shows by the CAs among the files.
func (Issuer) ImportSecrets(ctx context.Context, on providers.Host, op planner.ImportSecrets, batch providers.Batch) (providers.Outcome, error) {
	return issue(ctx, on, op, "", batch, func(w *World, m *machine) (bool, error) {
		var cas []*x509.Certificate
		for _, s := range op.Files {
			cas = append(cas, authorities(batch.Contents[s.Source].Reveal())...)
		}
		changed := false
		for _, s := range op.Files {
			content := batch.Contents[s.Source].Reveal()
			if len(content) == 0 {
				return changed, fmt.Errorf("cannot bring %s: the operator's %s is empty", s.Path, s.Source)
			}
			r, err := importRecord(content, cas)
			if err != nil {
				return changed, fmt.Errorf("cannot bring %s: %w", s.Path, err)
			}
			f := file{SHA256: sum(content), Size: int64(len(content))}.withMode(s.Mode, s.Owner)
			if r != nil {
				f = recordFile(r, s.Mode, s.Owner)
			}
			one, err := w.write(m, s.Path, f)
			changed = changed || one
			if err != nil {
				return changed, err
			}
		}
		return changed, nil
	})
}
