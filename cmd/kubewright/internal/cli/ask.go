package cli

import (
	"github.com/spf13/cobra"
)

// takesInput gives -input to a command that asks for nothing but the passphrase of
// a key which decrypts the state.
func takesInput(cmd *cobra.Command) {
	if cmd.Flags().Lookup("input") == nil {
		cmd.Flags().Bool("input", true, "ask for passphrases on a terminal")
	}
}
