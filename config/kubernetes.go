package config

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/kubewright/kubewright/config/componentflag"
	"github.com/kubewright/kubewright/state"
)

// The minor versions of Kubernetes 1 that kubewright supports.
const (
	MinMinor = componentflag.MinMinor
	MaxMinor = componentflag.MaxMinor
)

var releasePattern = regexp.MustCompile(`^1\.(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,3})$`)

// anyRelease matches MAJOR.MINOR.PATCH, whether or not the version exists.
var anyRelease = regexp.MustCompile(`^(0|[1-9]\d*)(\.(0|[1-9]\d*)){2}$`)

// MinorOf returns the minor version of MAJOR.MINOR.PATCH, or 0 if kubewright does not support
// it.
func MinorOf(version string) int {
	m := releasePattern.FindStringSubmatch(version)
	if m == nil {
		return 0
	}
	minor, _ := strconv.Atoi(m[1])
	if minor < MinMinor || minor > MaxMinor {
		return 0
	}
	return minor
}

// version checks kubernetes_version.
func (c checker) version(v string) {
	if v == "" || c.minor != 0 {
		return
	}
	const path, summary = "kubernetes_version", "Unsupported Kubernetes version"
	w, ok := parseVersion(v)
	ok = ok && w.prerelease == ""
	if whole := fmt.Sprintf("%d.%d.%d", w.n[0], w.n[1], w.n[2]); ok && whole != v && MinorOf(whole) != 0 {
		c.errorf(path, summary, "%s is not MAJOR.MINOR.PATCH. Write %q.", c.show(path, v), whole)
		return
	}
	if !ok && !anyRelease.MatchString(v) {
		c.errorf(path, summary, "%s is not MAJOR.MINOR.PATCH of a release, as in \"1.%d.1\". Labels such as stable are not resolved, so that the same configuration gives the same cluster.", c.show(path, v), MaxMinor)
		return
	}
	way := "A newer kubewright may know it."
	if ok && w.n[0] == 1 && w.n[1] < MinMinor {
		way = fmt.Sprintf("A cluster that runs it is brought to 1.%d by kubeadm upgrade first.", MinMinor)
	}
	c.errorf(path, summary, "This version of kubewright makes clusters of Kubernetes 1.%d to 1.%d, any patch release; %s is none of them. %s", MinMinor, MaxMinor, c.show(path, v), way)
}

// gate is a kubeadm feature gate in one minor version.
type gate struct {
	locked     bool // always on
	deprecated bool
}

// RootlessControlPlane is a kubeadm gate that every version has and kubewright does not
// implement.
const RootlessControlPlane = "RootlessControlPlane"

// featureGates are kubeadm's own by minor version.
func featureGates(minor int) map[string]gate {
	gates := map[string]gate{RootlessControlPlane: {}}
	if minor <= 36 {
		gates["PublicKeysECDSA"] = gate{deprecated: true}
		gates["NodeLocalCRISocket"] = gate{locked: minor == 36}
	}
	if minor <= 35 {
		gates["ControlPlaneKubeletLocalMode"] = gate{locked: minor == 35}
	}
	if minor <= 34 {
		gates["WaitForAllControlPlaneComponents"] = gate{locked: true}
	}
	return gates
}

// HasFeatureGate reports whether kubeadm of a version has a feature gate that accepts this
// value.
func HasFeatureGate(version, name string, on bool) bool {
	g, ok := featureGates(MinorOf(version))[name]
	return ok && (on || !g.locked)
}

// removedGates are kubeadm's gates of earlier versions, with what became of them.
var removedGates = map[string]string{
	"EtcdLearnerMode":                  "members always join as learners",
	"WaitForAllControlPlaneComponents": "all components are always waited for",
	"ControlPlaneKubeletLocalMode":     "kubelets of control planes always use their own API server",
	"NodeLocalCRISocket":               "the socket is always kept on the node",
	"PublicKeysECDSA":                  "what keys are made with is certificates { algorithm }, as in \"ECDSA-P256\"",
}

// featureGates checks the names and values of feature gates.
func (c checker) featureGates(gates map[string]bool) {
	if c.minor == 0 {
		return
	}
	known := featureGates(c.minor)
	for _, name := range keys(gates) {
		path := state.JoinPath("feature_gates", name)
		g, ok := known[name]
		switch {
		case !ok && removedGates[name] != "":
			c.errorf(path, "Unknown feature gate", "kubeadm 1.%d has no feature gate %s any more: %s. Remove the line.", c.minor, name, removedGates[name])
		case !ok:
			c.errorf(path, "Unknown feature gate", "kubeadm 1.%d has no feature gate %q; it has %s.%s Gates of components are arguments: arg \"feature-gates\" { value = \"%s=%t\" }.", c.minor, name, list(keys(known)), didYouMean(name, keys(known)), name, gates[name])
		case g.locked && !gates[name]:
			c.errorf(path, "Feature gate is locked", "%s is always on in kubeadm 1.%d and cannot be turned off. Remove the line.", name, c.minor)
		case gates[name] && name == RootlessControlPlane:
			c.errorf(path, "Feature gate is not supported", "With %s the pods of the control plane run as users of their own, and kubewright runs them as root. Remove the line.", name)
		case g.deprecated:
			algorithm := "RSA-2048"
			if gates[name] {
				algorithm = "ECDSA-P256"
			}
			c.warnf(path, "Deprecated feature gate", "%s says what keys are made with, whatever certificates { algorithm } says, and is removed in 1.37. Write certificates { algorithm = %q } instead.", name, algorithm)
		}
	}
}
