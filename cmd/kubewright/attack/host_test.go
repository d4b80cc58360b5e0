package attack

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
)

// oneHost is a cluster of one hostile host.
const oneHost = `cluster "demo" {
  kubernetes_version = "1.36.3"
  network {
    pod_subnet = "10.244.0.0/16"
  }
}

connection {
  user        = "root"
  private_key = "key"
}

node "cp" {
  cluster = cluster.demo
  role    = "control-plane"
  name    = "cp"
  address = "192.0.2.1"
  connection {
    host     = "127.0.0.1"
    port     = PORT
    host_key = "PIN"
  }
}
`

// configure writes a configuration with a host in it, and the operator's key.
func (a *arena) configure(text string, h *hostile) {
	a.Helper()
	if runtime.GOOS != "linux" {
		a.Skip("hosts run Linux, and the scripts are run here")
	}
	h.start(a.T)
	_, key, err := ed25519.GenerateKey(rand.Reader)
	a.must(err)
	block, err := ssh.MarshalPrivateKey(key, "")
	a.must(err)
	a.must(os.WriteFile(a.path("key"), pem.EncodeToMemory(block), 0o600))
	a.write("main.hcl", strings.NewReplacer("PORT", fmt.Sprint(h.port()), "PIN", h.pin()).Replace(text))
	a.Cleanup(func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if len(h.unwanted) > 0 {
			a.Errorf("the host was asked for %v", h.unwanted)
		}
	})
}

// noise is text that a terminal or a CI service would act on.
const noise = "\x1b[2J\x1b]0;owned\x07\x1b]52;c;ZXZpbA==\x07evil\u202e\n::error::x\n  ::stop-commands::x\n##[error]x\n##vso[task.setvariable variable=x]y\n<script>alert(1)</script>\n"

// onHost returns an attack on plan by a host. It holds if the command ends with an error that
// names the node and contains the texts.
func onHost(name string, h *hostile, texts ...string) attack {
	return attack{name: name, run: func(a *arena) {
		a.configure(oneHost, h)
		a.refused(a.kubewright("plan", "-input=false"), append([]string{"node.cp"}, texts...)...)
	}}
}

// endured returns an attack on plan by a host that need not be noticed: the command ends, and
// prints nothing that the host has sent.
func endured(name string, h *hostile) attack {
	return attack{name: name, run: func(a *arena) {
		a.configure(oneHost, h)
		o := a.kubewright("plan", "-input=false")
		for line := range strings.Lines(o.stdout + o.stderr) {
			if strings.HasPrefix(strings.TrimSpace(line), "::") || strings.Contains(line, "##vso[") || strings.Contains(line, "##[") {
				a.Errorf("a CI service would act on %q", line)
			}
		}
	}}
}

// long marks an attack that runs with make attack only.
func long(attack attack) attack {
	attack.long = true
	return attack
}

