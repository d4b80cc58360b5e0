// Package build builds the parts of the lab's hosts into a cache: programs from Go modules,
// images of them, a Debian root file system, the layers that a host is stacked from, and a
// container store that already holds the images.
//
// The place of an artefact in the cache has its version and a fingerprint of its inputs in its
// name, so nothing in the cache has to be changed or invalidated. It is built in a separate
// folder and renamed, so it is whole or absent; a file lock excludes other builders of the same
// artefact. Artefacts with the same bytes are hard links to each other.
//
// It needs only a Go toolchain, a Go module proxy and a Debian mirror.
package build
