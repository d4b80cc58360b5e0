package config

import (
	"encoding/base64"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// connection checks how to reach a host.
func (c checker) connection(path string, n Connection) {
	c.oneOf(path+".type", "Invalid connection type", n.Type, "ssh", "local", "sim")
	if n.Timeout <= 0 && c.written(path+".timeout") {
		c.errorf(path+".timeout", "Timeout is not positive", "%s gives no time at all. Write a duration such as \"5m\".", n.Timeout)
	}
	c.hop(path, n)
	for i, b := range n.Bastions {
		inner := fmt.Sprintf("%s.bastion[%d]", path, i)
		if b.Host == "" && !c.written(inner+".host") {
			c.errorf(inner, "Bastion without host", "A bastion needs host = \"…\": the name or address to connect to.")
		}
		c.hop(inner, b)
	}
}

// hop checks what hosts and bastions have in common.
func (c checker) hop(path string, n Connection) {
	if n.Port != 0 && (n.Port < 1 || n.Port > 65535) || n.Port == 0 && c.written(path+".port") {
		c.errorf(path+".port", "Invalid port", "%d is not a port from 1 to 65535.", n.Port)
	}
	if _, err := netip.ParseAddr(n.Host); err != nil && strings.ContainsAny(n.Host, " @:/") && c.written(path+".host") {
		c.errorf(path+".host", "Invalid host", "%s is no host name: user and port have their own attributes.", c.show(path+".host", n.Host))
	}
	if strings.ContainsAny(n.User, " @:\n") {
		c.errorf(path+".user", "Invalid user", "%s is no name of a user.", c.show(path+".user", n.User))
	}
	for _, k := range n.PrivateKeys {
		if strings.Contains(k, "-----BEGIN") {
			c.errorf(path+".private_key", "Private key in the configuration", "private_key is the path of a file, as in \"~/.ssh/id_ed25519\", and never the key itself.")
		}
	}
	for _, k := range n.HostKeys {
		c.hostKey(path+".host_key", k)
	}
}

// hostKeyAlgorithms are the algorithms of host keys in use today.
var hostKeyAlgorithms = []string{"ssh-ed25519", "ssh-rsa", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521", "sk-ssh-ed25519@openssh.com"}

// hostKey requires a public key as ssh-keyscan prints it, without the host.
func (c checker) hostKey(path, text string) {
	const summary = "Invalid host key"
	fields := strings.Fields(text)
	if strings.HasPrefix(text, "SHA256:") {
		c.errorf(path, summary, "This is a fingerprint. Write the key itself, as ssh-keyscan prints it behind the host.")
		return
	}
	if len(fields) > 2 && slices.Contains(hostKeyAlgorithms, fields[1]) {
		c.errorf(path, summary, "Write the key without the host in front of it: %q.", strings.Join(fields[1:], " "))
		return
	}
	if len(fields) < 2 || !slices.Contains(hostKeyAlgorithms, fields[0]) {
		c.errorf(path, summary, "%s is no public key, as in \"ssh-ed25519 AAAA…\".", Quote(text))
		return
	}
	if _, err := base64.StdEncoding.DecodeString(fields[1]); err != nil {
		c.errorf(path, summary, "The key behind %s is damaged: it is no base64.", fields[0])
	}
}
