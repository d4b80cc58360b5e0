// Package hclwriter writes files of the language: the configuration of a cluster that was read from
// its hosts, and the values of a configuration's variables.
//
// It takes names and defaults from the schema in package hclconfig, and reads or evaluates nothing.
package hclwriter
