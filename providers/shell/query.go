package shell

import (
	_ "embed" // the script
	"fmt"
	"strconv"
	"strings"

	"github.com/kubewright/kubewright/state"
)

var (
	//go:embed scripts/observe.sh
	observeScript string
	//go:embed scripts/runtime.sh
	runtimeScript string
	//go:embed scripts/preflight.sh
	preflightScript string
)

// The places of kubewright's own files on a host.
const (
	marksDir  = "/var/lib/kubewright"
	marksFile = marksDir + "/marks.json"
	tokenFile = marksDir + "/token"
)

// Files that are always read, for facts or marks.
const (
	machineIDFile = "/etc/machine-id"
	osReleaseFile = "/etc/os-release"
)

var factFiles = []string{machineIDFile, osReleaseFile, marksFile, tokenFile}

// caDirs are the distributions' CA folders that kubeadm mounts where they
// exist, in addition to /etc/ssl/certs (kubeadm, app/phases/controlplane/volumes.go).
var caDirs = []string{
	"/etc/pki/ca-trust", "/etc/pki/tls/certs", "/etc/ca-certificates",
	"/usr/share/ca-certificates", "/usr/local/share/ca-certificates",
}

// resolvedUnit is part of every observation: kubeadm sets the kubelet's resolvConf if it is
// active.
const resolvedUnit = "systemd-resolved.service"

// checkWord refuses anything but a plain word: for names of units, modules, sysctls.
func checkWord(what, s string) error {
	ok := s != "" && s[0] != '-'
	for _, r := range s {
		ok = ok && (r == '_' || r == '-' || r == '.' || r == '@' || r == ':' || r == '/' || r == '\\' ||
			'0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z')
	}
	if !ok {
		return fmt.Errorf("%s %q is not a plain name", what, s)
	}
	return nil
}

// query is a state.Query compiled for one host: which paths go to which function of the
// script, below the host's root.
type query struct {
	state.Query
	root                               string
	stats, digests                     []string
	contents, certificates, kubeconfig []string
	keys                               []string
	// socket is the socket file of the desired runtime; empty for whichever is found.
	socket string
	// facts reports whether the whole report is wanted, not only secrets.
	facts bool
}

func newQuery(q state.Query, root string, facts bool) (*query, error) {
	out := &query{Query: q, root: root, facts: facts}
	for _, f := range q.Files {
		if err := state.CheckPath(f.Path); err != nil {
			return nil, err
		}
		if err := out.add(f); err != nil {
			return nil, err
		}
	}
	for _, p := range q.Secrets {
		if err := state.CheckPath(p); err != nil {
			return nil, err
		}
		out.contents = append(out.contents, root+p)
	}
	if facts {
		for _, p := range caDirs {
			out.stats = append(out.stats, root+p)
		}
		for _, p := range factFiles {
			out.contents = append(out.contents, root+p)
		}
	}
	if q.CRISocket != "" {
		file, err := socketPath(q.CRISocket)
		if err != nil {
			return nil, err
		}
		out.socket = root + file
	}
	out.contents = unique(out.contents)
	out.digests = unique(append(out.digests, out.contents...))
	out.stats = unique(out.stats)
	return out, out.checkNames()
}

func (q *query) add(f state.FileQuery) error {
	p := q.root + f.Path
	q.stats = append(q.stats, p)
	switch f.Read {
	case state.ReadStat:
		return nil
	case state.ReadKey:
		q.keys = append(q.keys, p)
	case state.ReadDigest:
	case state.ReadContent, state.ReadPublicKeys, state.ReadEncryption:
		q.contents = append(q.contents, p)
	case state.ReadCertificate, state.ReadAuthority:
		q.certificates = append(q.certificates, p)
	case state.ReadKubeconfig:
		q.kubeconfig = append(q.kubeconfig, p)
	default:
		return fmt.Errorf("internal error: no reader for %q of a file", f.Read)
	}
	q.digests = append(q.digests, p)
	return nil
}

