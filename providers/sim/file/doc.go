// Package file is the content at one path of a simulated machine, with mode, owner and
// digest, and for keys, certificates and kubeconfigs a record without key material. It
// knows neither machines nor time.
package file
