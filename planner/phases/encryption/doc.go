// Package encryption is the phase of the file by which API servers encrypt objects in etcd, and the
// stages in which its keys change while the cluster runs. It finds the stage from the files alone:
// what is in them, and whether API servers are told to read them.
//
// It never has a key: it names them, and operations make and copy them.
package encryption