func (q *query) checkNames() error {
	for _, g := range q.Globs {
		if !strings.HasPrefix(g, "/") {
			return fmt.Errorf("pattern %q is not absolute", g)
		}
		if err := state.CheckText("pattern", g); err != nil {
			return err
		}
	}
	for _, p := range q.Processes {
		if err := checkProcess(p); err != nil {
			return err
		}
	}
	if err := checkPackages(q.Packages); err != nil {
		return err
	}
	for what, names := range map[string][]string{
		"unit": q.Units, "module": q.Modules, "command": q.Commands, "user": q.Users,
	} {
		for _, n := range names {
			if err := checkWord(what, n); err != nil {
				return err
			}
		}
	}
	for _, n := range q.Sysctls {
		if err := checkSysctl(n); err != nil {
			return err
		}
	}
	return nil
}

// unique drops repetitions and keeps the order.
func unique(list []string) []string {
	seen := map[string]bool{}
	var out []string
	for _, s := range list {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}

// units returns the units to ask systemd about, in the order of its answer.
func (q *query) units() []string { return unique(append([]string{resolvedUnit}, q.Units...)) }

// script returns the query as a script. Large programs start first and are waited for last:
// their output goes into a pipe that is read at the end.
func (q *query) script() string {
	var b strings.Builder
	b.WriteString("kw_cap=" + strconv.Itoa(contentCap) + "\nkw_r=" + Quote(q.root) + "\n")
	b.WriteString(observeScript)
	if q.Images {
		b.WriteString(runtimeScript)
	}
	if len(q.Processes) > 0 {
		b.WriteString(processScript)
	}
	if len(q.Packages.Names) > 0 {
		b.WriteString(packagesSeenScript)
	}
	if q.Preflight {
		b.WriteString(preflightScript)
	}
	if !q.facts {
		b.WriteString("{\n" + q.fileCalls() + "} </dev/null\n")
		return b.String()
	}
	b.WriteString("{\n" + call("kw_slow", yesNo(q.Images), yesNo(q.Preflight), q.Programs.Files, q.socket, q.Endpoint, q.PathTo, strings.Join(q.Peers, " ")) + "} </dev/null 2>/dev/null | {\n")
	b.WriteString("{\nkw_facts\nkw_room\n" + q.fileCalls())
	b.WriteString(call("kw_units", q.units()...))
	sysctls := make([]string, len(q.Sysctls))
	for i, name := range q.Sysctls {
		sysctls[i] = sysctlPath(name)
	}
	b.WriteString(call("kw_sysctls", sysctls...))
	b.WriteString(call("kw_modules", q.Modules...))
	if len(q.Users) > 0 {
		b.WriteString(call("kw_users", q.Users...))
	}
	if len(q.Ports) > 0 {
		b.WriteString("kw_ports\n")
	}
	b.WriteString(processCall(q.Processes))
	b.WriteString(call("kw_commands", q.Commands...))
	b.WriteString(packagesCall(q.Packages))
	if q.Preflight {
		b.WriteString(call("kw_preflight", q.EtcdFolder))
	}
	b.WriteString("} </dev/null\ncat\n}\n")
	return b.String()
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func (q *query) fileCalls() string {
	var b strings.Builder
	b.WriteString(call("set --", q.stats...))
	for _, g := range q.Globs {
		b.WriteString("kw_p=" + Quote(q.root+g) + "\nIFS=\n" +
			"for kw_f in $kw_p; do case $kw_f in *[[:cntrl:]\\\\]*) ;; *) set -- \"$@\" \"$kw_f\";; esac; done\nunset IFS\n")
	}
	b.WriteString("kw_stats \"$@\"\n")
	b.WriteString(call("kw_digests", q.digests...))
	b.WriteString(call("kw_small kw_contents", q.contents...))
	if len(q.certificates) > 0 {
		b.WriteString(call("kw_small kw_certificates", q.certificates...))
	}
	if len(q.keys) > 0 {
		b.WriteString(call("kw_small kw_keys", q.keys...))
	}
	if len(q.kubeconfig) > 0 {
		b.WriteString(call("kw_small kw_kubeconfigs", q.kubeconfig...))
	}
	return b.String()
}
