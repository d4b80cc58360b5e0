package sshconfig_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/providers/sshconfig"
)

// refused are configurations that OpenSSH takes and that are refused here: the jump is no host, and
// newer releases of OpenSSH refuse it, too.
var refused = []string{"ProxyJump -x\n", "ProxyJump \"jump\"\n"}

// names are the hosts that OpenSSH is asked for with each configuration.
var names = []string{"n1.lab", "N2.Lab", "10.0.0.7", "deploy@n1.lab"}

// configurations are compared with OpenSSH: FOLDER stands for a folder with the files below.
var configurations = []string{
	// Blocks of hosts.
	"Host n1.lab\n Port 2201\n", "Host=n1.lab\n Port=2201\n", "Host = n1.lab\n Port = 2201\n", "Host == n1.lab\n Port 2201\n",
	"host *.lab\n port 2202\n", "Host *.lab !n1.lab\n Port 2203\n", "Host !n1.lab *.lab\n Port 2203\n", "Host !n1.lab\n Port 2203\n",
	"Host n?.lab\n Port 2204\n", "Host N2.Lab\n Port 2204\n", "Host n2.lab\n Port 2204\n", "Host \"n1.lab\" other\n Port 2205\n",
	"Host 'n1.lab'\n Port 2205\n", "Host n1.lab,other\n Port 2206\n", "Host n1.lab # the first\n Port 2206 # its port\n", "Host n1.lab\\ x\n Port 2206\n",
	"Host \"n1.lab other\"\n Port 2206\n", "Host *\n Port 2207\nHost n1.lab\n Port 2208\n", "Port 2209\nHost n1.lab\n Port 2210\n", "Host\n Port 1\n",
	"Host #\n Port 2211\n", "Host 10.0.0.*\n Port 2212\n", "Host 10.*.0.?\n User core\n", "Host ***\n User core\n", "Host \"*\n Port 1\n", "\tHost\tn1.lab\t\n\t\tPort\t2213\t\n",
	"Host n1.lab\r\n Port 2214\r\n", "Host n1.lab\n Port 2215\n \n#Port 1\n  # Port 2\nUser a\n", "\"Host\" n1.lab\n \"Port\" 2216\n",
	// Values.
	"Port 0\n", "Port 65535\n", "Port 65536\n", "Port many\n", "Port ssh\n", "Port\n", "Port 22 23\n", "Port \"2217\"\n", "Port '2217'\n", "Port=\"2217\"\n", "Host other\n Port many\n",
	"User ann\n", "User \"ann lee\"\n", "User ann lee\n", "User 'ann'\n", "User \"\"\n", "User a\\\"b\n", "User ann#lee\n", "User ann #lee\n", "User = ann\n",
	"HostName 10.1.1.1\n", "HostName %h.example.com\n", "HostName %%h\n", "HostName %n\n", "HostName NODE.Example.COM\n", "HostName \"10.1.1.1\"\n", "Host n1.lab\n HostName n2.lab\nHost n2.lab\n Port 2218\n",
	"HostKeyAlias alias\n", "HostKeyAlias %h\n", "ConnectTimeout 7\n", "ConnectTimeout 1m30s\n", "ConnectTimeout 1.5s\n", "ConnectTimeout none\n", "ConnectTimeout 3y\n", "ConnectTimeout 1M2H\n", "ConnectTimeout -1\n", "ConnectTimeout 99999999999s\n", "ConnectTimeout 2147483647w\n",
	"ServerAliveInterval 1h\n", "ServerAliveInterval none\n", "ServerAliveCountMax 5\n", "ServerAliveCountMax 1m\n", "ServerAliveCountMax -1\n", "ServerAliveCountMax 0\n",
	"IdentitiesOnly yes\n", "IdentitiesOnly TRUE\n", "IdentitiesOnly maybe\n", "IdentityAgent none\n", "IdentityAgent SSH_AUTH_SOCK\n", "IdentityAgent /run/agent\n", "IdentityAgent $VAR\n",
	"IdentityFile ~/.ssh/a\nIdentityFile /b\nIdentityFile ~/.ssh/a\n", "IdentityFile none\n", "IdentityFile \"/with space\"\n", "IdentityFile %d/k-%r@%h\n", "IdentityFile /a /b\n", "Host n1.lab\n IdentityFile /a\nHost *\n IdentityFile /b\n",
	"CertificateFile /c1\nCertificateFile /c2\n", "UserKnownHostsFile /k1 /k2\n", "UserKnownHostsFile none\n", "UserKnownHostsFile none /k1\n", "UserKnownHostsFile \"/k 1\" /k2\n", "UserKnownHostsFile /dev/null\n", "GlobalKnownHostsFile /g1 /g2\nGlobalKnownHostsFile /g3\n",
	"CanonicalizeHostname no\n", "CanonicalizeHostname perhaps\n",
	// Ways.
	"ProxyJump jump\n", "ProxyJump ops@jump:2200,inner\n", "ProxyJump none\n", "ProxyJump none\nProxyCommand nc %h %p\n", "ProxyJump jump\nProxyCommand nc %h %p\n", "ProxyCommand nc %h %p\nProxyJump jump\n", "ProxyCommand none\nProxyJump jump\n", "ProxyCommand none\n",
	"ProxyJump [::1]:22\n", "ProxyJump [::1\n", "ProxyJump x:y\n", "ProxyJump ssh://ops@jump:22\n", "ProxyJump a,,b\n", "ProxyJump -x\n", "ProxyJump = jump\n", "ProxyJump \n", "ProxyCommand=nc \"%h\" # %p\n", "ProxyJump jump # comment\n", "ProxyJump \"jump\"\n", "ProxyJump a, b\n", "ProxyJump ops@\n", "ProxyJump @jump\n", "ProxyJump a:0\n", "ProxyJump a:70000\n", "ProxyJump ::1\n",
	// Match: single criteria.
	"Match all\n Port 2301\n", "Match all # all\n Port 2301\n", "Match all host *\n Port 2301\n", "Match host * all\n Port 2301\n", "Match !all\n Port 2301\n", "Match\n Port 1\n", "Match # nothing\n Port 1\n", "Match nothing\n Port 1\n", "Match host\n Port 1\n", "Match host #\n Port 1\n",
	"Match host n1.lab\n Port 2302\n", "Match host N1.LAB\n Port 2302\n", "Match host n2.lab\n Port 2302\n", "Match host *.lab,10.*\n Port 2303\n", "Match host *.lab,!n1.lab\n Port 2303\n", "Match host !n1.lab\n Port 2303\n", "Match !host n1.lab\n Port 2303\n", "Match !host *.lab,10.9.*\n Port 2303\n", "Match host=n1.lab\n Port 2302\n", "Match host = n1.lab\n Port 2302\n", "Match host \"n1.lab\"\n Port 2302\n", "Match host \"*.lab,10.*\"\n Port 2302\n", "Match \"host\" n1.lab\n Port 2302\n", "Match host n1.lab n2.lab\n Port 2302\n", "Match host \"n1.lab\n Port 1\n", "Match HOST n1.lab\n Port 2302\n", "Match host n1.lab,\n Port 2302\n", "Match host 'n1.lab'\n Port 2302\n",
	"Host n1.lab\n HostName 10.2.2.2\nMatch host 10.2.2.2\n Port 2304\n", "Host n1.lab\n HostName 10.2.2.2\nMatch originalhost n1.lab\n Port 2305\n", "Host n1.lab\n HostName 10.2.2.2\nMatch host n1.lab\n Port 2306\n", "Match originalhost n2.LAB\n Port 2305\n",
	"Match user deploy\n Port 2307\n", "Match user nobody\n Port 2307\n", "Match !user deploy\n Port 2307\n", "User ann\nMatch user ann\n Port 2308\n", "Match user ann,deploy\n Port 2308\n", "Match user LOCAL\n Port 2309\n", "Match localuser LOCAL\n Port 2309\n", "Match localuser nobody\n Port 2309\n", "Match user DEPLOY\n Port 2310\n",
	// Match: criteria in pairs.
	"Match host *.lab user nobody\n Port 2311\n", "Match host *.lab user deploy\n Port 2312\n", "Match user deploy host *.lab\n Port 2312\n", "Match host *.lab !user deploy\n Port 2313\n", "Match !host n1.lab user LOCAL\n Port 2314\n", "Match originalhost n1.lab localuser LOCAL\n Port 2315\n", "Match host n1.lab originalhost 10.* # never\n Port 2316\n", "Match host *.lab nothing x\n Port 1\n", "Match user \"deploy\" host \"n1.lab\"\n Port 2317\n",
	// Match: passes.
	"Match final\n Port 2321\n", "Match final all\n Port 2321\n", "Match canonical\n Port 2322\n", "Match canonical all\n Port 2322\n", "Match !final host n1.lab\n Port 2323\n", "Match final host n1.lab\n Port 2323\n", "Host n1.lab\n HostName other.lab\nHost other.lab\n Port 2324\nMatch final host other.lab\n User final\n", "Host n2.lab\n Port 2325\nMatch final host *.lab\n User final\n", "Match canonical host n1.lab\nMatch final\n Port 2326\n", "Match !canonical\n Port 2327\nMatch final\n User x\n", "Match final user nobody\n Port 2328\n",
	// Includes.
	"Include FOLDER/port\n", "Include FOLDER/absent\nPort 2401\n", "Host n1.lab\n Include FOLDER/port\nHost *\n Port 2402\n", "Include FOLDER/blocks\nPort 2403\n", "Host n1.lab\n Include FOLDER/blocks\n User inside\n", "Host other\n Include FOLDER/blocks\nHost *\n Port 2404\n", "Include FOLDER/*\n", "Include FOLDER/port FOLDER/user\n", "Include \"FOLDER/port\"\n", "Include FOLDER/port # comment\n", "Include\n", "Include FOLDER/bad\n", "Host other\n Include FOLDER/bad\n", "Match host n1.lab\n Include FOLDER/port\n", "Include FOLDER/nested\n", "Include FOLDER/final\nHost other.lab\n Port 2405\n", "Host other\n Include FOLDER/final\nHost *\n HostName other.lab\nHost other.lab\n Port 2406\n", "Include FOLDER/self\n", "include=FOLDER/port\n", "Include FOLDER/po?t\n",
	// Unknown settings.
	"Prot 2222\n", "Host other\n Prot 2222\n", "IgnoreUnknown Pr*\nProt 2222\n", "IgnoreUnknown pr*\nProt 2222\n", "IgnoreUnknown UseKeychain,AddKeysToAgent\nUseKeychain yes\nPort 2501\n", "Host other\n IgnoreUnknown Pr*\nHost *\n Prot 2222\n", "Prot 2222\nIgnoreUnknown Prot\n",
	"SendEnv LANG LC_*\nHashKnownHosts yes\nGSSAPIAuthentication yes\n", "StrictHostKeyChecking no\nForwardAgent yes\nCompression yes\n", "ControlMaster auto\nControlPath ~/.ssh/cm-%r@%h:%p\nControlPersist 10m\n", "LocalForward 8080 localhost:80\nRequestTTY no\n", "User \"ann\n", "Port 2502 \x0c\n User ann\n", "\x0cPort 2502\n",
}

