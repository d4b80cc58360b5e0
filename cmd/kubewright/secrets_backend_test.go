package main

import (
	"bytes"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"golang.org/x/crypto/ssh"

	"github.com/kubewright/kubewright/state/backend/http/httptestserver"
)

// password is a backend's password with every character that an address, JSON or HTML has to
// escape.
var password = `c4n@ry/b?ck#nd:"<&>` + rand.Text()[:12]

// slashed is a password that makes an address invalid unless it is escaped.
var slashed = "canary/" + rand.Text()[:12]

// sessionToken belongs to S3, serviceToken to Kubernetes.
var sessionToken, serviceToken = marker(), marker()

// newKeeper returns a folder with a small cluster whose state is in a backend.
func newKeeper(t *testing.T, block string) *vault {
	t.Helper()
	v := &vault{T: t, dir: t.TempDir(), values: map[string]string{}, env: map[string]string{}}
	v.hide(password)
	v.hide(slashed)
	v.hide(strings.TrimPrefix(url.UserPassword("", password).String(), ":"))
	v.write("main.hcl", block+ciConfig)
	return v
}

// identity returns an encryption block for a new age key, which it hides and sets in the environment.
func (v *vault) identity() string {
	v.Helper()
	id, err := age.GenerateX25519Identity()
	if err != nil {
		v.Fatal(err)
	}
	file := filepath.Join(v.TempDir(), "identity")
	if err := os.WriteFile(file, []byte(id.String()+"\n"), 0o600); err != nil {
		v.Fatal(err)
	}
	v.env["KUBEWRIGHT_AGE_IDENTITY"] = file
	v.hide(id.String())
	return fmt.Sprintf("  encryption {\n    recipients = [%q]\n  }\n", id.Recipient())
}

// TestSecretsOfBackends checks that the credentials of a backend and the key that decrypts the
// state are in no output, in no local file, and not in the backend.
func TestSecretsOfBackends(t *testing.T) {
	t.Parallel()
	for name, serve := range map[string]func(*vault) (block string, kept func() string){
		"http": func(v *vault) (string, func() string) {
			s := &httptestserver.Server{User: "ann", Password: password, Path: "/states/prod"}
			s.Start(v.T)
			v.env["KUBEWRIGHT_HTTP_ADDRESS"], v.env["KUBEWRIGHT_HTTP_PASSWORD"] = s.URL, password
			return backendBlock(s), func() string {
				var kept struct{ Sealed []byte }
				if err := json.Unmarshal(s.State(), &kept); err != nil {
					v.Fatal(err)
				}
				return string(kept.Sealed)
			}
		},
		"s3": s3Keeper,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newKeeper(t, "")
			block, kept := serve(v)
			v.write("main.hcl", strings.Replace(block, "kubewright {\n", "kubewright {\n"+v.identity(), 1)+ciConfig)
			for _, args := range [][]string{
				{"init"},
				{"plan", "-out=plan.kwplan"},
				{"apply", "-auto-approve", "-json-into=events.json"},
				{"plan", "-json"},
				{"show", "-format=html", "plan.kwplan"},
				{"show"},
				{"show", "-json"},
				{"init"},
				{"lock", "status", "-json"},
				{"state", "list"},
				{"state", "pull"},
				{"state", "pull", "-decrypt"},
				{"graph"},
			} {
				v.run(0, args...)
			}
			v.noChanges()
			if !strings.HasPrefix(kept(), "-----BEGIN AGE ENCRYPTED FILE-----") {
				t.Errorf("the server's state is %s", kept())
			}
			v.search("the server", kept())
			v.run(1, "plan", "-backend-config=pasword="+password)
			v.env["KUBEWRIGHT_AGE_IDENTITY"] = ""
			v.run(1, "state", "list")
		})
	}
}

