// Package config is the typed model of a configuration: what the user wrote,
// with defaults filled in and everything checked that can be checked without
// looking at a host. It knows nothing of HCL; config/hclconfig makes it from
// files. A Config is never changed after loading, and facts never enter it.
package config
