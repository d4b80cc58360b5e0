//go:build !unix

package cli

func limitCore() {}
