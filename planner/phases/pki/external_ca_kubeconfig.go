package pki

import (
	"crypto/x509"
	"errors"

	"sigs.k8s.io/yaml"

	"github.com/kubewright/kubewright/config/keypair"
)

// suppliedKubeconfig is the current context of a kubeconfig that the operator supplies.
type suppliedKubeconfig struct {
	server string
	// cas are the trusted CAs; there is at least one.
	cas []*x509.Certificate
	// certificate and key are PEM.
	certificate, key []byte
}

// kubeconfigFile holds the fields of a kubeconfig (v1) that are read here.
type kubeconfigFile struct {
	Kind           string `json:"kind"`
	CurrentContext string `json:"current-context"`
	Contexts       []struct {
		Name    string `json:"name"`
		Context struct {
			Cluster string `json:"cluster"`
			User    string `json:"user"`
		} `json:"context"`
	} `json:"contexts"`
	Clusters []struct {
		Name    string `json:"name"`
		Cluster struct {
			Server string `json:"server"`
			CA     []byte `json:"certificate-authority-data"`
		} `json:"cluster"`
	} `json:"clusters"`
	Users []struct {
		Name string `json:"name"`
		User struct {
			Certificate []byte `json:"client-certificate-data"`
			Key         []byte `json:"client-key-data"`
		} `json:"user"`
	} `json:"users"`
}

// readKubeconfig reads a kubeconfig with embedded certificates. Its errors quote nothing of the file,
// since it holds a key.
func readKubeconfig(b []byte) (*suppliedKubeconfig, error) {
	var file kubeconfigFile
	if yaml.Unmarshal(b, &file) != nil || file.Kind != "Config" {
		return nil, errors.New("it is not a kubeconfig")
	}
	out := &suppliedKubeconfig{}
	var ca []byte
	for _, x := range file.Contexts {
		if x.Name != file.CurrentContext {
			continue
		}
		for _, c := range file.Clusters {
			if c.Name == x.Context.Cluster {
				out.server, ca = c.Cluster.Server, c.Cluster.CA
			}
		}
		for _, u := range file.Users {
			if u.Name == x.Context.User {
				out.certificate, out.key = u.User.Certificate, u.User.Key
			}
		}
	}
	if out.server == "" || len(ca) == 0 || len(out.certificate) == 0 || len(out.key) == 0 {
		return nil, errors.New("its current context lacks server, certificate-authority-data, client-certificate-data or client-key-data: " +
			"the certificates must be embedded, not named by their paths (kubectl config set-credentials --embed-certs)")
	}
	var err error
	if out.cas, err = keypair.ParseCertificates(ca); err != nil {
		return nil, errors.New("its certificate-authority-data holds no certificate")
	}
	return out, nil
}
