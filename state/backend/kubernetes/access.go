package kubernetes

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/backend"
	"github.com/kubewright/kubewright/state/kubeconfig"
	"github.com/kubewright/kubewright/state/safefile"
)

// A kubeconfig may name programs to run and files to read. The operator's own may do that: the
// one of KUBECONFIG, ~/.kube/config, or one that the operator named as config_path. A
// configuration may come from an untrusted branch, with a kubeconfig beside it, so a kubeconfig
// that only the configuration names is read by package kubeconfig.

// Giver is the origin of config_path.
type Giver int

// A user who can write the configuration can name a file in it, and write that file.
const (
	Configuration Giver = iota
	Environment
	CommandLine
)

// Operator describes the machine that the backend runs on.
type Operator struct {
	// Folder is the configuration folder, Dir the working directory of the command; empty stands
	// for the current directory.
	Folder, Dir string
	Getenv      func(string) string
	// ConfigPath is the origin of config_path.
	ConfigPath Giver
}

// way holds how a cluster is reached.
type way struct {
	config    *rest.Config
	namespace string
	secrets   *state.Redactor
}

// find returns the way to the cluster of the settings.
func (o Operator) find(s backend.Settings) (way, error) {
	if s.Bool("in_cluster_config") {
		config, err := rest.InClusterConfig()
		return way{config, orDefault(s["namespace"]), state.NewRedactor(backend.ProxySecrets())}, err
	}
	var files []string
	if path := s["config_path"]; path != "" {
		own, path := o.named(path)
		if !own {
			return strict(path, s)
		}
		if _, err := os.Stat(path); err != nil { // client-go would skip a missing one silently
			return way{}, err
		}
		files = []string{path}
	} else {
		var err error
		files, err = o.kubeconfigs()
		if foreign := (*ambientError)(nil); errors.As(err, &foreign) && len(foreign.all) == 1 {
			return strict(foreign.file, s)
		}
		if err != nil {
			return way{}, err
		}
	}
	return trusting(files, s)
}

func orDefault(namespace string) string {
	if namespace == "" {
		return metav1.NamespaceDefault
	}
	return namespace
}

// trusting reads the operator's own kubeconfigs as kubectl does.
func trusting(files []string, s backend.Settings) (way, error) {
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(&clientcmd.ClientConfigLoadingRules{Precedence: files},
		&clientcmd.ConfigOverrides{CurrentContext: s["config_context"]})
	w := way{namespace: s["namespace"], secrets: secretsOf(loader)}
	var err error
	if w.config, err = loader.ClientConfig(); err == nil && w.namespace == "" {
		w.namespace, _, err = loader.Namespace()
	}
	return w, err
}

// strict takes from a kubeconfig only its inline data, and refuses one that names a program or a
// file, or has any other setting.
func strict(file string, s backend.Settings) (way, error) {
	w := way{secrets: state.NewRedactor(backend.ProxySecrets())}
	b, err := safefile.ReadLinked(file, kubeconfig.MaxSize)
	if err != nil {
		return w, fmt.Errorf("cannot read %s: %w", file, bare(err))
	}
	f, err := kubeconfig.Parse(b)
	if err != nil {
		return w, fmt.Errorf("%s: %w", file, err)
	}
	var secrets []string
	for _, u := range f.Users {
		secrets = append(secrets, u.Token)
	}
	for _, c := range f.Clusters {
		secrets = append(secrets, backend.LoginSecrets(c.Server)...)
	}
	w.secrets = w.secrets.And(state.NewRedactor(secrets))
	if err := f.Refuse(); err != nil {
		return w, &untrustedError{file, err}
	}
	a, err := f.Access(s["config_context"])
	if err != nil {
		return w, fmt.Errorf("%s: %w", file, err)
	}
	if !isAPI(a.Cluster.Server) {
		return w, errNoURL
	}
	w.namespace = s["namespace"]
	if w.namespace == "" {
		w.namespace = orDefault(a.Namespace)
	}
	w.config = &rest.Config{
		Host: a.Cluster.Server, BearerToken: a.User.Token,
		TLSClientConfig: rest.TLSClientConfig{
			ServerName: a.Cluster.TLSServerName, CAData: a.Cluster.CA, CertData: a.User.Certificate, KeyData: a.User.Key,
		},
	}
	return w, nil
}

// untrustedError is about a kubeconfig that only the configuration names.
type untrustedError struct {
	file string
	err  error
}

func (e *untrustedError) Error() string {
	return fmt.Sprintf("%s was named by the configuration or lies in its folder, which may come from an untrusted branch, and %s. "+
		"Of such a kubeconfig only server, certificate-authority-data, tls-server-name, client-certificate-data, client-key-data, token and namespace are used: "+
		"it runs no program and opens no file here. If it is yours, keep it elsewhere and name it in KUBECONFIG, or give -backend-config=config_path=%s", e.file, e.err, state.ShellWord(e.file))
}

