// Package workspace is the folder that a command works in: its configuration, the place of its
// state, the keys that encrypt the state, and the files that no command may overwrite.
//
// It contacts state backends, and no host.
package workspace
