package verdict

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing/fstest"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/hclconfig"
)

// blocks are the blocks of a cluster whose arguments are a component's flags.
var blocks = map[string]string{
	"kubelet": "kubelet", "kube-apiserver": "api_server", "kube-controller-manager": "controller_manager",
	"kube-scheduler": "scheduler", "etcd": "etcd", "kube-proxy": "kube_proxy",
}

// HCL returns the configuration of a user who writes a mutation.
func HCL(version string, m Mutation) string {
	var body strings.Builder
	for _, f := range m.Flags {
		name, value, _ := strings.Cut(f, "=")
		fmt.Fprintf(&body, "    arg %s { value = %s }\n", literal(name), literal(value))
	}
	if m.Config != nil {
		fmt.Fprintf(&body, "    config = %s\n", literal(m.Config))
	}
	return fmt.Sprintf(`cluster "c" {
  kubernetes_version     = %q
  control_plane_endpoint = "api.example.com:6443"
  %s {
%s  }
}

node "cp" {
  cluster = cluster.c
  role    = "control-plane"
  address = "10.0.0.2"
}
`, strings.TrimPrefix(version, "v"), blocks[m.Component], body.String())
}

// literal returns a value as HCL: JSON, but for templates.
func literal(v any) string {
	var out strings.Builder
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("internal error: a value is no JSON: " + err.Error())
	}
	return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(strings.TrimSpace(out.String()))
}

// Judge returns what kubewright refuses of a mutation; nothing if it accepts it.
func Judge(version string, m Mutation) []string {
	_, diags := hclconfig.Load(hclconfig.Options{FS: fstest.MapFS{"main.hcl": {Data: []byte(HCL(version, m))}}})
	var out []string
	for _, d := range diags {
		if d.Severity == diag.Error {
			out = append(out, d.Summary+": "+d.Detail)
		}
	}
	return out
}

// A Disagreement is a mutation that kubewright judges in another way than the component.
type Disagreement struct {
	Verdict
	// Refusals are why kubewright refuses what the component took; empty if it accepts what the
	// component refused.
	Refusals []string
}

// String returns the disagreement as a line.
func (d Disagreement) String() string {
	if len(d.Refusals) > 0 {
		return fmt.Sprintf("REFUSED, BUT TAKEN  %s  %s", d.Mutation, strings.Join(d.Refusals, " "))
	}
	return fmt.Sprintf("ACCEPTED, BUT REFUSED  %s  %s", d.Mutation, d.Reason)
}

// A Comparison is how kubewright judges what components have answered.
type Comparison struct {
	Agreed, Undecided int
	// Excepted are how many disagreements each reason excuses.
	Excepted      map[string]int
	Disagreements []Disagreement
}

// Compare judges all mutations that components have answered.
func Compare(version string, verdicts []Verdict) Comparison {
	out := Comparison{Excepted: map[string]int{}}
	for _, v := range verdicts {
		refusals := Judge(version, v.Mutation)
		switch {
		case v.Answer == Undecided:
			out.Undecided++
		case (v.Answer == Refused) == (len(refusals) > 0):
			out.Agreed++
		default:
			table, text := hostAlone, v.Reason
			if v.Answer == Took {
				table, text = stricter, strings.Join(refusals, " ")
			}
			if why := table.find(v.Mutation, text); why != "" {
				out.Excepted[why]++
				continue
			}
			out.Disagreements = append(out.Disagreements, Disagreement{v, refusals})
		}
	}
	return out
}

// An exception excuses disagreements whose mutation and text match.
type exception struct {
	mutation, text *regexp.Regexp
	why            string
}

type exceptions []exception

// find returns why a disagreement is one.
func (e exceptions) find(m Mutation, text string) string {
	for _, x := range e {
		if x.mutation.MatchString(m.String()) && x.text.MatchString(text) {
			return x.why
		}
	}
	return ""
}

func except(mutation, text, why string) exception {
	return exception{regexp.MustCompile(mutation), regexp.MustCompile(text), why}
}

