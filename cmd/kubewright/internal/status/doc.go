// Package status shows what clusters, hosts and state say at one moment, from one observation as a
// plan makes it, and the history of applies. It changes nothing, and writes nothing but its output.
package status
