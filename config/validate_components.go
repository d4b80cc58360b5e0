package config

import (
	"crypto/tls"
	"fmt"
	"net/netip"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kubewright/kubewright/config/componentflag"
	"github.com/kubewright/kubewright/config/keypair"
)

// sans checks names for a certificate: DNS names, wildcards, IP addresses.
func (c checker) sans(path string, names []string) {
	for _, name := range names {
		if _, err := netip.ParseAddr(name); err == nil || len(validation.IsDNS1123Subdomain(name)) == 0 || len(validation.IsWildcardDNS1123Subdomain(name)) == 0 {
			continue
		}
		hint := ""
		if strings.Contains(name, ":") {
			hint = " A port, and brackets, are no part of it."
		}
		c.errorf(path, "Invalid certificate name", "%s is neither a DNS name in lower case, nor one that begins with \"*.\", nor an IP address.%s", c.show(path, name), hint)
	}
}

// component checks arguments, volumes and environment of a static pod, in which the folder of
// certificates is mounted.
func (c checker) component(block, name string, p Component, certificates string) {
	c.args(block, name, p.Args)
	c.envs(block, p.Envs)
	mounts := usualMounts(name, certificates)
	for _, v := range p.Volumes {
		for at, usual := range mounts {
			if usual == v.Name {
				delete(mounts, at) // it takes that one's place
			}
		}
	}
	for _, v := range p.Volumes {
		path := fmt.Sprintf("%s.extra_volume[%q]", block, v.Name)
		if bad := validation.IsDNS1123Label(v.Name); len(bad) > 0 {
			c.errorAt(v.Source, "Invalid volume name", "%q cannot name a volume of a pod: %s.", v.Name, reasons(bad))
		}
		c.absolute(path+".host_path", v.HostPath)
		c.absolute(path+".mount_path", v.MountPath)
		c.oneOf(path+".path_type", "Invalid path type", v.PathType, "DirectoryOrCreate", "Directory", "FileOrCreate", "File", "Socket", "CharDevice", "BlockDevice")
		c.mountPath(path, v, mounts)
	}
}

func (c checker) envs(block string, envs []EnvVar) {
	for _, e := range envs {
		path := fmt.Sprintf("%s.extra_env[%q]", block, e.Name)
		if bad := validation.IsRelaxedEnvVarName(e.Name); len(bad) > 0 {
			c.errorAt(e.Source, "Invalid environment variable", "%q cannot name an environment variable: %s.", e.Name, reasons(bad))
		}
		if strings.Contains(e.Value, "\x00") {
			c.errorAt(e.Source, "Invalid environment variable", "The value of %q holds a zero byte, which no environment variable can hold. The container would not start.", e.Name)
		}
		if e.ValueFrom.IsNull() {
			continue
		}
		if e.Value != "" {
			c.errorf(path+".value_from", "Conflicting values", "value and value_from exclude each other. Write one of them.")
		}
		c.tree(path+".value_from", "EnvVarSource", e.ValueFrom, reflect.TypeFor[corev1.EnvVarSource]())
	}
}

var argName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)

// args checks the names of arguments, and values of known flags.
func (c checker) args(block, component string, args []Arg) {
	for _, a := range args {
		path := fmt.Sprintf("%s.arg[%q]", block, a.Name)
		switch {
		case a.Name == "":
		case strings.HasPrefix(a.Name, "-"):
			c.errorAt(a.Source, "Argument name with dashes", "The dashes are added by themselves. Write arg %q.", strings.TrimLeft(a.Name, "-"))
		case strings.Contains(a.Name, "="):
			name, value, _ := strings.Cut(a.Name, "=")
			c.errorAt(a.Source, "Argument name with a value", "Write arg %q { value = %q }.", name, value)
		case !argName.MatchString(a.Name):
			c.errorAt(a.Source, "Invalid argument name", "%q cannot name an argument of %s.", a.Name, component)
		default:
			c.flag(component, a)
		}
		if strings.ContainsAny(a.Value, "\n\x00") {
			c.errorAt(a.Source, "Invalid argument value", "The value of %s holds a line break or a zero byte.", a.Name)
			continue
		}
		c.argValue(path, component, a)
	}
	checkTogether(c, block, component, args)
}