// hostAlone are mutations that components refused for what only a host can tell: the text is the
// component's.
var hostAlone = exceptions{
	except(``, `no such file or directory|is a directory|not a directory|permission denied|file does not exist|did not exist|"failed to open |cannot open`, "A file or a folder that is named is not there: only the host knows."),
	except(``, `couldn't get version/kind|unable to load|failed to load|no kind |token-auth-file|data does not contain|error loading|failed to parse.*file|cannot unmarshal string into Go value|PEM|token file`, "What is in a file that is named: only the host knows."),
	except(``, `connection refused|no such host|dial tcp|i/o timeout|network is unreachable|for endpoint "[^"]*": rpc error: code = Unavailable|cannot fetch cluster info|validate CRI v1 (image|runtime) API|error creating storage factory: (etcd grpc connection not ready: )?context deadline exceeded`, "An address does not answer: only the network knows."),
	except(``, `cannot assign requested address|address already in use|unable to find suitable network address`, "An address is not the host's, or in use: only the host knows."),
	except(`^kubelet\t`, `missing paths: |cgroup v1|is not a subset of online-cpus|NUMA|does not exist|swap feature|Failed to create listener for podResources|too many open files|kubelet user assigned IDs`, "What CPUs, NUMA nodes, cgroups, user IDs and open files a host has: only the host knows."),
	except(`^kube-proxy\t`, `error getting ipset version`, "Programs that an image or a host has: only the host knows."),
	except(`^etcd\t\["log-outputs=/`, `exit status 1`, "A file or a folder that is named is not there: only the host knows."),
}

// stricter are mutations that kubewright refuses though the component takes them: the text is
// kubewright's.
var stricter = exceptions{
	except(`^kubelet\t`, `^(Folder of|Node name|Socket|Certificates are not renewed|Node is not registered|Health check|Configuration f|Kubeconfig|Field belongs elsewhere)`, "kubewright owns the setting: another value contradicts what it writes, or waits for."),
	except(`^etcd\t\["(name|initial-cluster|initial-advertise-peer-urls)=`, `kubewright writes them`, "kubewright owns the setting: another value contradicts what it writes, or waits for."),
	except(`^etcd\t\["(client|peer)-crl-file=`, `^File of an argument is missing`, "etcd starts, and refuses every connection: it reads the list at each of them (client/pkg/transport/listener_tls.go)."),
	except(`^kube-proxy\t.*hostnameOverride`, `^Field belongs elsewhere`, "One configuration serves all nodes, and a node cannot have the name of all others."),
	except(`^(kubelet|kube-proxy)\t\{`, `Unknown field`, "The component drops a field that it does not know, and starts without what was asked for."),
	except(`^kubelet\t.*clusterDNS`, `is no IP address`, "The kubelet starts, and pods have no DNS."),
	except(`^kubelet\t.*podLogsDir`, `^Path is not plain`, "The kubelet starts, and writes logs relative to where systemd starts it."),
	except(`^kubelet\t.*(tls-cert-file|tls-private-key-file|tlsCertFile|tlsPrivateKeyFile)`, `tlsCertFile and tlsPrivateKeyFile go together`, "The kubelet starts, and has no certificate: nothing can connect to it."),
	except(`^kubelet\t\{"cgroupDriver"`, `is not one of`, "The container runtime names the driver; beside one that does not, the kubelet would not start."),
	except(`^kube-apiserver\t\["anonymous-auth=`, `^Probes would be refused`, "The API server starts, and the kubelet kills it: its probes have no credentials."),
	except(`^kube-apiserver\t\["(authentication-token|authorization)-webhook-version=`, `is no value of`, "Has no effect until the webhook is set, with which the API server would not start."),
	except(`^kube-apiserver\t\["audit-log-(format|mode|version)=`, `is no value of`, "Has no effect until audit-log-path is set, with which the API server would not start."),
	except(`^kube-apiserver\t\["audit-webhook-[a-z-]*=`, `is no value of|File of an argument is missing`, "Has no effect until an audit policy is set, with which the API server would not start."),
}