// oracle is the configuration's settings as OpenSSH prints them.
func oracle(t *testing.T, home, config, name string) (map[string][]string, error) {
	t.Helper()
	cmd := exec.Command("ssh", "-G", "-F", config, name)
	cmd.Env = append(os.Environ(), "HOME="+home)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil, errors.New(strings.TrimSpace(stderr.String()))
	}
	if err != nil {
		t.Fatalf("the ssh command is the oracle of this test: %v", err)
	}
	out := map[string][]string{}
	for l := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n") {
		key, value, _ := strings.Cut(l, " ")
		out[key] = append(out[key], value)
	}
	return out, nil
}

// composed returns configurations of several blocks each, the same ones in each run.
func composed(number int) []string {
	random := rand.New(rand.NewPCG(9, 9))
	one := func(words ...string) string { return words[random.IntN(len(words))] }
	criterion := func() string {
		return one("", "", "!") + one("host *.lab", "host n1.lab,10.*", "host *,!n2.lab", "host \"other.lab\"", "user deploy", "user ann,LOCAL", "localuser LOCAL", "originalhost n?.lab", "originalhost=10.0.0.7", "final", "canonical")
	}
	block := func() string {
		if random.IntN(2) == 0 {
			return "Host " + one("*", "*.lab", "n1.lab other", "!n1.lab *", "10.* !10.9.*", "\"n1.lab\" n2.lab", "other.lab", "N2.Lab", "n2.lab") + "\n"
		}
		line := "Match"
		for range 1 + random.IntN(3) {
			line += " " + criterion()
		}
		return line + "\n"
	}
	setting := func() string {
		return " " + one("Port 2601", "Port=2602", "User ann", "User \"bob\"", "HostName other.lab", "HostName %h.lab", "HostName 10.0.0.9", "IdentityFile /a", "IdentityFile \"/b c\"", "ProxyJump jump", "ProxyJump none", "ProxyCommand nc %h", "ConnectTimeout 1m", "HostKeyAlias x", "Include FOLDER/blocks", "Include FOLDER/nested # twice", "UserKnownHostsFile /k1 \"/k 2\"", "ServerAliveInterval 5", "# Port 1", "SendEnv LANG") + "\n"
	}
	var out []string
	for range number {
		text := ""
		for range 2 + random.IntN(3) {
			text += block()
			for range 1 + random.IntN(3) {
				text += setting()
			}
		}
		out = append(out, text)
	}
	return out
}

