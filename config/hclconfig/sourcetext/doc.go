// Package sourcetext refuses texts of HCL and JSON that must not reach the parser and the evaluator: they
// are nested too deeply, have too many words, or hold a number that takes minutes to write out.
//
// It reads tokens and knows nothing of the language of configurations.
package sourcetext
