package sshconfig

import (
	"fmt"
	"math"
	"net"
	"strconv"
	"strings"
	"time"
)

// A reader checks the arguments of a keyword and returns its values.
type reader func(args []string, raw string) ([]string, error)

// readers are the keywords whose values matter here, in lower case. The first value for a host
// counts, but for those in several.
var readers = map[string]reader{
	"hostname":             one(nil),
	"user":                 one(nil),
	"port":                 one(port),
	"hostkeyalias":         one(nil),
	"identityfile":         one(nil),
	"certificatefile":      one(nil),
	"identityagent":        one(nil),
	"identitiesonly":       one(flag("yes", "true", "no", "false")),
	"userknownhostsfile":   list,
	"globalknownhostsfile": list,
	"proxyjump":            jumps,
	"proxycommand":         command,
	"connecttimeout":       one(duration),
	"serveraliveinterval":  one(duration),
	"serveralivecountmax":  one(count),
	"canonicalizehostname": one(flag("yes", "true", "no", "false", "always")),
	"revokedhostkeys":      one(nil),
	"tag":                  one(nil),
	"ignoreunknown":        one(nil),
}

// several are the keywords whose values add up.
var several = map[string]bool{"identityfile": true, "certificatefile": true}

// ignored are the other keywords of ssh_config(5), the ones that OpenSSH has dropped, and those of
// Apple and Red Hat.
// They decide what a session may do, how it is encrypted or what is shown: not which machine is
// reached, or as whom.
var ignored = set(`addkeystoagent addressfamily afstokenpassing batchmode bindaddress bindinterface
	canonicaldomains canonicalizefallbacklocal canonicalizemaxdots canonicalizepermittedcnames
	casignaturealgorithms challengeresponseauthentication channeltimeout checkhostip cipher ciphers
	clearallforwardings compression compressionlevel connectionattempts controlmaster controlpath
	controlpersist dsaauthentication dynamicforward enableescapecommandline enablesshkeysign
	escapechar exitonforwardfailure fallbacktorsh fingerprinthash forkafterauthentication
	forwardagent forwardx11 forwardx11timeout forwardx11trusted gatewayports gssapiauthentication
	gssapiclientidentity gssapidelegatecredentials gssapikexalgorithms gssapikeyexchange
	gssapirenewalforcesrekey gssapiserveridentity gssapitrustdns hashknownhosts hostbasedacceptedalgorithms
	hostbasedauthentication hostbasedkeytypes hostkeyalgorithms ipqos
	kbdinteractiveauthentication kbdinteractivedevices keepalive kerberosauthentication kerberostgtpassing
	kexalgorithms knownhostscommand localcommand localforward loglevel logverbose macs
	nohostauthenticationforlocalhost numberofpasswordprompts obscurekeystroketiming passwordauthentication
	permitlocalcommand permitremoteopen pkcs11provider preferredauthentications protocol
	proxyusefdpass pubkeyacceptedalgorithms pubkeyacceptedkeytypes pubkeyauthentication refuseconnection
	rekeylimit remotecommand remoteforward requesttty requiredrsasize rhostsauthentication rsaminsize
	rhostsrsaauthentication rsaauthentication securitykeyprovider sendenv sessiontype setenv skeyauthentication
	smartcarddevice stdinnull streamlocalbindmask streamlocalbindunlink stricthostkeychecking syslogfacility
	tcpkeepalive tisauthentication tunnel tunneldevice updatehostkeys usekeychain useprivilegedport usersh
	useroaming verifyhostkeydns versionaddendum visualhostkey warnweakcrypto xauthlocation`)

func set(words string) map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		out[w] = true
	}
	return out
}

// one reads a keyword with one argument, which check refuses with a reason.
func one(check func(string) error) reader {
	return func(args []string, _ string) ([]string, error) {
		switch {
		case len(args) == 0 || args[0] == "":
			return nil, fmt.Errorf("has no value")
		case len(args) > 1:
			return nil, fmt.Errorf("has more than one value: %q", args[1])
		case check != nil:
			if err := check(args[0]); err != nil {
				return nil, err
			}
		}
		return args, nil
	}
}