// TestConfigurationsAsOpenSSHReadsThem compares what each configuration says about each host with
// what ssh -G prints.
func TestConfigurationsAsOpenSSHReadsThem(t *testing.T) {
	t.Parallel()
	account, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		text = strings.NewReplacer("FOLDER", filepath.Join(dir, "files"), "LOCAL", account.Username).Replace(text)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, text := range map[string]string{
		"port": "Port 2411\n", "user": "User included\n", "blocks": "User outer\nHost n1.lab\n Port 2412\nHost 10.*\n Port 2413\n",
		"nested": "Host n1.lab\n Include FOLDER/port\nInclude FOLDER/user\n", "final": "Match final\n User final\n",
	} {
		write("files/"+name, text)
	}
	write("files/bad", "Port many\n")
	write("files/self", "Include FOLDER/self\n")
	compared := 0
	number := 60
	if os.Getenv("KUBEWRIGHT_LONG") != "" {
		number = 2000
	}
	all := append(slices.Clone(configurations), composed(number)...)
	for i, text := range all {
		if strings.Contains(text, "FOLDER/*") { // without the files that are errors
			text = strings.ReplaceAll(text, "FOLDER/*", "FOLDER/[!bs]*")
		}
		config := write(fmt.Sprintf("config%d", i), text)
		for _, name := range names {
			want, wantErr := oracle(t, account.HomeDir, config, name)
			got, err := settings(account, config, name)
			compared++
			if slices.Contains(refused, text) {
				if err == nil {
					t.Errorf("%q is not refused", text)
				}
			} else if (err == nil) != (wantErr == nil) {
				t.Errorf("%q, %s: %v, OpenSSH says %v", text, name, err, wantErr)
			} else if err == nil {
				compare(t, fmt.Sprintf("%q, %s", text, name), account.HomeDir, got, want)
			}
		}
	}
	t.Logf("%d configurations, %d comparisons with ssh -G", len(all), compared)
}

