package kubelet

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/providers/sim/etcd"
	"github.com/kubewright/kubewright/providers/sim/file"
	"github.com/kubewright/kubewright/providers/sim/store"
	"github.com/kubewright/kubewright/state"
)

// bootstraps reports whether the kubelet requests a client certificate: it has no
// kubeconfig or, if there is a bootstrap kubeconfig, none with a valid certificate (the
// kubelet's isClientConfigStillValid, v1.36.3).
func (kl Kubelet) bootstraps(conf *file.File) bool {
	if conf == nil || conf.Record == nil || conf.Record.Kubeconfig == nil || kl.m.Resolve(bootstrapConf) == nil {
		return conf == nil
	}
	c := kl.m.Certificates().OfKubeconfig(conf.Record.Kubeconfig)
	return c == nil || kl.m.Clock().After(c.NotAfter)
}

// bootstrap obtains a client certificate with a token and writes the kubeconfig.
func (kl Kubelet) bootstrap(name string) error {
	conf := kl.m.Resolve(bootstrapConf)
	if conf == nil {
		return errors.New("no kubeconfig")
	}
	server, err := kl.servers.Dial(kl.m, conf)
	if err != nil {
		return err
	}
	if !server.Cluster.Has(store.ClusterRoleBinding("kubeadm:kubelet-bootstrap")) || !server.Cluster.Has(store.ClusterRoleBinding("kubeadm:node-autoapprove-bootstrap")) {
		return errors.New("certificate request is not approved")
	}
	if err := kl.signClient(server.Cluster, name); err != nil {
		return err
	}
	k := conf.Record.Kubeconfig
	kl.m.Put(KubeletConf, file.OfRecord(&file.Record{Kubeconfig: &state.KubeconfigInfo{
		Server: k.Server, Cluster: "default-cluster", User: "default-auth", Context: "default-context",
		CAs: k.CAs, ClientCertificate: kubeletClient, ClientKey: kubeletClient,
	}}, "0600", ""))
	kl.m.Kubelet.Trusts = k.CAs
	return nil
}

// rotationDue reports whether a kubelet has no certificate of its own yet, or one past four
// fifths of its lifetime.
func (kl Kubelet) rotationDue() bool {
	f := kl.m.Resolve(kubeletClient)
	if f == nil || f.Record == nil || len(f.Record.Certificates) == 0 {
		return true
	}
	c := f.Record.Certificates[0]
	return kl.m.Clock().After(c.NotAfter.Add(-c.NotAfter.Sub(c.NotBefore) / 5))
}

// rotate replaces an inlined client certificate by one of the kubelet's own.
func (kl Kubelet) rotate(c *etcd.Cluster) bool {
	conf := kl.m.Resolve(KubeletConf)
	if conf == nil || !c.Has(store.ClusterRoleBinding("kubeadm:node-autoapprove-certificate-rotation")) {
		return false
	}
	if _, err := kl.servers.Dial(kl.m, conf); err != nil {
		return false
	}
	return kl.signClient(c, kl.m.Kubelet.Node) == nil
}

// signClient has the cluster's controller manager sign a kubelet's client certificate.
func (kl Kubelet) signClient(c *etcd.Cluster, name string) error {
	signer, base := kl.servers.API(c).Signer()
	if signer == nil {
		return errors.New("no controller manager signs certificates")
	}
	ca, err := signer.Certificates().At(base+".crt", base+".key")
	if err != nil {
		return err
	}
	key := kl.servers.Derive(64, "key", kl.m.Address, kl.m.NextNumber())
	cert := state.CertificateInfo{
		CommonName: "system:node:" + name, Organizations: []string{"system:nodes"},
		Usages: []string{"digital signature", "client auth"}, Algorithm: "ECDSA-P256",
		NotBefore: kl.servers.Now.Add(-5 * time.Minute), NotAfter: kl.servers.Now.Add(365 * 24 * time.Hour),
		Serial: kl.servers.Derive(16, "serial", key), Issuer: ca.CommonName, KeyDigest: key, IssuerKeyDigest: ca.KeyDigest,
	}
	stamped := kubeletPKI + "/kubelet-client-" + kl.servers.Now.UTC().Format("2006-01-02-15-04-05") + ".pem"
	kl.m.Put(stamped, file.OfRecord(&file.Record{Certificates: []state.CertificateInfo{cert}, Key: key}, "0600", ""))
	kl.m.Put(kubeletClient, &file.File{Type: file.Link, Link: stamped})
	return nil
}

// selfSign makes the kubelet's serving certificate.
func (kl Kubelet) selfSign() {
	key := kl.servers.Derive(64, "key", kl.m.Address, kl.m.NextNumber())
	cert := state.CertificateInfo{
		CommonName: kl.m.Name() + "@1", DNSNames: []string{kl.m.Name()}, Usages: []string{"digital signature", "key encipherment", "server auth"},
		Algorithm: "RSA-2048", NotBefore: kl.servers.Now.Add(-time.Hour), NotAfter: kl.servers.Now.Add(365 * 24 * time.Hour),
		Serial: kl.servers.Derive(16, "serial", key), Issuer: kl.m.Name() + "-ca@1", KeyDigest: key,
	}
	kl.m.Put(kubeletPKI+"/kubelet.crt", file.OfRecord(&file.Record{Certificates: []state.CertificateInfo{cert}}, "", ""))
	kl.m.Put(kubeletPKI+"/kubelet.key", file.OfRecord(&file.Record{Key: key}, "0600", ""))
}

// clientExpired reports whether the client certificate of a kubelet's kubeconfig has
// expired: the kubelet does not start with it.
func (kl Kubelet) clientExpired() bool {
	conf := kl.m.Resolve(KubeletConf)
	if conf.Record == nil || conf.Record.Kubeconfig == nil {
		return false
	}
	k := conf.Record.Kubeconfig
	c := k.Client
	if f := kl.m.Resolve(file.Clean(k.ClientCertificate)); c == nil && f.IsRegular() && f.Record != nil && len(f.Record.Certificates) > 0 {
		c = &f.Record.Certificates[0]
	}
	return c != nil && kl.m.Clock().After(c.NotAfter)
}

// takeOver replaces the kubelet's own certificate by that of its kubeconfig if its own has
// expired or was removed (client-go, util/certificate).
func (kl Kubelet) takeOver() {
	conf, own := kl.m.Resolve(KubeletConf), kl.m.Resolve(kubeletClient)
	if conf == nil || conf.Record == nil || conf.Record.Kubeconfig == nil || conf.Record.Kubeconfig.Client == nil {
		return
	}
	if own == nil {
		// The first control plane's kubelet requests one at once, if a CA can sign it; a
		// kubelet that had one before waits until rotation is due.
		before := slices.ContainsFunc(kl.m.Children(kubeletPKI), func(p string) bool { return strings.Contains(p, "kubelet-client-") })
		if !before && kl.servers.HasKey(conf.Record.Kubeconfig.CAKeyDigests()) {
			return
		}
	} else if own.Record == nil || len(own.Record.Certificates) == 0 || !kl.m.Clock().After(own.Record.Certificates[0].NotAfter) {
		return
	}
	stamped := kubeletPKI + "/kubelet-client-" + kl.servers.Now.UTC().Format("2006-01-02-15-04-05") + ".pem"
	kl.m.Put(stamped, file.OfRecord(&file.Record{Certificates: []state.CertificateInfo{*conf.Record.Kubeconfig.Client}, Key: conf.Record.ClientKey}, "0600", ""))
	kl.m.Put(kubeletClient, &file.File{Type: file.Link, Link: stamped})
}
