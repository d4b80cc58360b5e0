package hostfile

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/apis/apiserver/v1"
	"k8s.io/apiserver/pkg/apis/apiserver/v1alpha1"
	"k8s.io/apiserver/pkg/apis/apiserver/v1beta1"
	"k8s.io/apiserver/pkg/apis/audit"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	auditvalidation "k8s.io/apiserver/pkg/apis/audit/validation"
	"sigs.k8s.io/yaml"
)

const group = "apiserver.config.k8s.io/"

// reader is what an argument's file has to be: one of some kinds by apiVersion, as Kubernetes 1.34 to
// 1.37 register them, a kubeconfig, or certificates.
type reader struct {
	kind     string
	versions map[string]func([]byte) error
	other    func([]byte) error
}

// readers are the arguments whose files are read in a known form.
var readers = map[string]reader{
	"audit-policy-file": {kind: "Policy", versions: map[string]func([]byte) error{"audit.k8s.io/v1": readAuditPolicy}},
	"admission-control-config-file": {kind: "AdmissionConfiguration", versions: map[string]func([]byte) error{
		group + "v1": strict[v1.AdmissionConfiguration](nil), group + "v1alpha1": strict[v1alpha1.AdmissionConfiguration](nil),
	}},
	"encryption-provider-config": {kind: "EncryptionConfiguration", versions: map[string]func([]byte) error{group + "v1": strict(checkEncryption)}},
	"authentication-config": {kind: "AuthenticationConfiguration", versions: map[string]func([]byte) error{
		group + "v1": authentication[v1.AuthenticationConfiguration], group + "v1beta1": authentication[v1beta1.AuthenticationConfiguration], group + "v1alpha1": authentication[v1alpha1.AuthenticationConfiguration],
	}},
	"authorization-config": {kind: "AuthorizationConfiguration", versions: map[string]func([]byte) error{
		group + "v1":       strict(func(c *v1.AuthorizationConfiguration) error { return some(len(c.Authorizers)) }),
		group + "v1beta1":  strict(func(c *v1beta1.AuthorizationConfiguration) error { return some(len(c.Authorizers)) }),
		group + "v1alpha1": strict(func(c *v1alpha1.AuthorizationConfiguration) error { return some(len(c.Authorizers)) }),
	}},
	"tracing-config-file": {kind: "TracingConfiguration", versions: map[string]func([]byte) error{
		group + "v1": strict[v1.TracingConfiguration](nil), group + "v1beta1": strict[v1beta1.TracingConfiguration](nil), group + "v1alpha1": strict[v1alpha1.TracingConfiguration](nil),
	}},
	"egress-selector-config-file": {kind: "EgressSelectorConfiguration", versions: map[string]func([]byte) error{
		group + "v1beta1": strict[v1beta1.EgressSelectorConfiguration](nil), group + "v1alpha1": strict[v1alpha1.EgressSelectorConfiguration](nil),
	}},
	"audit-webhook-config-file":                {kind: "kubeconfig", other: readKubeconfig},
	"authentication-token-webhook-config-file": {kind: "kubeconfig", other: readKubeconfig},
	"authorization-webhook-config-file":        {kind: "kubeconfig", other: readKubeconfig},
	"authentication-kubeconfig":                {kind: "kubeconfig", other: readKubeconfig},
	"authorization-kubeconfig":                 {kind: "kubeconfig", other: readKubeconfig},
	pluginForm:                                 {kind: "configuration of an admission plugin in YAML", other: func(content []byte) error { return strict[map[string]any](nil)(content) }},
}

// Arguments whose files are certificates and keys, of any component.
var (
	certificateArgs = []string{
		"client-ca-file", "cluster-signing-cert-file", "etcd-cafile", "etcd-certfile", "kubelet-certificate-authority", "kubelet-client-certificate", "oidc-ca-file", "peer-ca-file",
		"proxy-client-cert-file", "requestheader-client-ca-file", "root-ca-file", "tls-cert-file",
		"cert-file", "client-cert-file", "peer-cert-file", "peer-client-cert-file", "peer-trusted-ca-file", "trusted-ca-file",
	}
	privateKeyArgs = []string{
		"cluster-signing-key-file", "etcd-keyfile", "kubelet-client-key", "proxy-client-key-file", "service-account-private-key-file", "service-account-signing-key-file", "tls-private-key-file",
		"client-key-file", "key-file", "peer-client-key-file", "peer-key-file",
	}
	keyArgs        = []string{"service-account-key-file", "auth-token"}
	revocationArgs = []string{"client-crl-file", "peer-crl-file"}
)

