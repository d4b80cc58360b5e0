// Package rehearsal has what is asked of a host on which a snapshot of etcd is brought back for a moment,
// and what that etcd shows: how many keys of which resource, and one Secret, decrypted with the keys of a
// backup. It contacts nothing.
package rehearsal
