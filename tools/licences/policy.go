package main

// A policy says which licences the dependencies of the program may have.
type policy struct {
	// accepted are the licences by the name that licensecheck gives them, which is the SPDX
	// identifier where there is one.
	accepted []string
	// omitted are the files of modules, as MODULE: FILE, that do not cover what is linked, with the
	// reason.
	omitted map[string]string
}

// kubewright is the policy of this project. With these licences, anyone may use, change and
// distribute the program under Apache-2.0, together with the texts in THIRD_PARTY_LICENSES. MPL-2.0 covers the
// files of the dependency alone; its sources are those of the module, which are not changed here.
var kubewright = policy{
	accepted: []string{
		"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "MIT-0", "MPL-2.0", "Unlicense", "Zlib",
		"Unicode-DFS-2016", // the tables of Unicode
		patents,
	},
	omitted: map[string]string{
		"github.com/opencontainers/go-digest: LICENSE.docs": "it is the licence of the documentation, which is not in the program",
	},
}

// patents is licensecheck's name of the grant of patents that stands beside Go's BSD licence.
const patents = "GooglePatentsFile"

// minCoverage is how much of a licence file has to belong to recognised licences, in percent;
// pkg.go.dev has the same limit. The rest are lines such as copyrights and titles.
const minCoverage = 75