// list reads a keyword with several files, or none.
func list(args []string, _ string) ([]string, error) {
	if len(args) == 0 {
		return nil, fmt.Errorf("has no value")
	}
	for _, a := range args {
		if a == "" {
			return nil, fmt.Errorf("names a file without a name")
		}
		if strings.EqualFold(a, "none") && len(args) > 1 {
			return nil, fmt.Errorf("names none and other files")
		}
	}
	return args, nil
}

// command reads a keyword whose value is the rest of the line.
func command(_ []string, raw string) ([]string, error) {
	if raw = strings.TrimLeft(raw, blank+"="); raw == "" {
		return nil, fmt.Errorf("has no value")
	}
	return []string{raw}, nil
}

// jumps reads ProxyJump, whose value ends at the first blank whatever quotes there are.
func jumps(_ []string, raw string) ([]string, error) {
	raw = strings.TrimLeft(raw, blank+"=")
	if i := strings.IndexAny(raw, blank); i >= 0 {
		raw = raw[:i]
	}
	if strings.EqualFold(raw, "none") {
		return []string{raw}, nil
	}
	for part := range strings.SplitSeq(raw, ",") {
		if _, err := ParseJump(part); err != nil {
			return nil, err
		}
	}
	return []string{raw}, nil
}

// A Jump is an entry of ProxyJump; Port is 0 and User empty where it names none.
type Jump struct {
	User, Host string
	Port       int
}

// ParseJump parses [user@]host[:port], or ssh://[user@]host[:port].
func ParseJump(text string) (Jump, error) {
	var j Jump
	refused := fmt.Errorf("%q is not [user@]host[:port]", text)
	rest := strings.TrimSuffix(strings.TrimPrefix(text, "ssh://"), "/")
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		if j.User, rest = rest[:at], rest[at+1:]; j.User == "" {
			return j, refused
		}
	}
	host, number, given := rest, "", false
	if strings.HasPrefix(rest, "[") {
		var closed bool
		if host, number, closed = strings.Cut(rest[1:], "]"); !closed || number != "" && number[0] != ':' {
			return j, refused
		}
		number, given = strings.CutPrefix(number, ":")
	} else {
		host, number, given = strings.Cut(rest, ":")
	}
	if host == "" || strings.ContainsAny(host, blank+`/'"\;&<>|(){}`+"`") || strings.HasPrefix(host, "-") || strings.ContainsAny(j.User, blank) {
		return j, refused
	}
	j.Host = host
	if given {
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 || n > math.MaxUint16 {
			return j, refused
		}
		j.Port = n
	}
	return j, nil
}

func port(text string) error {
	if _, err := Port(text); err != nil {
		return fmt.Errorf("%q is no port", text)
	}
	return nil
}

// Port returns the number of a port, which may be the name of a service.
func Port(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err == nil && (n < 1 || n > math.MaxUint16) {
		return 0, strconv.ErrRange
	}
	if err == nil {
		return n, nil
	}
	return net.LookupPort("tcp", text)
}

func flag(allowed ...string) func(string) error {
	return func(text string) error {
		for _, a := range allowed {
			if strings.EqualFold(a, text) {
				return nil
			}
		}
		return fmt.Errorf("%q is not one of %s", text, strings.Join(allowed, ", "))
	}
}

func count(text string) error {
	if n, err := strconv.ParseInt(text, 10, 32); err != nil || n < 0 {
		return fmt.Errorf("%q is not a number", text)
	}
	return nil
}

func duration(text string) error {
	if _, ok := Duration(text); !ok {
		return fmt.Errorf("%q is not a time such as 90 or 1m30s", text)
	}
	return nil
}

// Duration returns a time as sshd_config(5) specifies it under TIME FORMATS: numbers, each followed
// by a unit; seconds without one. none is 0.
func Duration(text string) (time.Duration, bool) {
	if text == "none" {
		return 0, true
	}
	units := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour}
	var sum time.Duration
	for rest := strings.ToLower(text); rest != ""; {
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		n, err := strconv.ParseInt(rest[:digits], 10, 32)
		if err != nil {
			return 0, false
		}
		unit := time.Second
		if rest = rest[digits:]; rest != "" {
			if unit = units[rest[0]]; unit == 0 {
				return 0, false
			}
			rest = rest[1:]
		}
		if sum += time.Duration(n) * unit; sum < 0 || sum > math.MaxInt32*time.Second {
			return 0, false
		}
	}
	return sum, true
}
