package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const sumsFile = "SHA256SUMS"

// signatures are the files that signing adds.
var signatures = []string{sumsFile + ".sigstore.json", sumsFile + ".asc"}

// sums returns the SHA-256 of the files of a folder by name, without signatures.
func sums(folder string) (map[string]string, error) {
	files, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, f := range files {
		if slices.Contains(signatures, f.Name()) {
			continue
		}
		if out[f.Name()], err = sum(filepath.Join(folder, f.Name())); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func sum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// writeSums writes SHA256SUMS in the form of sha256sum.
func writeSums(folder string) error {
	all, err := sums(folder)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, name := range sortedKeys(all) {
		fmt.Fprintf(&b, "%s  %s\n", all[name], name)
	}
	return os.WriteFile(filepath.Join(folder, sumsFile), []byte(b.String()), 0o644)
}

func sortedKeys(all ...map[string]string) []string {
	var out []string
	for _, m := range all {
		out = append(out, slices.Collect(maps.Keys(m))...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
