// Package workspace is the folder that a command works in: its configuration, the place
// where its state is kept, the keys that encrypt it, and the files that no command may
// overwrite.
//
// It contacts backends of states, and no host.
package workspace
