// Package config is the typed model of a configuration: what the user wrote, with defaults
// filled in and everything checked that can be checked without observing a host. It knows
// nothing about HCL; config/hclconfig makes it from files. A Config is never changed after
// loading, and never contains facts about hosts.
package config