func (e *untrustedError) Unwrap() error { return e.err }

// isAPI reports whether a text is the URL of an API server that is called with TLS.
func isAPI(server string) bool {
	u, err := url.Parse(server)
	return err == nil && u.Scheme == "https" && u.Hostname() != "" && u.User == nil && u.RawQuery == "" && u.Fragment == ""
}

// bare returns an error of the file system without the path, which the caller's message already
// has.
func bare(err error) error {
	var e *os.PathError
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

// named returns config_path as a file, and reports whether it is the operator's own. A path from
// the configuration is the operator's own if it is one of kubectl's kubeconfigs on this machine.
// It is then read under that file's name, because relative paths in a kubeconfig begin in its
// folder.
func (o Operator) named(path string) (own bool, file string) {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		path = filepath.Join(o.home(), rest)
	}
	relative := !filepath.IsAbs(path)
	switch o.ConfigPath {
	case CommandLine:
		return true, o.from(o.Folder, path)
	case Environment:
		file = o.from(o.Dir, path)
		if !relative || !o.inFolder(file) {
			return true, file
		}
	default:
		file = o.from(o.Folder, path)
	}
	info, err := os.Stat(file)
	if err != nil {
		return false, file
	}
	files, _ := o.kubeconfigs()
	for _, f := range files {
		if other, err := os.Stat(f); err == nil && os.SameFile(info, other) {
			return true, f
		}
	}
	return false, file
}

// ambientError is about a kubeconfig below the configuration folder that KUBECONFIG names by a
// path relative to the working directory.
type ambientError struct {
	file string
	all  []string
}

func (e *ambientError) Error() string {
	return fmt.Sprintf("KUBECONFIG names %s, a file of the configuration folder, by a relative path and beside others, whose credentials it could send elsewhere: name it by its absolute path if it is yours", e.file)
}

// kubeconfigs returns the operator's own kubeconfigs: those in KUBECONFIG, or ~/.kube/config. A
// relative name means a different file in each directory: it fails for one that lies in the
// configuration folder.
func (o Operator) kubeconfigs() ([]string, error) {
	var out []string
	var foreign *ambientError
	for _, f := range filepath.SplitList(o.getenv("KUBECONFIG")) {
		if f == "" {
			continue
		}
		file := o.from(o.Dir, f)
		if !filepath.IsAbs(f) && o.inFolder(file) {
			foreign = &ambientError{file: file}
		}
		out = append(out, file)
	}
	switch {
	case foreign != nil:
		foreign.all = out
		return nil, foreign
	case len(out) > 0:
		return out, nil
	}
	if home := o.home(); home != "" {
		out = append(out, filepath.Join(home, ".kube", "config"))
	}
	return out, nil
}

// home returns the operator's home directory as an absolute path; empty when it is not known. A
// relative HOME is ignored.
func (o Operator) home() string {
	if home := o.getenv("HOME"); filepath.IsAbs(home) {
		return home
	}
	if u, err := user.Current(); err == nil && filepath.IsAbs(u.HomeDir) {
		return u.HomeDir
	}
	return ""
}

func (o Operator) getenv(name string) string {
	if o.Getenv == nil {
		return os.Getenv(name)
	}
	return o.Getenv(name)
}

// from returns an absolute path; relative paths begin at folder.
func (o Operator) from(folder, path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(folder, path)
	}
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// inFolder reports whether a file lies below the configuration folder, by its name or after
// resolving symlinks.
func (o Operator) inFolder(file string) bool {
	folder := o.from(o.Folder, ".")
	for _, f := range []string{file, resolved(file)} {
		for _, d := range []string{folder, resolved(folder)} {
			if rel, err := filepath.Rel(d, f); err == nil && filepath.IsLocal(rel) {
				return true
			}
		}
	}
	return false
}

func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// secretsOf redacts the secrets of a kubeconfig, of all its contexts.
func secretsOf(loader clientcmd.ClientConfig) *state.Redactor {
	secrets := backend.ProxySecrets()
	raw, err := loader.RawConfig()
	if err != nil { // it cannot be read, which is reported later
		raw = clientcmdapi.Config{}
	}
	for _, c := range raw.Clusters {
		secrets = append(secrets, backend.LoginSecrets(c.Server)...)
		secrets = append(secrets, backend.LoginSecrets(c.ProxyURL)...)
	}
	for _, u := range raw.AuthInfos {
		secrets = append(secrets, backend.BasicSecrets(u.Username, u.Password)...)
		secrets = append(secrets, u.Token)
	}
	return state.NewRedactor(secrets)
}
