package pki

import (
	"cmp"
	"fmt"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
)

// stage prepares the files of a job. It stages keys before their certificates: an existing
// certificate proves that the pair is complete.
func (g *group) stage(j *job) error {
	switch op := j.Operation.(type) {
	case planner.IssueCA:
		return g.stageCA(j, op)
	case planner.IssueKeyPair:
		return g.stageKeyPair(j, op)
	case planner.IssueCertificate:
		return g.stageCertificate(j, op)
	case planner.WriteKubeconfig:
		return g.stageKubeconfig(j, op)
	case planner.SetKubeconfig:
		return g.stageSetKubeconfig(j, op)
	case planner.CopySecrets:
		return g.stageCopy(j, op)
	case planner.BundleTrust:
		return g.stageBundle(j, op)
	case planner.ImportSecrets:
		return g.stageImport(j, op)
	case planner.WriteEncryption:
		return g.stageEncryption(j, op)
	}
	return fmt.Errorf("internal error: %T is no operation with keys", j.Operation)
}

// stageCA keeps a private key that exists without its certificate, as after an apply that
// was interrupted between the two: the key may have signed something, and an overwritten
// key is lost for good.
func (g *group) stageCA(j *job, op planner.IssueCA) error {
	signer := j.key
	if signer == nil {
		if g.exists(op.To + crt) {
			return nil
		}
		content, _ := g.content(g.on, op.To+key)
		var err error
		if signer, err = parseKey(content); err != nil {
			return fmt.Errorf("cannot issue CA %s: %s%s is there without a certificate, and is not written over: it cannot be used: %w. "+
				"If nothing was ever signed with it, delete it", op.CommonName, op.To, key, err)
		}
	}
	certificate, err := selfSigned(op, signer, g.issuer.now)
	if err != nil {
		return fmt.Errorf("cannot issue CA %s: %w", op.CommonName, err)
	}
	if j.key == nil {
		g.put(j, op.To+crt, publicMode, rootOwner, certificate)
		return nil
	}
	return g.putPair(j, op.To, certificate)
}

// putPair stages the job's new key, then its certificate.
func (g *group) putPair(j *job, base string, certificate []byte) error {
	private, err := encodeKey(j.key)
	if err != nil {
		return err
	}
	g.put(j, base+key, secretMode, rootOwner, private)
	g.put(j, base+crt, publicMode, rootOwner, certificate)
	return nil
}

// stageKeyPair keeps an existing private key, since tokens were signed with it.
func (g *group) stageKeyPair(j *job, op planner.IssueKeyPair) error {
	signer := j.key
	if signer == nil {
		content, _ := g.content(g.on, op.To+key)
		var err error
		if signer, err = parseKey(content); err != nil {
			return fmt.Errorf("cannot use %s%s: %w", op.To, key, err)
		}
	} else {
		private, err := encodeKey(signer)
		if err != nil {
			return err
		}
		g.put(j, op.To+key, secretMode, rootOwner, private)
	}
	public, err := encodePublicKey(signer.Public())
	if err != nil {
		return err
	}
	g.put(j, op.To+pub, secretMode, rootOwner, public)
	return nil
}

func (g *group) stageCertificate(j *job, op planner.IssueCertificate) error {
	if j.key == nil {
		return nil
	}
	ca, err := g.authority(j.source, op.CA, true)
	if err != nil {
		return fmt.Errorf("cannot issue certificate %s%s: %w", op.To, crt, err)
	}
	certificate, err := g.leaf(j, ca, op, g.issuer.now.Add(-backdate))
	if err != nil {
		return fmt.Errorf("cannot issue certificate %s%s: %w", op.To, crt, err)
	}
	return g.putPair(j, op.To, certificate)
}

func (g *group) leaf(j *job, ca *authority, op planner.IssueCertificate, notBefore time.Time) ([]byte, error) {
	template, err := leafTemplate(op, notBefore, g.issuer.now.Add(op.Validity))
	if err != nil {
		return nil, err
	}
	return ca.sign(template, j.key.Public())
}

// authority finds a CA: staged by this group, known from an earlier read, read by this
// group, or the operator's.
func (g *group) authority(host providers.Host, ca planner.Signer, withKey bool) (*authority, error) {
	where := place{host, ca.Base}
	if ca.Operator != "" {
		where = place{nil, ca.Operator}
	}
	if _, staged := g.byPath[ca.Base+crt]; !staged || host != g.on {
		if a := g.issuer.known(where, withKey); a != nil {
			return a, nil
		}
	}
	a, err := g.loadAuthority(host, ca, withKey)
	if err != nil {
		return nil, fmt.Errorf("cannot use CA %s: %w", ca.Name, err)
	}
	g.issuer.remember(where, a)
	return a, nil
}

