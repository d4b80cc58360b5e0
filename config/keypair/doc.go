// Package keypair parses certificates and private keys in PEM, as configurations hold them and files of
// hosts do. Its errors quote nothing of a key.
//
// It decides nothing of a cluster's CAs, and makes neither keys nor certificates: that is package
// providers/pki.
package keypair