// readerOf returns what the file of an argument has to be.
func readerOf(argument string) (r reader, known bool) {
	switch {
	case slices.Contains(certificateArgs, argument):
		return reader{kind: "file of certificates in PEM", other: readCertificates}, true
	case slices.Contains(privateKeyArgs, argument):
		return reader{kind: "private key in PEM", other: readPrivateKey}, true
	case slices.Contains(keyArgs, argument):
		return reader{kind: "file of keys in PEM", other: readKeys}, true
	case slices.Contains(revocationArgs, argument):
		return reader{kind: "list of revoked certificates", other: readRevocations}, true
	}
	r, known = readers[argument]
	return r, known
}

// Kind returns what the file of an argument has to be; empty if its form is unknown.
func Kind(argument string) string {
	r, _ := readerOf(argument)
	return r.kind
}

// Without returns what a component does without a valid file of an argument: "not start".
func Without(argument string) string {
	if slices.Contains(revocationArgs, argument) {
		return "refuse every connection" // etcd reads the list with each of them
	}
	return "not start"
}

// Provide returns how to provide a component with the file of an argument, in a sentence without its end.
func Provide(component, argument, path string) string {
	if slices.Contains(revocationArgs, argument) {
		return fmt.Sprintf("Bring the list to %s on each control plane by other means, where the pod of etcd sees it, and name it there", etcdCertificates)
	}
	block := fmt.Sprintf("Write file %q { source = \"…\" } in the cluster block, which also mounts it", path)
	if component == "etcd" {
		return block // it has no extra_volume
	}
	return block + ", or mount a path that the hosts have with extra_volume"
}

// etcdCertificates is the folder that kubeadm mounts into the pod of etcd.
const etcdCertificates = "/etc/kubernetes/pki/etcd"

// Check returns why a component would refuse the content as the file of an argument; nil if it would
// not, or if the form is unknown. The error may quote parts of the content.
func Check(argument, content string) error {
	r, known := readerOf(argument)
	switch {
	case !known:
		return nil
	case r.other != nil:
		return r.other([]byte(content))
	}
	var head struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	if err := yaml.Unmarshal([]byte(content), &head); err != nil {
		return errors.New(plain(err))
	}
	if head.Kind != r.kind {
		return fmt.Errorf("its kind is %q", head.Kind)
	}
	read := r.versions[head.APIVersion]
	if read == nil {
		var all []string
		for v := range r.versions {
			all = append(all, v)
		}
		slices.Sort(all)
		return fmt.Errorf("its apiVersion is %q, and %s is read as %s", head.APIVersion, r.kind, strings.Join(all, ", "))
	}
	return read([]byte(content))
}

// plain returns an error of the YAML parser without its prefixes.
func plain(err error) string {
	text := err.Error()
	for _, prefix := range []string{"error converting YAML to JSON: ", "error unmarshaling JSON: ", "while decoding JSON: ", "yaml: ", "json: "} {
		text = strings.TrimPrefix(text, prefix)
	}
	return text
}

// strict returns a reader that decodes into a type, refuses unknown and repeated fields, and checks the
// result.
func strict[T any](check func(*T) error) func([]byte) error {
	return func(content []byte) error {
		var out T
		if err := yaml.UnmarshalStrict(content, &out); err != nil {
			return errors.New(plain(err))
		}
		if check == nil {
			return nil
		}
		return check(&out)
	}
}

func some(authorizers int) error {
	if authorizers == 0 {
		return errors.New("it has no authorizers, and at least one is required")
	}
	return nil
}

// readAuditPolicy decodes an audit policy and checks it as the API server does.
func readAuditPolicy(content []byte) error {
	var p auditv1.Policy
	if err := yaml.UnmarshalStrict(content, &p); err != nil {
		return errors.New(plain(err))
	}
	if len(p.Rules) == 0 {
		return errors.New("it has no rules, and the API server refuses a policy without any")
	}
	var internal audit.Policy
	if err := auditv1.Convert_v1_Policy_To_audit_Policy(&p, &internal, nil); err != nil {
		return err
	}
	return fields(auditvalidation.ValidatePolicy(&internal))
}

