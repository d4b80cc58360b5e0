// Package atrest reads and writes the file by which API servers encrypt objects before they store
// them in etcd: an EncryptionConfiguration. It knows which keys are in it, in which order, and what
// etcd holds of an object that was encrypted with one of them.
//
// It makes no key, and no error or other text of it has one.
package atrest
