// Package snapshots keeps snapshots of etcd on the operator's disk.
//
// A snapshot is what etcd's Snapshot request streams: the database, and behind
// it the SHA-256 of the database (etcd: server/etcdserver/api/v3rpc, Snapshot).
// The database is made of pages, so its size is a multiple of 512 bytes; etcdutl
// tells by that whether there is a hash behind it. A file has its final name
// only once it is whole, on the disk, and its hash was found to be right.
//
// A snapshot holds every Secret of its cluster as the API stored it. Files are
// readable by the operator alone (0600), in a folder that is (0700).
package snapshots
