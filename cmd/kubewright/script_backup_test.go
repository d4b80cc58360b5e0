package main

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"os"
	"strings"
	"time"

	"filippo.io/age"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/kubewright/kubewright/config/atrest"
	"github.com/kubewright/kubewright/config/backup"
	"github.com/kubewright/kubewright/providers/sim"
)

// pkiFolder is the folder of certificates in a backup.
const pkiFolder = "etc/kubernetes/pki/"

// makeBackup makes a backup of a cluster as the script of a backup block does.
func makeBackup(ts *testscript.TestScript, _ bool, args []string) {
	label, snapshot, to, file := args[0], ts.ReadFile(args[1]), args[2], args[3]
	files := map[string][]byte{}
	for name, cn := range map[string]string{"ca": "kubernetes", "front-proxy-ca": "front-proxy-ca", "etcd/ca": "etcd-ca"} {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		ts.Check(err)
		template := &x509.Certificate{
			SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: cn}, DNSNames: []string{cn}, NotBefore: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), NotAfter: time.Date(2036, 3, 1, 0, 0, 0, 0, time.UTC),
			IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		}
		der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
		ts.Check(err)
		files[pkiFolder+name+".crt"] = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
		files[pkiFolder+name+".key"] = pemKey(ts, key)
	}
	sa, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ts.Check(err)
	public, err := x509.MarshalPKIXPublicKey(sa.Public())
	ts.Check(err)
	files[pkiFolder+"sa.key"], files[pkiFolder+"sa.pub"] = pemKey(ts, sa), pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})
	if len(args) > 4 {
		files[strings.TrimPrefix(atrest.Path, "/")] = encryptionKeysIn(ts, args[4])
	}
	m := backup.Manifest{Format: 1, Cluster: label, Node: "cp1", Time: time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC), Kubernetes: "1.36.3", Files: map[string]string{}}
	for f, content := range files {
		m.Files[f] = hexDigest(content)
	}
	m.Files[backup.SnapshotFile] = hexDigest([]byte(snapshot))
	manifest, err := json.Marshal(m)
	ts.Check(err)
	recipient, err := age.ParseX25519Recipient(to)
	ts.Check(err)
	out, err := os.Create(ts.MkAbs(file))
	ts.Check(err)
	defer out.Close()
	w, err := age.Encrypt(out, recipient)
	ts.Check(err)
	archive := tar.NewWriter(w)
	add := func(name string, content []byte) {
		ts.Check(archive.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(content)), Typeflag: tar.TypeReg}))
		_, err := archive.Write(content)
		ts.Check(err)
	}
	add(backup.ManifestFile, manifest)
	for f, content := range files {
		add(backup.FilesFolder+f, content)
	}
	add(backup.SnapshotFile, []byte(snapshot))
	ts.Check(archive.Close())
	ts.Check(w.Close())
}

// encryptionKeysIn returns the keys for encryption at rest: a file of the script, or of the simulated host
// HOST for host:HOST.
func encryptionKeysIn(ts *testscript.TestScript, from string) []byte {
	address, onHost := strings.CutPrefix(from, "host:")
	if !onHost {
		return []byte(ts.ReadFile(from))
	}
	w, err := sim.Open(ts.MkAbs("kubewright.sim.json"))
	ts.Check(err)
	secrets, err := w.Host(address).ReadSecrets(context.Background(), []string{atrest.Path})
	ts.Check(err)
	return secrets[atrest.Path].Reveal()
}

func pemKey(ts *testscript.TestScript, key *ecdsa.PrivateKey) []byte {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	ts.Check(err)
	return bytes.TrimSpace(append(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), '\n'))
}

func hexDigest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
