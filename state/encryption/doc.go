// Package encryption keeps state, journal and saved plans confidential: with age
// (https://age-encryption.org/v1), to the recipients that the configuration names. The files are
// ordinary armored age files, which the age command can read as well.
//
// Encryption does not authenticate: anyone who knows a public key can write something that
// decrypts. Permissions of the folder or the backend decide who may write the files. Encryption
// does not hide the length of the data.
//
// Identities are read from files and never from arguments or the environment,
// which other processes can see.
package encryption
