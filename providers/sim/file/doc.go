// Package file is what stands at one path of a simulated machine: its mode, owner and digest,
// and in place of keys, certificates and kubeconfigs a record, which holds no key material.
// It knows neither machines nor time.
package file
