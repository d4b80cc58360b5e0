package attack

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// payloads are texts with a special meaning in what kubewright writes: HCL's escapes stand for
// line breaks, quotes and control characters.
var payloads = map[string]string{
	"line break": `a\nEOT\nEOF\nExecStart=/bin/evil`, "double quote": `a\"; touch /x #`, "command": "a$(touch /x)`id`",
	"single quote": "a'; touch /x; '", "blanks": "a b [trusted=yes]", "control characters": `a\u0000b\u001b[31m`,
	"YAML": `a: {b: c}\n- evil: true`, "bidi": `a\u202eb`, "dash": "--evil", "parents": "../../../etc/passwd",
}

// slot is a place in the configuration that takes a text: lines of a block with %s.
type slot struct{ name, block, lines string }

// These are the blocks of slots.
const (
	inName       = "name"
	inCluster    = "cluster"
	inNetwork    = "network"
	inNode       = "node"
	inConnection = "connection"
)

var slots = []slot{
	{"version", inCluster, `kubernetes_version = "%s"`},
	{"endpoint", inCluster, `control_plane_endpoint = "%s"`},
	{"cluster's name", inName, "%s"},
	{"image repository", inCluster, `image_repository = "%s"`},
	{"pod subnet", inNetwork, `pod_subnet = "%s"`},
	{"DNS domain", inNetwork, `dns_domain = "%s"`},
	{"node's name", inNode, `name = "%s"`},
	{"node's address", inNode, `address = "%s"`},
	{"CRI socket", inNode, `cri_socket = "%s"`},
	{"label's key", inNode, `labels = { "%s" = "x" }`},
	{"label's value", inNode, `labels = { "a.b/c" = "%s" }`},
	{"annotation's key", inNode, `annotations = { "%s" = "x" }`},
	{"advertised address", inNode, `advertise_addresses = ["%s"]`},
	{"argument's name", inCluster, "api_server {\n arg \"%s\" { value = \"x\" }\n }"},
	{"argument's value", inCluster, "api_server {\n arg \"audit-log-path\" { value = \"%s\" }\n }"},
	{"variable's name", inCluster, "api_server {\n extra_env \"%s\" { value = \"x\" }\n }"},
	{"variable's value", inCluster, "api_server {\n extra_env \"A\" { value = \"%s\" }\n }"},
	{"kubelet's labels", inCluster, "kubelet {\n arg \"node-labels\" { value = \"%s\" }\n }"},
	{"kubelet's argument", inCluster, "kubelet {\n arg \"provider-id\" { value = \"%s\" }\n }"},
	{"kubelet's configuration", inCluster, `kubelet { config = { clusterDomain = "%s" } }`},
	{"proxy", inCluster, `proxy_env = { HTTP_PROXY = "%s" }`},
	{"proxy's variable", inCluster, `proxy_env = { "%s" = "x" }`},
	{"certificates' folder", inCluster, `certificates { dir = "%s" }`},
	{"certificate's name", inCluster, `api_server { cert_sans = ["%s"] }`},
	{"etcd's folder", inCluster, "etcd {\n data_dir = \"%s\"\n }"},
	{"etcd's argument", inCluster, "etcd {\n arg \"log-outputs\" { value = \"%s\" }\n }"},
	{"packages' repository", inCluster, "install {\n packages {\n repository = \"%s\"\n key = file(\"k.asc\")\n }\n }"},
	{"packages' key", inCluster, "install {\n packages {\n key = \"%s\"\n }\n }"},
	{"artifacts", inCluster, `install { artifacts = "%s" }`},
	{"volume's path", inCluster, "api_server {\n extra_volume \"v\" {\n host_path = \"%s\"\n mount_path = \"/m\"\n }\n }"},
	{"volume's name", inCluster, "api_server {\n extra_volume \"%s\" {\n host_path = \"/h\"\n mount_path = \"/m\"\n }\n }"},
	{"connection's host", inConnection, `host = "%s"`},
	{"connection's user", inConnection, `user = "%s"`},
}