// s3Keeper serves a bucket.
func s3Keeper(v *vault) (string, func() string) {
	v.Helper()
	memory := s3mem.New()
	if err := memory.CreateBucket("states"); err != nil {
		v.Fatal(err)
	}
	server := httptest.NewServer(gofakes3.New(memory).Server())
	v.Cleanup(server.Close)
	v.env["KUBEWRIGHT_S3_ACCESS_KEY"], v.env["KUBEWRIGHT_S3_SECRET_KEY"], v.env["KUBEWRIGHT_S3_TOKEN"] = "AKCANARY", password, sessionToken
	v.hide("AKCANARY")
	v.hide(sessionToken)
	return s3Block(server.URL), func() string {
		o, err := memory.GetObject("states", "prod.json", nil)
		if err != nil {
			v.Fatal(err)
		}
		defer o.Contents.Close()
		var b bytes.Buffer
		_, err = b.ReadFrom(o.Contents)
		if err != nil {
			v.Fatal(err)
		}
		return b.String()
	}
}

func s3Block(endpoint string) string {
	return fmt.Sprintf("kubewright {\n  backend \"s3\" {\n    bucket = \"states\"\n    key = \"prod.json\"\n    use_path_style = true\n    endpoint = %q\n  }\n}\n", endpoint)
}

func httpBlock(address string) string {
	return fmt.Sprintf("kubewright {\n  backend \"http\" {\n    address = %q\n    username = \"ann\"\n    retry_max = 0\n  }\n}\n", address)
}

const (
	pgBlock         = "kubewright {\n  backend \"pg\" {}\n}\n"
	kubernetesBlock = "kubewright {\n  backend \"kubernetes\" {\n    secret_suffix = \"prod\"\n  }\n}\n"
)

// login returns an address with the escaped password in it.
func login(address string) string {
	scheme, rest, _ := strings.Cut(address, "://")
	return scheme + "://" + url.UserPassword("ann", password).String() + "@" + rest
}

// echo returns a server that refuses each request and repeats its content in the answer: once
// plainly, and once so that the password is where an answer may be truncated.
func echo(t *testing.T, start func(http.Handler) *httptest.Server, status int) string {
	t.Helper()
	s := start(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(status)
		_, given, _ := r.BasicAuth()
		if status == http.StatusInternalServerError {
			fmt.Fprint(w, strings.Repeat("x", 300-len(given)/2), given)
			return
		}
		fmt.Fprintf(w, "%s is wrong: %q %v", given, given, r.Header)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// echoDatabase returns a PostgreSQL server that refuses logins and repeats the password.
func echoDatabase(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	certified := httptest.NewTLSServer(nil)
	t.Cleanup(certified.Close)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go refuseLogin(c, &tls.Config{Certificates: certified.TLS.Certificates})
		}
	}()
	return "postgres://" + l.Addr().String() + "/states?sslmode=require"
}

// refuseLogin requests the password in plain text, which is sent over TLS only.
func refuseLogin(c net.Conn, config *tls.Config) {
	defer c.Close()
	if _, err := pgproto3.NewBackend(c, c).ReceiveStartupMessage(); err != nil { // the client requests TLS
		return
	}
	if _, err := c.Write([]byte("S")); err != nil {
		return
	}
	c = tls.Server(c, config)
	b := pgproto3.NewBackend(c, c)
	if _, err := b.ReceiveStartupMessage(); err != nil {
		return
	}
	b.Send(&pgproto3.AuthenticationCleartextPassword{})
	if b.Flush() != nil || b.SetAuthType(pgproto3.AuthTypeCleartextPassword) != nil {
		return
	}
	if m, err := b.Receive(); err == nil {
		if m, ok := m.(*pgproto3.PasswordMessage); ok {
			b.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: "28P01", Message: m.Password + " is wrong"})
			_ = b.Flush()
		}
	}
}

// unusedAddress returns an address without a listener, which also no other process can take until the
// test ends: it is the local address of an open client connection.
func unusedAddress(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(nil)
	c, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Close()
		s.Close()
	})
	return "http://" + c.LocalAddr().String()
}

