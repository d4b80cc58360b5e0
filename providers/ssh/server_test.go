package ssh_test

import "github.com/kubewright/kubewright/providers/ssh/sshtest"

// Aliases for the types of sshtest.
type server = sshtest.Server

var (
	startServer      = sshtest.Start
	authorize        = sshtest.Authorize
	newSigner        = sshtest.NewSigner
	newKeyFile       = sshtest.NewKeyFile
	protectedKeyFile = sshtest.ProtectedKeyFile
)

const passphrase = sshtest.Passphrase
