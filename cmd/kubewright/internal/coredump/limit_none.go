//go:build !unix

package coredump

func limitCore() {}