func hostAttacks() []attack {
	out := []attack{
		onHost("closes at once", &hostile{before: func(*stream) {}}),
		onHost("random bytes", &hostile{before: func(s *stream) { garbage(s.channel, 300_000); s.exit(0) }}),
		onHost("flood before the answer", &hostile{before: func(s *stream) { flood(s.channel, "A") }}),
		onHost("flood of standard error", &hostile{before: func(s *stream) { flood(s.channel.Stderr(), "\x1b[31mE\n") }}),
		onHost("ends without sections", &hostile{begun: func(s *stream) { s.say("end", ""); s.exit(0) }}),
		onHost("banner of a megabyte", &hostile{banner: "\x1b]0;owned\x07\x1b[2J" + strings.Repeat("B", 1<<20), before: func(*stream) {}}),
		onHost("sections twice", &hostile{changed: func(_ string, answer []section) []section {
			return append(answer[:len(answer)-1:len(answer)-1], answer[3], answer[len(answer)-1])
		}}),
		onHost("sections empty", &hostile{changed: func(_ string, answer []section) []section {
			for i := range answer {
				answer[i].text = ""
			}
			return answer
		}}),
		onHost("negative size", &hostile{changed: replace("sizes", "-5 /etc/machine-id\n")}),
		onHost("size of 20 digits", &hostile{changed: replace("sizes", "99999999999999999999 /etc/machine-id\n")}),
		onHost("escapes in every section", &hostile{changed: func(_ string, answer []section) []section {
			for i := range answer {
				answer[i].text = noise + answer[i].text
			}
			return answer
		}}),
		endured("commands for CI in an error", &hostile{complains: noise}),
		endured("opens channels", &hostile{connected: openChannels}),
		long(onHost("flood behind the beginning", &hostile{begun: func(s *stream) { flood(s.channel, "A") }})),
		long(onHost("lines heard without end", &hostile{begun: func(s *stream) {
			flood(s.channel, fmt.Sprintf("\nkubewright %s heard 0 \x1b[2Jhello%s\n", s.nonce, strings.Repeat("z", 900)))
		}})),
		long(onHost("line breaks without end", &hostile{begun: func(s *stream) { flood(s.channel, "\n") }})),
		long(inTime(10*time.Minute, onHost("a byte at a time", &hostile{begun: func(s *stream) { trickle(s.channel) }}))),
		long(inTime(10*time.Minute, onHost("a byte at a time before the answer", &hostile{before: func(s *stream) { trickle(s.channel) }}))),
		long(inTime(5*time.Minute, onHost("silent", &hostile{before: func(s *stream) { _, _ = io.Copy(io.Discard, s.channel); time.Sleep(10 * time.Minute) }}))),
		long(inTime(5*time.Minute, onHost("silent, without a sign of life", &hostile{mute: true, before: func(*stream) { time.Sleep(10 * time.Minute) }}))),
		long(limited(onHost("unrequested files", &hostile{changed: swollen("stats", "81a4|1|644|root:root|1.0|/a%d\n", 60<<20)}))),
		long(limited(endured("images without end", &hostile{changed: swollen("images", "r.io/a%d\n", 60<<20)}))),
	}
	return append(out, factAttacks()...)
}

// factAttacks are attacks by hosts that report false or malformed facts about themselves.
func factAttacks() []attack {
	facts := func(name, text string) attack {
		return onHost("facts: "+name, &hostile{changed: extend("facts", text+"\n")})
	}
	return []attack{
		facts("command in the name", "hostname x$(reboot)"),
		long(facts("path in the name", "hostname ../../etc")),
		long(facts("escape in the name", "hostname a\x1b[2J")),
		long(facts("20 digits of memory", "memory 99999999999999999999")),
		long(facts("20 digits of processors", "cpus 99999999999999999999")),
		long(facts("unknown key", "owner evil")),
		long(facts("quote in the kernel", "kernel 6.1'; reboot; '")),
		long(facts("no time", "time never")),
		long(onHost("units: not a word", &hostile{changed: replace("units", "LoadState=\x1b[2J\n")})),
		long(onHost("sysctls: not asked for", &hostile{changed: extend("sysctls", "/proc/sys/kernel/core_pattern:|/bin/evil\n")})),
		long(onHost("commands: not asked for", &hostile{changed: extend("commands", "evil\n")})),
		long(onHost("links: half of one", &hostile{changed: extend("links", "/etc/a\n")})),
		long(onHost("digests: not one", &hostile{changed: extend("digests", "zz  /etc/passwd\n")})),
		long(onHost("contents: not base64", &hostile{changed: replace("contents", "!!!!\n")})),
	}
}

// inTime sets the time limit of an attack.
func inTime(bound time.Duration, attack attack) attack {
	run := attack.run
	attack.run = func(a *arena) {
		a.bound = bound
		run(a)
	}
	return attack
}

// limited sets a memory limit that suits small CI runners.
func limited(attack attack) attack {
	run := attack.run
	attack.run = func(a *arena) {
		a.memory = 256 << 20
		run(a)
	}
	return attack
}

// garbage writes random bytes.
func garbage(w io.Writer, n int) {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	_, _ = w.Write(b)
}

// openChannels opens channels that only a client may open, and floods them with requests.
func openChannels(conn ssh.Conn) {
	for _, kind := range []string{"auth-agent@openssh.com", "x11", "forwarded-tcpip", "session", "direct-tcpip"} {
		if ch, requests, err := conn.OpenChannel(kind, nil); err == nil {
			go ssh.DiscardRequests(requests)
			_, _ = io.WriteString(ch, "opened")
		}
	}
	for range 10_000 {
		if _, _, err := conn.SendRequest("hostkeys-00@openssh.com", false, make([]byte, 1000)); err != nil {
			return
		}
	}
}