func (g *group) loadAuthority(host providers.Host, ca planner.Signer, withKey bool) (*authority, error) {
	certificate, private, err := g.authorityFiles(host, ca, withKey)
	if err != nil {
		return nil, err
	}
	return loadAuthority(certificate, private)
}

func (g *group) authorityFiles(host providers.Host, ca planner.Signer, withKey bool) (certificate, private []byte, err error) {
	if ca.Operator != "" {
		if certificate, err = g.given(ca.CertificateRef()); err == nil && withKey {
			private, err = g.given(ca.KeyRef())
		}
		return certificate, private, err
	}
	certificate, ok := g.content(host, ca.Base+crt)
	if !ok {
		return nil, nil, fmt.Errorf("%s%s is not there", ca.Base, crt)
	}
	if withKey {
		if private, ok = g.content(host, ca.Base+key); !ok {
			return nil, nil, fmt.Errorf("%s%s is not there", ca.Base, key)
		}
	}
	return certificate, private, nil
}

// given returns a file of the operator's.
func (g *group) given(ref string) ([]byte, error) {
	s := g.contents[ref]
	if s.IsZero() {
		return nil, fmt.Errorf("the operator's %s is empty", ref)
	}
	return s.Reveal(), nil
}

// stageKubeconfig writes a new kubeconfig. As with kubeadm, the first client certificate
// begins when its CA does, and a renewed one five minutes ago.
func (g *group) stageKubeconfig(j *job, op planner.WriteKubeconfig) error {
	byToken := op.Token != nil
	if !byToken && j.key == nil {
		return nil
	}
	if byToken && j.Token.IsZero() {
		return fmt.Errorf("cannot write %s: the bootstrap token is missing", op.Path)
	}
	ca, err := g.authority(j.source, op.CA, !byToken)
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", op.Path, err)
	}
	user := userEntry{Token: string(j.Token.Reveal())}
	if !byToken {
		if user, err = g.clientEntry(j, ca, op); err != nil {
			return fmt.Errorf("cannot write %s: %w", op.Path, err)
		}
	}
	trusted, err := g.trusted(j, ca, op.Trust)
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", op.Path, err)
	}
	content, err := encodeKubeconfig(op, trusted, user)
	if err != nil {
		return err
	}
	g.put(j, op.Path, secretMode, rootOwner, content)
	return nil
}

func (g *group) clientEntry(j *job, ca *authority, op planner.WriteKubeconfig) (userEntry, error) {
	notBefore := ca.certs[0].NotBefore
	if op.Renew {
		notBefore = g.issuer.now.Add(-backdate)
	}
	certificate, err := g.leaf(j, ca, planner.IssueCertificate{
		CommonName: op.CommonName, Organizations: op.Organizations, Usages: []string{clientAuth}, Validity: op.Validity,
	}, notBefore)
	if err != nil {
		return userEntry{}, err
	}
	private, err := encodeKey(j.key)
	if err != nil {
		return userEntry{}, err
	}
	return userEntry{ClientCertificateData: certificate, ClientKeyData: private}, nil
}

func (g *group) stageSetKubeconfig(j *job, op planner.SetKubeconfig) error {
	before, ok := g.content(g.on, op.Path)
	if !ok {
		return fmt.Errorf("cannot change %s: it is not there", op.Path)
	}
	var trust []byte
	if op.Trust != "" {
		ca, err := g.certificates(g.on, op.Trust)
		if err != nil {
			return fmt.Errorf("cannot change %s: %w", op.Path, err)
		}
		trust = (&authority{certs: ca}).bundle()
	}
	after, err := setKubeconfig(before, op, trust)
	if err != nil {
		return fmt.Errorf("cannot change %s: %w", op.Path, err)
	}
	if after != nil {
		g.put(j, op.Path, secretMode, rootOwner, after)
	}
	return nil
}

func (g *group) stageCopy(j *job, op planner.CopySecrets) error {
	for _, f := range op.Files {
		path := cmp.Or(f.Source, f.Path)
		content, ok := g.content(j.source, path)
		if !ok {
			return fmt.Errorf("cannot copy %s: it is not on %s", path, op.From)
		}
		g.put(j, f.Path, f.Mode, f.Owner, content)
	}
	return nil
}

func (g *group) stageImport(j *job, op planner.ImportSecrets) error {
	for _, f := range op.Files {
		content, err := g.given(f.Source)
		if err != nil {
			return fmt.Errorf("cannot bring %s: %w", f.Path, err)
		}
		g.put(j, f.Path, f.Mode, f.Owner, content)
	}
	return nil
}
