// Package snapshots keeps snapshots of etcd on the operator's disk.
//
// A snapshot has the format that etcd's Snapshot request streams: the database, followed by
// its SHA-256 (etcd: server/etcdserver/api/v3rpc, Snapshot). The database consists of
// pages, so its size is a multiple of 512 bytes; etcdutl detects by that whether a hash
// follows. A file gets its final name only once it is complete and on disk, and its hash
// was verified.
//
// A snapshot holds every Secret of its cluster as the API stored it. Files are readable by
// the operator alone (0600), in a folder with mode 0700.
package snapshots