func settings(account *user.User, config, name string) (*sshconfig.Settings, error) {
	c, err := sshconfig.Read(account.HomeDir, sshconfig.Source{Path: config})
	if err != nil {
		return nil, err
	}
	who, host, ok := strings.Cut(name, "@")
	if !ok {
		who, host = "", name
	}
	return c.Settings(sshconfig.Asked{Name: host, User: who, LocalUser: account.Username})
}

// compare checks settings against OpenSSH's. What a configuration does not set, OpenSSH prints as
// its default.
func compare(t *testing.T, what, home string, got *sshconfig.Settings, want map[string][]string) {
	t.Helper()
	if host := want["hostname"][0]; got.HostName != host {
		t.Errorf("%s: connects to %q, OpenSSH to %q", what, got.HostName, host)
	}
	for _, key := range []string{
		"port", "identityfile", "certificatefile", "identityagent", "identitiesonly", "userknownhostsfile", "globalknownhostsfile",
		"hostkeyalias", "proxyjump", "proxycommand", "connecttimeout", "serveraliveinterval", "serveralivecountmax", "canonicalizehostname", "user",
	} {
		g := got.All(key)
		if key == "user" && strings.HasSuffix(what, "deploy@n1.lab") {
			g = nil // ssh was asked for another user
		}
		w := want[key]
		if len(g) == 0 {
			g = defaults(key, w)
		}
		g = slices.Clone(g)
		if strings.HasPrefix(key, "proxy") && slices.Equal(g, []string{"none"}) {
			g = nil
		}
		for i, v := range g {
			g[i] = printed(key, v, home)
		}
		if strings.HasSuffix(key, "knownhostsfile") {
			g = []string{strings.Join(g, " ")}
		}
		if !slices.Equal(g, w) {
			t.Errorf("%s: %s is %q, for OpenSSH %q", what, key, g, w)
		}
	}
}

