package config

import (
	"net/url"
	"regexp"
	"strings"
)

// packageName matches the package names that both dpkg and rpm accept.
var packageName = regexp.MustCompile(`^[a-z0-9][a-z0-9.+-]+$`)

func (c checker) install(i Install) {
	for _, k := range i.Keep {
		c.oneOf("install.keep", "Unknown name in keep", k, "runtime", "kubelet", "cni", "images")
	}
	if i.Packages != nil {
		c.packages(*i.Packages)
	}
}

func (c checker) packages(p Packages) {
	const path = "install.packages."
	for _, tool := range p.Tools {
		c.oneOf(path+"tools", "Unknown tool", tool, DefaultPackageTools()...)
	}
	if p.Runtime != "" && !packageName.MatchString(p.Runtime) {
		c.errorf(path+"runtime", "Invalid package name", "%s is no name of a package, as in \"containerd\" or \"containerd.io\". With \"\" the runtime is found preinstalled.", c.show(path+"runtime", p.Runtime))
	}
	c.packageRepository(path+"repository", p.Repository)
	c.packageKey(path+"key", p.Key)
}

// packageRepository requires an address that apt and dnf read literally.
func (c checker) packageRepository(path, repository string) {
	u, err := url.Parse(repository)
	const form = "Give the part before /v1.36/deb/, as in \"" + DefaultRepository + "\"."
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || strings.ContainsAny(repository, " \t\n\"'[]#$\\"):
		c.errorf(path, "Invalid package repository", "%s is no address that begins with https:// or http://. %s", c.show(path, repository), form)
	case u.User != nil:
		c.errorf(path, "Credentials in an address", "The repository's address has a user or password in it, which every user of the hosts could read. On hosts with apt put them into /etc/apt/auth.conf.d; otherwise let the mirror be read without.")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		c.errorf(path, "Invalid package repository", "%s has something behind its path. %s", c.show(path, repository), form)
	case Unfetchable(u.Hostname()) != "":
		c.errorf(path, "Invalid package repository", "The host of %s %s. Every host of the cluster fetches from this address, also while a plan is made. %s", c.show(path, repository), Unfetchable(u.Hostname()), form)
	}
}

// packageKey requires a public key as text; only the operator knows which one.
func (c checker) packageKey(path, key string) {
	const get = "Fetch it once, compare its fingerprint with what the repository's owner publishes, and keep it beside the configuration:\n\n" +
		"  curl -fsSL " + DefaultRepository + "/v1.36/deb/Release.key -o kubernetes.asc\n  gpg --show-keys kubernetes.asc\n\n" +
		"and write key = file(\"kubernetes.asc\")"
	switch {
	case key == "": // not written
	case strings.Contains(key, "PRIVATE KEY BLOCK"):
		c.errorf(path, "Private key given", "key holds a private key. The hosts need the public one only: gpg --armor --export.")
	case !strings.Contains(key, "-----BEGIN PGP PUBLIC KEY BLOCK-----") || !strings.Contains(key, "-----END PGP PUBLIC KEY BLOCK-----"):
		c.errorf(path, "No key of the package repository", "key is no ASCII-armored public key. Without it a host cannot tell the repository's packages from another source's. %s.", get)
	}
}