// with returns a configuration with a text in the slot. A setting of the slot is not repeated.
func (s slot) with(text string) string {
	lines := strings.ReplaceAll(s.lines, "%s", text)
	of := func(block string, defaults ...string) string {
		var out []string
		for _, d := range defaults {
			key, _, _ := strings.Cut(d, " ")
			if s.block != block || !strings.HasPrefix(s.lines, key+" ") {
				out = append(out, d)
			}
		}
		if s.block == block {
			out = append(out, lines)
		}
		return strings.Join(out, "\n") + "\n"
	}
	name := "demo"
	if s.block == inName {
		name = lines
	}
	return "cluster \"" + name + "\" {\n" +
		of(inCluster, `kubernetes_version = "1.36.3"`, `control_plane_endpoint = "api.demo.example.com:6443"`) +
		"network {\n" + of(inNetwork, `pod_subnet = "10.244.0.0/16"`) + "}\n}\n" +
		"connection {\n" + of(inConnection, `type = "sim"`) + "}\n" +
		"node \"cp\" {\n" + of(inNode, "cluster = cluster[\""+name+"\"]", `role = "control-plane"`, `address = "10.77.0.11"`) + "}\n"
}

func injectionAttacks() []attack {
	var out []attack
	for i, s := range slots {
		for j, name := range slices.Sorted(maps.Keys(payloads)) {
			payload := payloads[name]
			out = append(out, attack{name: name + " in " + s.name, long: (i+j)%33 != 0, run: func(a *arena) { a.inject(s, payload) }})
		}
	}
	return out
}

// inject plans with a payload in a slot. If it is accepted, the plan must do the same as with a
// harmless text, except for the text.
func (a *arena) inject(s slot, payload string) {
	a.Helper()
	a.write("k.asc", "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nmQ==\n-----END PGP PUBLIC KEY BLOCK-----\n")
	a.write("main.hcl", s.with(payload))
	o := a.kubewright("plan", "-input=false", "-full", "-out=payload.kwplan")
	a.injected(payload, o)
	if o.code != 0 {
		return
	}
	a.write("main.hcl", s.with(saidWord))
	if o := a.kubewright("plan", "-input=false", "-out=said.kwplan"); o.code != 0 {
		a.Fatalf("%s accepts the payload, but not the harmless text to compare it with\n%s", s.name, clip(o.stderr))
	}
	text, err := strconv.Unquote(`"` + payload + `"`)
	a.must(err)
	if d := differs("", said(a.produced("said.kwplan"), text), a.produced("payload.kwplan")); d != "" {
		a.Errorf("%q changes more than a text: %s", payload, d)
	}
}

// injected checks that a payload was refused because of its content, or that each line of the
// plan that has it has all of it: no part of it is on a line of its own.
func (a *arena) injected(payload string, o outcome) {
	a.Helper()
	if o.code == 1 {
		for _, title := range []string{"Unsupported argument", "Unsupported block type", "Unknown argument", "Unknown block", "Missing required argument"} {
			if strings.Contains(o.stderr, "Error: "+title) {
				a.Errorf("the attack misses its target\n%s", clip(o.stderr))
			}
		}
		a.refused(o)
		return
	}
	if o.code != 0 {
		a.Errorf("exit code %d\n%s", o.code, clip(o.stderr))
	}
	for line := range strings.Lines(outsideHeredocs(o.stdout)) {
		for _, own := range []string{"ExecStart=", "- evil:", "touch /x"} {
			if strings.HasPrefix(strings.TrimLeft(line, " +~"), own) {
				a.Errorf("%q is on a line of its own in the plan for %q", line, payload)
			}
		}
	}
}

// heredoc matches the start of a multi-line text in a plan.
var heredoc = regexp.MustCompile(`<<-?([A-Za-z_0-9]+)`)

// outsideHeredocs returns a plan without its multi-line texts.
func outsideHeredocs(plan string) string {
	var b strings.Builder
	end := ""
	for line := range strings.Lines(plan) {
		switch m := heredoc.FindStringSubmatch(line); {
		case end != "":
			if strings.TrimLeft(strings.TrimSpace(line), "+~- ") == end {
				end = ""
			}
		case m != nil:
			end = m[1]
		default:
			b.WriteString(line)
		}
	}
	return b.String()
}