// printed returns a value as ssh -G prints it.
func printed(key, value, home string) string {
	switch key {
	case "connecttimeout", "serveraliveinterval":
		d, _ := sshconfig.Duration(value)
		if value == "none" && key == "connecttimeout" {
			return "none"
		}
		return fmt.Sprint(int(d.Seconds()))
	case "port":
		n, _ := sshconfig.Port(value)
		return fmt.Sprint(n)
	case "canonicalizehostname":
		return map[string]string{"no": "false", "false": "false"}[value]
	case "proxyjump":
		return strings.TrimPrefix(value, "ssh://")
	case "identitiesonly":
		return map[string]string{"yes": "yes", "true": "yes", "no": "no", "false": "no"}[strings.ToLower(value)]
	case "userknownhostsfile":
		return sshconfig.Home(value, home)
	}
	return value
}

// defaults returns OpenSSH's default of a setting: what it prints, where it is one.
func defaults(key string, printed []string) []string {
	for _, value := range printed {
		switch key {
		case "identityfile":
			if !strings.HasPrefix(value, "~/.ssh/id_") {
				return nil
			}
		case "userknownhostsfile":
			if !strings.HasSuffix(value, "/.ssh/known_hosts2") {
				return nil
			}
		default:
			def := map[string]string{
				"port": "22", "identitiesonly": "no", "globalknownhostsfile": "/etc/ssh/ssh_known_hosts /etc/ssh/ssh_known_hosts2",
				"connecttimeout": "none", "serveraliveinterval": "0", "serveralivecountmax": "3", "canonicalizehostname": "no",
			}[key]
			if key == "user" {
				return printed
			}
			if value != def && (key != "canonicalizehostname" || value != "false") {
				return nil
			}
		}
	}
	return printed
}
