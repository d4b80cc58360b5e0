// Package encryption keeps state, journal and saved plans from those who are not
// meant to read them: with age (https://age-encryption.org/v1), to the recipients
// that the configuration names. Files are ordinary age files with armor, which
// the age command can read as well.
//
// What is encrypted is not authenticated: whoever knows a public key can write
// something that can be decrypted. Who may write the files is for their folder or
// backend to decide. Encryption does not hide how long something is.
//
// Identities are read from files and never from arguments or the environment,
// which other processes can see.
package encryption
