// Package starter writes the files of a new configuration into a folder: an example, the values
// of its variables, and what a repository needs beside it.
//
// It writes all files or none, never over a file that is there, and never outside of the folder.
package starter