// kubeconfigOf writes a kubeconfig outside the configuration folder.
func kubeconfigOf(t *testing.T, server, proxy, user string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{"apiVersion": "v1", "kind": "Config", "current-context": "c",
		"clusters": [{"name": "c", "cluster": {"server": %q, "insecure-skip-tls-verify": true%s}}], "users": [{"name": "u", "user": {%s}}],
		"contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]}`, server, proxy, user)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestSecretsOfBackendsInErrors checks that no error contains a secret: neither of a backend that
// repeats the password in its refusal, nor of an unreachable one, nor of an invalid address.
func TestSecretsOfBackendsInErrors(t *testing.T) {
	t.Parallel()
	plain, encrypted := httptest.NewServer, httptest.NewTLSServer
	refusing, failing, absent := echo(t, plain, 401), echo(t, plain, 500), unusedAddress(t)
	token := fmt.Sprintf(`"token": %q`, serviceToken)
	for name, c := range map[string]struct {
		block string
		env   map[string]string
		want  string
	}{
		"http refuses":           {httpBlock(refusing), map[string]string{"HTTP_ADDRESS": refusing, "HTTP_PASSWORD": password}, "give username"},
		"http fails":             {httpBlock(failing), map[string]string{"HTTP_ADDRESS": failing, "HTTP_PASSWORD": password}, "500"},
		"http is not there":      {httpBlock(absent), map[string]string{"HTTP_ADDRESS": absent, "HTTP_PASSWORD": password}, "can be reached"},
		"http, password in it":   {httpBlock(login("https://states.example.com/x")), nil, "has a user or a password in it"},
		"http, wrong address":    {httpBlock("https://ann:" + slashed + "@states"), nil, "is no URL"},
		"s3 refuses":             {s3Block(echo(t, plain, 403)), map[string]string{"S3_ACCESS_KEY": "AKCANARY", "S3_SECRET_KEY": password, "S3_TOKEN": sessionToken}, "AWS_ACCESS_KEY_ID"},
		"s3 fails":               {s3Block(echo(t, plain, 405)), map[string]string{"S3_ACCESS_KEY": "AKCANARY", "S3_SECRET_KEY": password, "S3_TOKEN": sessionToken}, "can be reached"},
		"s3, password in it":     {s3Block(login("https://s3.example.com")), nil, "has a user or a password in it"},
		"s3, wrong address":      {s3Block("https://ann:" + slashed + "@s3"), nil, "is no URL"},
		"pg refuses":             {pgBlock, map[string]string{"PG_CONN_STR": login(echoDatabase(t))}, "28P01"},
		"pg is not there":        {pgBlock, map[string]string{"PG_CONN_STR": login(strings.Replace(unusedAddress(t), "http", "postgres", 1) + "/states")}, "can be reached"},
		"pg, wrong address":      {pgBlock, map[string]string{"PG_CONN_STR": "postgres://ann:" + slashed + "@db/states"}, "cannot be understood"},
		"pg, an address cut off": {pgBlock, map[string]string{"PG_CONN_STR": "postgres://ann:12#" + password + "@db/states"}, "cannot be understood"},
		"pg, on one line":        {"kubewright {\n  backend \"pg\" { conn_str = \"postgres://ann:" + strings.ReplaceAll(password, `"`, `\"`) + "@db:port/x\" }\n}\n", nil, "cannot be understood"},
		"kubernetes refuses":     {kubernetesBlock, map[string]string{"KUBERNETES_CONFIG_PATH": kubeconfigOf(t, echo(t, encrypted, 401), "", token)}, "get, create and update"},
		"kubernetes is not there": {
			kubernetesBlock, map[string]string{"KUBERNETES_CONFIG_PATH": kubeconfigOf(t, login(unusedAddress(t)), "", token)}, "can be reached",
		},
		"kubernetes, password in its address": {kubernetesBlock, map[string]string{"KUBERNETES_CONFIG_PATH": kubeconfigOf(t, login(echo(t, encrypted, 403)), "", "")}, "get, create and update"},
		"kubernetes, wrong address":           {kubernetesBlock, map[string]string{"KUBERNETES_CONFIG_PATH": kubeconfigOf(t, "https://ann:"+slashed+"@api", "", token)}, "no URL"},
		"kubernetes, wrong proxy": {
			kubernetesBlock, map[string]string{"KUBERNETES_CONFIG_PATH": kubeconfigOf(t, "https://api", fmt.Sprintf(`, "proxy-url": %q`, "http://ann:"+slashed+"@proxy"), token)}, "proxy-url",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newKeeper(t, c.block)
			for _, secret := range []string{"AKCANARY", sessionToken, serviceToken} {
				v.hide(secret)
			}
			for name, value := range c.env {
				v.env["KUBEWRIGHT_"+name] = value
			}
			if said := strings.Join(strings.Fields(v.run(1, "init")), " "); !strings.Contains(said, c.want) {
				t.Errorf("%q is not in %s", c.want, said)
			}
			v.run(1, "plan", "-json")
			v.run(anyCode, "lock", "status")
		})
	}
}

// TestSecretsOfTheEnvironment checks that secrets that libraries read from the environment and
// the home directory stay as hidden as those that kubewright reads itself.
func TestSecretsOfTheEnvironment(t *testing.T) {
	t.Parallel()
	database := echoDatabase(t)
	host := strings.TrimPrefix(strings.TrimSuffix(database, "/states?sslmode=require"), "postgres://")
	home := t.TempDir()
	write(t, filepath.Join(home, ".pgpass"), host+":states:ann:"+strings.NewReplacer(`\`, `\\`, ":", `\:`).Replace(password)+"\n")
	if err := os.Mkdir(filepath.Join(home, ".aws"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(home, ".aws", "credentials"), "[default]\naws_access_key_id = AKTEST\naws_secret_access_key = x\naws_session_token = "+sessionToken+"\n")
	toDatabase := strings.Replace(database, "://", "://ann@", 1)
	for name, c := range map[string]struct {
		block, want string
		env         []string
	}{
		"PGPASSWORD": {pgBlock, "28P01", []string{"KUBEWRIGHT_PG_CONN_STR=" + toDatabase, "PGPASSWORD=" + password}},
		".pgpass":    {pgBlock, "28P01", []string{"KUBEWRIGHT_PG_CONN_STR=" + toDatabase, "PGPASSFILE=" + filepath.Join(home, ".pgpass")}},
		"AWS":        {s3Block(echo(t, httptest.NewServer, 405)), "can be reached", []string{"AWS_ACCESS_KEY_ID=AKTEST", "AWS_SECRET_ACCESS_KEY=" + password, "AWS_SESSION_TOKEN=" + sessionToken}},
		".aws":       {s3Block(echo(t, httptest.NewServer, 405)), "can be reached", nil},
		"a proxy":    {httpBlock("http://states.example.com/x"), "407", []string{"HTTP_PROXY=" + login(echo(t, httptest.NewServer, 407))}},
		"no proxy":   {httpBlock("http://states.example.com/x"), "can be reached", []string{"HTTP_PROXY=" + login(unusedAddress(t))}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newKeeper(t, c.block)
			v.hide(sessionToken)
			cmd := folder(v.dir).process("kubewright-process", "init")
			cmd.Env = append(append(os.Environ(), "HOME="+home, "NO_PROXY=", "no_proxy=", "http_proxy="), c.env...)
			out, err := cmd.CombinedOutput()
			if said := strings.Join(strings.Fields(string(out)), " "); err == nil || !strings.Contains(said, c.want) {
				t.Errorf("%v: %q is not in %s", err, c.want, said)
			}
			v.search("init", string(out))
			v.searchFiles("init")
		})
	}
}

// TestSecretsOfFiles checks that a secret in the backend block, in a variables file or in
// sensitive(), and one in a wrong place, is not shown with another error on its line.
func TestSecretsOfFiles(t *testing.T) {
	t.Parallel()
	const secret = "canary-l1teral"
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	const settings, variable = "kubewright {\n  %s\n}\n", "variable \"pin\" {\n  type      = number\n  sensitive = true\n}\n"
	for name, c := range map[string]struct {
		name, text, want string
		args             []string
	}{
		"a value of another type":      {"pin.auto.kwvars", `pin = "` + secret + `"`, "Invalid value for variable", nil},
		"a list without quotes":        {"pin.auto.kwvars", "pin = [" + secret + "]", "Variables not allowed", nil},
		"JSON without quotes":          {"pin.auto.kwvars.json", `{"pin": canaryl1teral}`, "", nil},
		"a backend":                    {"a.hcl", fmt.Sprintf(settings, `backend "http" { password = "`+secret+`" + 1 }`), "Only literals here", nil},
		"a backend, without quotes":    {"a.hcl", fmt.Sprintf(settings, `backend "http" { password = canary_l1teral }`), "Only literals here", nil},
		"a quote that is not closed":   {"a.hcl", fmt.Sprintf(settings, `backend "http" { password = "`+secret+` }`), "", nil},
		"another block on the line":    {"a.hcl", fmt.Sprintf(settings, `backend "http" { password = sensitive("`+secret+`") }`), "Only literals here", nil},
		"a connection":                 {"a.hcl", "locals { x = [sensitive(\"" + secret + "\"), var.none] }\n", "var.none", nil},
		"a recipient":                  {"a.hcl", fmt.Sprintf(settings, `encryption { recipients = ["`+identity.String()+`"] }`), "this is a secret one", nil},
		"a private key":                {"a.hcl", `locals { key = "-----BEGIN PRIVATE KEY-----\n` + secret + `\n-----END PRIVATE KEY-----" }`, "Private key in the configuration", nil},
		"an address":                   {"a.hcl", `locals { a = var.none == "http://ann:` + secret + `@proxy" }`, "var.none", nil},
		"settings, without quotes":     {"team.backend", "password = canary_l1teral\n", "Only literals here", []string{"init", "-backend-config=team.backend"}},
		"settings, of another name":    {"team.backend", "pasword = \"" + secret + "\"\n", "Unknown setting", []string{"init", "-backend-config=team.backend"}},
		"settings that are not closed": {"team.backend", "password = \"" + secret + "\n", "", []string{"init", "-backend-config=team.backend"}},
		"a mirror":                     {"a.hcl", "", "is no address", []string{"bundle", "-kubernetes-version=1.36.3", "-from-kubernetes=http://ann:" + slashed + "@mirror"}},
		"a mirror that is not there":   {"a.hcl", "", "connection refused", []string{"bundle", "-kubernetes-version=1.36.3", "-from-kubernetes=" + login(unusedAddress(t))}},
		"a mirror that refuses":        {"a.hcl", "", "403 Forbidden", []string{"bundle", "-kubernetes-version=1.36.3", "-from-kubernetes=" + login(echo(t, httptest.NewServer, 403))}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newKeeper(t, variable)
			if c.args != nil {
				v.write("main.hcl", httpBlock("http://states.example.com/x")+ciConfig)
			}
			for _, text := range []string{secret, "canary_l1teral", "canaryl1teral", identity.String()} {
				v.hide(text)
			}
			v.write(c.name, c.text)
			commands := [][]string{c.args}
			if c.args == nil {
				commands = [][]string{{"validate"}, {"validate", "-json"}, {"plan"}, {"state", "list"}}
			}
			v.inputs = append(v.inputs, c.name)
			for i, args := range commands {
				code := 1
				if args[0] == "state" {
					code = anyCode
				}
				said := strings.Join(strings.Fields(v.run(code, args...)), " ")
				if i == 0 && !strings.Contains(said, c.want) {
					t.Errorf("%q is not in %s", c.want, said)
				}
			}
		})
	}
}

// TestSecretsInProxyAddresses checks that the password in the address of a proxy is treated as a
// secret also where it is not marked as sensitive.
func TestSecretsInProxyAddresses(t *testing.T) {
	t.Parallel()
	v := newKeeper(t, "")
	proxy, database := login("http://proxy:3128"), login("postgres://db/x")
	v.write("main.hcl", strings.Replace(ciConfig, "  network {", fmt.Sprintf("  proxy_env = { HTTPS_PROXY = %q }\n  api_server {\n    extra_env \"DATABASE\" { value = %q }\n  }\n  network {", proxy, database), 1))
	v.run(0, "plan")
	v.run(0, "plan", "-json")
	v.run(0, "apply", "-auto-approve")
	world, err := os.ReadFile(filepath.Join(v.dir, "kubewright.sim.json"))
	if err != nil || !bytes.Contains(world, []byte("c4n%40ry")) {
		t.Errorf("the password did not reach the host: %v", err)
	}
	v.noChanges()
	v.run(0, "show", "-json")
	v.run(0, "state", "show", "node.solo/control-plane")
}

// protected is an operator's key with a passphrase.
const (
	protected  = "protected_ed25519"
	passphrase = "open sesame"
)

// protectedKey copies the key into a folder.
func protectedKey(t *testing.T, dir string) (file string, public ssh.PublicKey, line string) {
	t.Helper()
	for _, name := range []string{protected, protected + ".pub"} {
		b, err := os.ReadFile(filepath.Join("..", "..", "state", "encryption", "testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, name), string(b))
		line = strings.TrimSpace(string(b))
	}
	public, _, _, _, err := ssh.ParseAuthorizedKey([]byte(line))
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, protected), public, line
}

// TestSecretsOfPassphrases checks that the passphrases of the keys for hosts and for the state, right or
// wrong, are in no output.
func TestSecretsOfPassphrases(t *testing.T) {
	t.Parallel()
	file, public, line := protectedKey(t, t.TempDir())
	for name, c := range map[string]struct {
		config        func(t *testing.T) string
		args          []string
		right         int
		wanted, wrong string
	}{
		"of the state": {func(*testing.T) string {
			return fmt.Sprintf("kubewright {\n  encryption {\n    recipients = [%q]\n  }\n}\n", line) + ciConfig
		}, []string{"apply", "-auto-approve"}, 0, "Apply complete!", "give the key's passphrase"},
		"of a host": {func(t *testing.T) string {
			return strings.NewReplacer("PORT", refusingHost(t, public), `"key"`, fmt.Sprintf("%q", file)).Replace(rightConfig)
		}, []string{"plan"}, 1, "nobody works here", "cannot decrypt private key"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newKeeper(t, "")
			v.write("main.hcl", c.config(t))
			v.env["KUBEWRIGHT_AGE_IDENTITY"], v.env["HOME"] = file, v.dir
			for _, typed := range []struct {
				text, want string
				code       int
			}{{"canary-mistyp3d", c.wrong, 1}, {passphrase, c.wanted, c.right}} {
				v.hide(typed.text)
				v.typed = typed.text
				if said := strings.Join(strings.Fields(v.run(typed.code, c.args...)), " "); !strings.Contains(said, typed.want) {
					t.Errorf("%q: %q is not in %s", typed.text, typed.want, said)
				}
			}
		})
	}
}

// refusingHost returns an SSH server that accepts the key and rejects every channel.
func refusingHost(t *testing.T, key ssh.PublicKey) (port string) {
	t.Helper()
	host, err := ssh.ParsePrivateKey([]byte(newKey(t)))
	if err != nil {
		t.Fatal(err)
	}
	config := &ssh.ServerConfig{PublicKeyCallback: func(_ ssh.ConnMetadata, shown ssh.PublicKey) (*ssh.Permissions, error) {
		if !bytes.Equal(shown.Marshal(), key.Marshal()) {
			return nil, errors.New("another key")
		}
		return nil, nil
	}}
	config.AddHostKey(host)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go refuseChannels(c, config)
		}
	}()
	return fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
}

func refuseChannels(c net.Conn, config *ssh.ServerConfig) {
	defer c.Close()
	_, channels, requests, err := ssh.NewServerConn(c, config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for ch := range channels {
		_ = ch.Reject(ssh.Prohibited, "nobody works here")
	}
}
