// Package build builds what the lab's hosts are made of, into a cache: programs
// from Go modules, images of them, a Debian root file system, the layers that a
// host is stacked from, a container store that already holds the images.
//
// An artefact's place in the cache is named for its version and a fingerprint
// of what it is made from, so nothing in the cache ever has to be changed or
// declared stale. It is built in a folder of its own and renamed, so it is whole
// or absent; a file lock keeps two builders of one artefact apart. Where
// artefacts hold the same bytes they are hard links to each other.
//
// Nothing but a Go toolchain, a Go module proxy and a Debian mirror is needed.
package build