// fields returns the first of several errors about fields.
func fields(all field.ErrorList) error {
	if len(all) == 0 {
		return nil
	}
	return errors.New(all[0].Error())
}

// checkEncryption checks what the API server requires of an encryption configuration. Its errors name
// fields and never quote a key.
func checkEncryption(c *v1.EncryptionConfiguration) error {
	if len(c.Resources) == 0 {
		return errors.New("it has no resources")
	}
	for i, r := range c.Resources {
		at := fmt.Sprintf("resources[%d]", i)
		if len(r.Resources) == 0 || len(r.Providers) == 0 {
			return fmt.Errorf("%s needs both resources and providers", at)
		}
		for j, p := range r.Providers {
			if err := checkProvider(fmt.Sprintf("%s.providers[%d]", at, j), p); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkProvider(at string, p v1.ProviderConfiguration) error {
	count := 0
	for _, set := range []bool{p.AESGCM != nil, p.AESCBC != nil, p.Secretbox != nil, p.Identity != nil, p.KMS != nil} {
		if set {
			count++
		}
	}
	if count != 1 {
		return fmt.Errorf("%s has %d providers, and each element has exactly one", at, count)
	}
	switch {
	case p.AESGCM != nil:
		return checkKeys(at+".aesgcm", p.AESGCM.Keys, 16, 24, 32)
	case p.AESCBC != nil:
		return checkKeys(at+".aescbc", p.AESCBC.Keys, 16, 24, 32)
	case p.Secretbox != nil:
		return checkKeys(at+".secretbox", p.Secretbox.Keys, 32)
	}
	return nil
}

func checkKeys(at string, keys []v1.Key, sizes ...int) error {
	if len(keys) == 0 {
		return fmt.Errorf("%s has no keys", at)
	}
	for i, k := range keys {
		b, err := base64.StdEncoding.DecodeString(k.Secret)
		switch {
		case k.Name == "":
			return fmt.Errorf("%s.keys[%d] has no name", at, i)
		case err != nil:
			return fmt.Errorf("%s.keys[%d].secret is no base64", at, i)
		case !slices.Contains(sizes, len(b)):
			return fmt.Errorf("%s.keys[%d].secret has %d bytes, and keys of %v are possible", at, i, len(b), sizes)
		}
	}
	return nil
}

// kubeconfig has the fields of a kubeconfig that every reader needs.
type kubeconfig struct {
	Clusters []struct {
		Name    string         `json:"name"`
		Cluster map[string]any `json:"cluster"`
	} `json:"clusters"`
	Contexts []struct {
		Name    string `json:"name"`
		Context struct {
			Cluster   string `json:"cluster"`
			User      string `json:"user"`
			Namespace string `json:"namespace"`
			Extra     any    `json:"extensions"`
		} `json:"context"`
	} `json:"contexts"`
	Users []struct {
		Name string         `json:"name"`
		User map[string]any `json:"user"`
	} `json:"users"`
	CurrentContext string `json:"current-context"`
	APIVersion     string `json:"apiVersion"`
	Kind           string `json:"kind"`
	Preferences    any    `json:"preferences"`
	Extensions     any    `json:"extensions"`
}

// readKubeconfig checks that the current context of a kubeconfig leads to a cluster with a server.
func readKubeconfig(content []byte) error {
	var k kubeconfig
	if err := yaml.UnmarshalStrict(content, &k); err != nil {
		return errors.New(plain(err))
	}
	if k.Kind != "" && k.Kind != "Config" {
		return fmt.Errorf("its kind is %q, and a kubeconfig has Config", k.Kind)
	}
	for _, c := range k.Contexts {
		if c.Name != k.CurrentContext {
			continue
		}
		for _, cluster := range k.Clusters {
			if server, _ := cluster.Cluster["server"].(string); cluster.Name == c.Context.Cluster && server != "" {
				return nil
			}
		}
		return fmt.Errorf("its current context names the cluster %q, which it does not have, or which has no server", c.Context.Cluster)
	}
	return errors.New("it has no context with the name in current-context")
}
