package kubeconfig

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// MaxSize is the largest kubeconfig that is read, in bytes.
const MaxSize = 1 << 20

// File holds the fields of a kubeconfig that are on the list.
type File struct {
	Clusters []Cluster
	Users    []User
	Contexts []Context
	// Current is the name of the current context, or empty.
	Current string
	foreign []string
}

// Cluster is an API server and the means to verify it.
type Cluster struct {
	Name, Server, TLSServerName string
	// CA is PEM, or empty.
	CA []byte
}

// User holds the credentials of a client. Certificate and Key are PEM.
type User struct {
	Name             string
	Certificate, Key []byte
	Token            string
}

// Context names a cluster, a user and a namespace.
type Context struct{ Name, Cluster, User, Namespace string }

// Access is a context with its cluster and user.
type Access struct {
	Context
	Cluster Cluster
	User    User
}

// The keys on the list, of the file and of the three kinds of entries.
var (
	fileKeys    = []string{"apiVersion", "kind", "clusters", "users", "contexts", "current-context"}
	clusterKeys = []string{"server", "certificate-authority-data", "tls-server-name"}
	userKeys    = []string{"client-certificate-data", "client-key-data", "token"}
	contextKeys = []string{"cluster", "user", "namespace"}
)

// Parse reads a kubeconfig in YAML or JSON. Fields that are not on the list are no error: Foreign
// returns them. Errors quote nothing of the file, because it holds a key.
func Parse(b []byte) (*File, error) {
	if len(b) > MaxSize {
		return nil, fmt.Errorf("cannot parse kubeconfig: it has more than %d KiB", MaxSize>>10)
	}
	var tree map[string]any
	if err := yaml.UnmarshalStrict(b, &tree); err != nil {
		return nil, errors.New("cannot parse kubeconfig: it is no YAML of that kind, or gives a key twice")
	}
	if kind, _ := tree["kind"].(string); kind != "Config" {
		return nil, errors.New("cannot parse kubeconfig: its kind is not Config")
	}
	if v, there := tree["apiVersion"]; there && v != "v1" {
		return nil, errors.New("cannot parse kubeconfig: its apiVersion is not v1")
	}
	r := &reader{}
	f := &File{Current: r.text(tree, "current-context")}
	r.only("", tree, fileKeys)
	r.entries(tree, "clusters", "cluster", clusterKeys, func(name string, c map[string]any) {
		f.Clusters = append(f.Clusters, Cluster{name, r.text(c, "server"), r.text(c, "tls-server-name"), r.data(c, "certificate-authority-data")})
	})
	r.entries(tree, "users", "user", userKeys, func(name string, u map[string]any) {
		f.Users = append(f.Users, User{name, r.data(u, "client-certificate-data"), r.data(u, "client-key-data"), r.text(u, "token")})
	})
	r.entries(tree, "contexts", "context", contextKeys, func(name string, c map[string]any) {
		f.Contexts = append(f.Contexts, Context{name, r.text(c, "cluster"), r.text(c, "user"), r.text(c, "namespace")})
	})
	if r.err != nil {
		return nil, r.err
	}
	slices.Sort(r.foreign)
	f.foreign = r.foreign
	return f, nil
}

// Foreign returns the set fields that are not on the list, such as users["jane"].exec, sorted and
// without their values.
func (f *File) Foreign() []string { return slices.Clone(f.foreign) }

// Access returns the context with this name, or the current one for an empty name.
func (f *File) Access(context string) (Access, error) {
	if context == "" {
		context = f.Current
	}
	if context == "" {
		return Access{}, errors.New("the kubeconfig has no current context")
	}
	a := Access{}
	for _, c := range f.Contexts {
		if c.Name == context {
			a.Context = c
		}
	}
	if a.Name == "" {
		return Access{}, fmt.Errorf("the kubeconfig has no context %s", quoted(context))
	}
	cluster := slices.IndexFunc(f.Clusters, func(c Cluster) bool { return c.Name == a.Context.Cluster })
	if cluster < 0 {
		return Access{}, fmt.Errorf("the kubeconfig has no cluster %s, which its context %s names", quoted(a.Context.Cluster), quoted(context))
	}
	a.Cluster = f.Clusters[cluster]
	user := slices.IndexFunc(f.Users, func(u User) bool { return u.Name == a.Context.User })
	switch {
	case user >= 0:
		a.User = f.Users[user]
	case a.Context.User != "":
		return Access{}, fmt.Errorf("the kubeconfig has no user %s, which its context %s names", quoted(a.Context.User), quoted(context))
	}
	return a, nil
}

// Refuse returns a *ForeignError when a field is set that is not on the list.
func (f *File) Refuse() error {
	if len(f.foreign) == 0 {
		return nil
	}
	return &ForeignError{Fields: f.Foreign()}
}

// OnlyAdmin returns a *ForeignError when the file sets more than kubeadm's admin.conf: one
// cluster with its server and CA, one user with a certificate and key, one context.
func (f *File) OnlyAdmin() error {
	fields := f.Foreign()
	add := func(set bool, format string, name string) {
		if set {
			fields = append(fields, fmt.Sprintf(format, quoted(name)))
		}
	}
	for i, c := range f.Clusters {
		add(i > 0, "clusters[%s]", c.Name)
		add(c.TLSServerName != "", "clusters[%s].tls-server-name", c.Name)
	}
	for i, u := range f.Users {
		add(i > 0, "users[%s]", u.Name)
		add(u.Token != "", "users[%s].token", u.Name)
	}
	for i, c := range f.Contexts {
		add(i > 0, "contexts[%s]", c.Name)
		add(c.Namespace != "", "contexts[%s].namespace", c.Name)
	}
	if len(fields) == 0 {
		return nil
	}
	slices.Sort(fields)
	return &ForeignError{Fields: fields}
}

// ForeignError lists the fields of a kubeconfig that are not on the list.
type ForeignError struct{ Fields []string }

// most is how many fields an error lists.
const most = 10

// Error names the fields.
func (e *ForeignError) Error() string {
	fields := e.Fields
	if n := len(fields) - most; n > 0 {
		fields = append(slices.Clone(fields[:most]), fmt.Sprintf("and %d more", n))
	}
	return "it sets " + strings.Join(fields, ", ")
}
