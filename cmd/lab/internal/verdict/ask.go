package verdict

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/kubewright/kubewright/config/componentflag"
)

// patience is how long a component may take to decide.
const patience = 40 * time.Second

// A kind says how a component is run and judged.
type kind struct {
	// network is the number of the network in which it runs.
	network int
	// passed is the line of its log that follows its validation.
	passed *regexp.Regexp
	// health is where it answers once it serves.
	health string
	// serves is where it has to answer as well once its log passed the line, if that is written
	// before it listens there.
	serves string
}

var kinds = map[string]kind{
	"kubelet":                 {0, regexp.MustCompile(`Starting Kubelet Plugin Manager`), "", "https://10.0.0.2:10250/healthz"},
	"kube-apiserver":          {0, regexp.MustCompile(`Serving securely`), "https://10.0.0.2:6443/livez", ""},
	"kube-controller-manager": {1, regexp.MustCompile(`Serving securely`), "https://127.0.0.1:10257/healthz", ""},
	"kube-scheduler":          {1, regexp.MustCompile(`Serving securely`), "https://127.0.0.1:10259/healthz", ""},
	"kube-proxy":              {1, regexp.MustCompile(`Starting service config controller`), "http://10.0.0.2:10256/healthz", ""},
	"etcd":                    {0, regexp.MustCompile(`serving client traffic (in)?securely`), "http://127.0.0.1:2381/readyz", ""},
}

// ask runs a component with a mutation.
func (l *Lab) ask(ctx context.Context, c *cell, m Mutation) (Verdict, error) {
	k := kinds[m.Component]
	args, before, err := l.arguments(c, m)
	if err != nil {
		return Verdict{}, err
	}
	k.serves = served(k.serves, m)
	cmd := l.command(c, k.network, []string{"BEFORE=" + before}, append([]string{"/programs/" + m.Component}, args...)...)
	answer, reason, err := c.watch(ctx, cmd, k)
	return Verdict{m, answer, reason}, err
}

// served returns where a component with a mutation listens; empty if it was told not to, or to listen
// on an address that is not known here.
func served(url string, m Mutation) string {
	settings := maps.Clone(m.Config)
	if settings == nil {
		settings = map[string]any{}
	}
	for _, f := range m.Flags {
		name, value, _ := strings.Cut(f, "=")
		if name == "enable-server" {
			name = "enableServer"
		}
		settings[name] = value
	}
	if off, given := settings["enableServer"]; given && fmt.Sprint(off) != "true" {
		return ""
	}
	if _, given := settings["address"]; given {
		return ""
	}
	if port, given := settings["port"]; given && fmt.Sprint(port) != "0" {
		n, err := strconv.ParseInt(fmt.Sprint(port), 0, 32)
		if err != nil {
			return ""
		}
		return strings.Replace(url, "10250", strconv.FormatInt(n, 10), 1)
	}
	return url
}

// arguments returns the command line of a component, and what runs before it.
func (l *Lab) arguments(c *cell, m Mutation) (args []string, before string, err error) {
	given := map[string]bool{}
	for _, f := range m.Flags {
		name, _, _ := strings.Cut(f, "=")
		given[componentflag.FlagName(m.Component, name)] = true
	}
	if given["authorization-config"] {
		given["authorization-mode"] = true // kubeadm leaves it out then
	}
	for _, f := range l.base[m.Component] {
		if name, _, _ := strings.Cut(f, "="); !given[name] {
			args = append(args, "--"+f)
		}
	}
	for _, f := range m.Flags {
		args = append(args, "--"+f)
	}
	if base := baseConfigs[m.Component]; base != "" {
		var tree map[string]any
		if err := yaml.Unmarshal([]byte(base), &tree); err != nil {
			return nil, "", err
		}
		content, err := json.Marshal(merged(tree, m.Config))
		if err != nil {
			return nil, "", err
		}
		if err := os.WriteFile(filepath.Join(c.dir, "shared", "config.yaml"), content, 0o600); err != nil {
			return nil, "", err
		}
	}
	if m.Component == "kube-apiserver" {
		before = "/programs/etcd --unsafe-no-fsync --heartbeat-interval=10 --election-timeout=100"
		for _, f := range l.base["etcd"] {
			before += " --" + f
		}
		before += " >/dev/null 2>&1 &"
	}
	return args, before, nil
}

// merged returns an object with the fields of another one on top, as kubewright merges them.
func merged(base, top map[string]any) map[string]any {
	out := maps.Clone(base)
	for name, v := range top {
		a, isA := out[name].(map[string]any)
		b, isB := v.(map[string]any)
		if isA && isB {
			v = merged(a, b)
		}
		out[name] = v
	}
	return out
}