// argValue checks a value, since an invalid one stops the component. The value that the kubelet
// substitutes for $(NAME) when it starts a static pod is unknown here.
func (c checker) argValue(path, component string, a Arg) {
	if component != "kubelet" && strings.Contains(a.Value, "$(") {
		return
	}
	c.here = a.Source
	if component == "kubelet" {
		c.ofNode(path, componentflag.FlagName(component, a.Name), a.Value)
	}
	c.value(path, component, a)
}

var tlsVersions = []string{"VersionTLS10", "VersionTLS11", "VersionTLS12", "VersionTLS13"}

// cipherSuites checks names as Go, and therefore all components, know them.
func (c checker) cipherSuites(path string, names []string) {
	var known []string
	for _, s := range slices.Concat(tls.CipherSuites(), tls.InsecureCipherSuites()) {
		known = append(known, s.Name)
	}
	for _, name := range names {
		if name = strings.TrimSpace(name); name != "" && !slices.Contains(known, name) {
			c.errorf(path, "Unknown cipher suite", "%s is no cipher suite that the components know.%s", c.show(path, name), didYouMeanOr(name, known, "They know "+list(known[:len(tls.CipherSuites())])+"."))
		}
	}
	for _, s := range tls.InsecureCipherSuites() {
		if slices.Contains(names, s.Name) {
			c.warnf(path, "Insecure cipher suite", "%s is known to be insecure. Take it out of the list.", s.Name)
		}
	}
}

// etcd checks etcd on the control planes, or the external one.
func (c checker) etcd(cl *Cluster) {
	e := cl.Etcd
	c.repository("etcd.image_repository", e.ImageRepository)
	c.tag("etcd.image_tag", e.ImageTag)
	c.ownFolder("etcd.data_dir", e.DataDir)
	c.args("etcd", "etcd", e.Args)
	c.etcdTimes(e.Args)
	c.envs("etcd", e.Envs)
	c.sans("etcd.server_cert_sans", e.ServerCertSANs)
	c.sans("etcd.peer_cert_sans", e.PeerCertSANs)
	if e.External == nil {
		return
	}
	for path := range c.origins {
		if strings.HasPrefix(path, "etcd.") && !strings.HasPrefix(path, "etcd.external") && strings.Count(path, ".") == 1 {
			c.errorf(path, "Setting of a stacked etcd", "An external etcd is never changed, so that %s has no effect beside external. Remove one of them.", strings.TrimPrefix(path, "etcd."))
		}
	}
	if !cl.Certificates.EtcdCA.IsZero() {
		c.errorf("certificates.etcd_ca", "Setting of a stacked etcd", "With an external etcd there is no CA of etcd's here. Remove etcd_ca; the CA of the external one is ca_file in etcd { external }.")
	}
	c.externalEtcd(e.External)
}

// etcdTimes checks what etcd requires of its times, in milliseconds, at its start
// (embed/config.go of 3.6 and 3.7).
func (c checker) etcdTimes(args []Arg) {
	const longest = 50000
	beat, beats := milliseconds(args, "heartbeat-interval", 100)
	election, elects := milliseconds(args, "election-timeout", 1000)
	switch path := `etcd.arg["election-timeout"]`; {
	case !beats || !elects: // an invalid one is reported by itself, or only the host knows it
	case beat == 0:
		c.errorf(`etcd.arg["heartbeat-interval"]`, "Invalid argument value", "heartbeat-interval is above 0; etcd would not start.")
	case election > longest:
		c.errorf(path, "Invalid argument value", "election-timeout is %d at most; etcd would not start.", longest)
	case election < 5*beat:
		if !slices.ContainsFunc(args, func(a Arg) bool { return a.Name == "election-timeout" }) {
			path = `etcd.arg["heartbeat-interval"]`
		}
		c.errorf(path, "Values contradict each other", "election-timeout (%d) has to be 5 times heartbeat-interval (%d) at least, which is %d; etcd would not start.", election, beat, 5*beat)
	}
}

// milliseconds returns the value of one of etcd's times. known is false if it cannot be read.
func milliseconds(args []Arg, name string, unset uint64) (ms uint64, known bool) {
	value := lastArg(args, name)
	if value == "" {
		return unset, true
	}
	ms, err := strconv.ParseUint(value, 0, 32)
	return ms, err == nil
}

