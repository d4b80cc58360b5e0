package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Environment variables with the keys that sign a release. There are none in the repository.
const (
	cosignKey = "COSIGN_KEY" // a file or the address of a key, as cosign's -key takes it
	gpgKey    = "RELEASE_GPG_KEY"
)

// sign signs SHA256SUMS, which names every other file, with each key that is configured.
func sign(ctx context.Context, folder string, log func(string, ...any)) error {
	file := filepath.Join(folder, sumsFile)
	signed := false
	if key := os.Getenv(cosignKey); key != "" {
		if err := signWith(ctx, file+".sigstore.json", "cosign", "sign-blob", "--yes", "--key", key, "--bundle", file+".sigstore.json", file); err != nil {
			return err
		}
		signed = true
	}
	if key := os.Getenv(gpgKey); key != "" {
		if err := signWith(ctx, file+".asc", "gpg", "--batch", "--yes", "--local-user", key, "--armor", "--output", file+".asc", "--detach-sign", file); err != nil {
			return err
		}
		signed = true
	}
	if !signed {
		log("not signed: neither %s nor %s is set", cosignKey, gpgKey)
		return nil
	}
	log("%s is signed", sumsFile)
	return nil
}

// signWith makes a signature with a program. An earlier signature of the same bytes stays.
func signWith(ctx context.Context, signature, program string, args ...string) error {
	if _, err := os.Stat(signature); err == nil {
		return nil
	}
	cmd := exec.CommandContext(ctx, program, args...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s cannot sign: %w\n%s", program, err, out)
	}
	return nil
}
