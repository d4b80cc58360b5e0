package config

import "github.com/kubewright/kubewright/config/nearest"

// Nearest returns the name that the user probably intended, or "" if none is similar.
func Nearest(given string, names []string) string { return nearest.Name(given, names) }
