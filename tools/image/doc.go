// Package image makes the OCI images of a release: one from scratch with the program alone, and one
// for jobs of CI. Each is an archive of an OCI layout with all architectures; no daemon and no
// registry is needed.
package image
