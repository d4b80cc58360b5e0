package config

// AuthenticationPath is the configuration of authentication on control planes.
const AuthenticationPath = "/etc/kubernetes/authentication/config.yaml"

// ProbePaths are the paths at which API servers answer probes: the kubelet's, which carry no
// credentials, and those of an apply.
var ProbePaths = []string{"/livez", "/readyz", "/healthz"}
