package edit

import (
	"time"

	"github.com/kubewright/kubewright/providers/sim/file"
	"github.com/kubewright/kubewright/providers/sim/machine"
)

// MakeForeign leaves the traces of another owner's cluster.
func MakeForeign(fl *machine.Fleet, m *machine.Machine) {
	digest := fl.Derive(64, "foreign", m.Address)
	ca := fl.CARecord("kubernetes", "RSA-2048", 87600*time.Hour, digest)
	m.Put("/etc/kubernetes/pki/ca.crt", file.OfRecord(&file.Record{Certificates: ca.Certificates}, "", ""))
	for _, name := range []string{"/etc/kubernetes/kubelet.conf", "/etc/kubernetes/admin.conf"} {
		m.Put(name, fl.NewFile([]byte("simulated kubeconfig of another user\n"), "0600", ""))
	}
	m.Put("/var/lib/kubelet/config.yaml", fl.NewFile([]byte("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"), "", ""))
}