// A tail keeps the lines of a program, and closes passed at the first that matches.
type tail struct {
	sync.Mutex
	lines  []string
	passed chan struct{}
}

func (t *tail) read(r io.Reader, passes *regexp.Regexp) {
	lines := bufio.NewReaderSize(r, 1<<20)
	done := false
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			t.Lock()
			t.lines = append(t.lines, strings.TrimSuffix(line, "\n"))
			t.Unlock()
		}
		if !done && passes.MatchString(line) {
			done = true
			close(t.passed)
		}
		if err != nil {
			return
		}
	}
}

// watch runs a command until it has decided.
func (c *cell) watch(ctx context.Context, cmd *exec.Cmd, k kind) (Answer, string, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return "", "", err
	}
	defer r.Close()
	cmd.Stdout, cmd.Stderr = w, w
	err = cmd.Start()
	w.Close()
	if err != nil {
		return "", "", err
	}
	out := &tail{passed: make(chan struct{})}
	ended := make(chan error, 1)
	read := make(chan struct{})
	go func() { out.read(r, k.passed); close(read) }()
	go func() { ended <- cmd.Wait() }()
	stop := func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // it may have ended
		<-ended
		r.Close()
	}
	limit := time.NewTimer(patience)
	defer limit.Stop()
	health := time.NewTicker(2 * time.Second)
	defer health.Stop()
	soon := time.NewTicker(50 * time.Millisecond)
	defer soon.Stop()
	passed := out.passed
	var ask <-chan time.Time // until it serves
	for {
		select {
		case <-ctx.Done():
			stop()
			return Undecided, "", ctx.Err()
		case <-passed:
			if k.serves != "" {
				passed, ask = nil, soon.C
				continue
			}
			stop()
			return Took, "", nil
		case <-ask:
			if serves, _ := c.answers(k.network, k.serves); serves { // healthy or not
				stop()
				return Took, "", nil
			}
		case err := <-ended:
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what it started
			select {
			case <-read:
			case <-time.After(5 * time.Second):
			}
			return Refused, out.reason(err), nil
		case <-limit.C:
			stop()
			return Undecided, out.reason(errors.New("it still runs")), nil
		case <-health.C:
			if k.health == "" {
				continue
			}
			if _, healthy := c.answers(k.network, k.health); healthy {
				stop()
				return Took, "healthy", nil
			}
		}
	}
}

// answers reports whether a component in the cell serves, and whether it is healthy.
func (c *cell) answers(number int, url string) (serves, healthy bool) {
	client := http.Client{Timeout: time.Second, Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			var conn net.Conn
			err := c.inNetwork(number, func() (err error) {
				conn, err = (&net.Dialer{Timeout: time.Second}).DialContext(ctx, network, address)
				return err
			})
			return conn, err
		},
	}}
	answer, err := client.Get(url)
	if err != nil {
		// An alert is an answer, too: of a server without a certificate.
		alert := strings.Contains(err.Error(), "remote error: tls: ")
		return alert, alert
	}
	answer.Body.Close()
	return true, answer.StatusCode == http.StatusOK || answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden
}

var (
	stamp  = regexp.MustCompile(`^[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ `)
	noise  = regexp.MustCompile(`^(I\d{4}|W\d{4}|\s|goroutine |Usage:|$)|"level":"(info|warn)"|Flag --.* has been deprecated`)
	numbed = regexp.MustCompile(`0x[0-9a-f]{6,}|"ts":"[^"]*",?|,"stacktrace":.*|\d{4}-\d\d-\d\dT[0-9:.Z]+`)
)

// reason returns the component's own words for why it ended, in one line.
func (t *tail) reason(err error) string {
	t.Lock()
	defer t.Unlock()
	lines := slices.DeleteFunc(slices.Clone(t.lines), noise.MatchString)
	text := fmt.Sprint(err)
	if err == nil {
		text = "ended with exit code 0"
	}
	if len(lines) == 0 && err != nil && len(t.lines) > 0 {
		lines = t.lines[len(t.lines)-1:]
	}
	if len(lines) > 0 {
		text = lines[len(lines)-1]
		for _, line := range slices.Backward(lines) {
			if strings.Contains(line, "panic") || strings.Contains(line, "err=") || strings.Contains(line, "error") || strings.Contains(line, "Error:") {
				text = line
				break
			}
		}
	}
	text = numbed.ReplaceAllString(stamp.ReplaceAllString(text, ""), "")
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > 300 {
		text = text[:300] + "…"
	}
	return strings.ToValidUTF8(text, "?")
}
