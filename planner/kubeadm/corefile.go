package kubeadm

import (
	"slices"
	"strings"
)

// dnsConfig returns the ConfigMap with CoreDNS's configuration. People write their stub
// domains and hosts into it, and kubeadm keeps a Corefile that is not one of its own.
func (v *view) dnsConfig() Object {
	domain := v.Network.DNSDomain
	o := configMap(addon, systemNamespace, "coredns", map[string]string{"Corefile": corefile(domain)}, nil)
	o.Initial = []string{"data.Corefile"}
	o.Outdated = func(_, text string) bool { return sameCorefile(text, formerCorefile(domain)) }
	return o
}

// corefile is CoreDNS's configuration. Answers for the cluster's own names are
// not cached (since 1.32).
func corefile(domain string) string {
	return corefileOf(domain,
		"    cache 30 {",
		"       disable success "+domain,
		"       disable denial "+domain,
		"    }",
	)
}

// formerCorefile returns the Corefile of kubeadm before 1.32.
func formerCorefile(domain string) string { return corefileOf(domain, "    cache 30") }

func corefileOf(domain string, cache ...string) string {
	lines := slices.Concat([]string{
		".:53 {",
		"    errors",
		"    health {",
		"       lameduck 5s",
		"    }",
		"    ready",
		"    kubernetes " + domain + " in-addr.arpa ip6.arpa {",
		"       pods insecure",
		"       fallthrough in-addr.arpa ip6.arpa",
		"       ttl 30",
		"    }",
		"    prometheus :9153",
		"    forward . /etc/resolv.conf {",
		"       max_concurrent 1000",
		"    }",
	}, cache, []string{
		"    loop",
		"    reload",
		"    loadbalance",
		"}",
	})
	return strings.Join(lines, "\n") + "\n"
}

// sameCorefile compares by words: how a Corefile is indented says nothing.
func sameCorefile(a, b string) bool { return slices.Equal(strings.Fields(a), strings.Fields(b)) }