func (c checker) externalEtcd(e *ExternalEtcd) {
	const block, summary = "etcd.external", "Invalid external etcd"
	if len(e.Endpoints) == 0 && c.written(block+".endpoints") {
		c.errorf(block+".endpoints", summary, "There must be at least one endpoint.")
	}
	secure := e.CAFile != "" || e.CertFile != "" || e.KeyFile != ""
	c.etcdEndpoints(block+".endpoints", e.Endpoints, secure)
	if c.written(block + ".http_endpoints") {
		c.etcdEndpoints(block+".http_endpoints", e.HTTPEndpoints, false)
		if c.minor != 0 && c.minor < 35 {
			c.errorf(block+".http_endpoints", summary, "http_endpoints exists since Kubernetes 1.35. Leave it out, or take a newer kubernetes_version.")
		}
	}
	for _, f := range []struct {
		name, path string
		brought    bool
	}{{"ca_file", e.CAFile, e.CAContent != ""}, {"cert_file", e.CertFile, e.CertContent != ""}, {"key_file", e.KeyFile, !e.KeyContent.IsZero()}} {
		if f.brought {
			c.ownFile(block+"."+f.name, f.path)
		} else {
			c.ownPath(block+"."+f.name, f.path)
		}
	}
	switch {
	case (e.CertFile == "") != (e.KeyFile == ""):
		c.errorf(block, summary, "cert_file and key_file belong together: one is given without the other.")
	case e.CertFile != "" && e.CAFile == "":
		c.errorf(block, summary, "With a client certificate ca_file is needed as well, by which etcd is known.")
	}
	for _, x := range []struct {
		given       bool
		name, where string
	}{{e.CAContent != "" && e.CAFile == "", "ca", "ca_file"}, {e.CertContent != "" && e.CertFile == "", "cert", "cert_file"}, {!e.KeyContent.IsZero() && e.KeyFile == "", "key", "key_file"}} {
		if x.given {
			c.errorf(block+"."+x.name, summary, "%s is the content of a file on the control planes whose path is missing: %s.", x.name, x.where)
		}
	}
	c.etcdClient(e)
}

// etcdClient checks the files that are copied to the control planes.
func (c checker) etcdClient(e *ExternalEtcd) {
	const block, summary = "etcd.external", "Invalid external etcd"
	for name, text := range map[string]string{"ca": e.CAContent, "cert": e.CertContent} {
		if text == "" {
			continue
		}
		if _, err := keypair.ParseCertificates([]byte(text)); err != nil {
			c.errorf(block+"."+name, summary, "%s.%s", sentence(err), pathHint(text, "etcd/"+name+".crt"))
		}
	}
	cert, err := keypair.ParseCertificate([]byte(e.CertContent))
	switch {
	case e.CertContent == "" && !e.KeyContent.IsZero():
		c.errorf(block+".key", summary, "The key is known by its certificate, which is missing: give cert as well.")
	case err != nil || e.KeyContent.IsZero():
	default:
		if err := keypair.KeyBelongs(cert, e.KeyContent.Reveal()); err != nil {
			c.errorf(block+".key", summary, "%s.%s", sentence(err), pathHint(string(e.KeyContent.Reveal()), "etcd/client.key"))
		}
	}
}

func (c checker) etcdEndpoints(path string, endpoints []string, secure bool) {
	const summary = "Invalid etcd endpoint"
	for _, s := range endpoints {
		u, err := url.Parse(s)
		switch {
		case err != nil || u.Host == "" || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https":
			c.errorf(path, summary, "%s is no URL, as in \"https://etcd1.example.com:2379\".", c.show(path, s))
		case u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.User != nil:
			c.errorf(path, summary, "%s has more than a scheme, a host and a port.", c.show(path, s))
		case secure && u.Scheme != "https":
			c.errorf(path, summary, "%s must begin with https:// because certificates are given.", c.show(path, s))
		case !validHost(u.Hostname()):
			c.errorf(path, summary, "The host of %s is neither an IP address nor a DNS name in lower case.", c.show(path, s))
		}
	}
}
