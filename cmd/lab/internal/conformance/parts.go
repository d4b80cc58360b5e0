package conformance

import (
	"hash/fnv"
	"slices"
	"strings"
)

// partSize is the number of tests that one process runs: enough that its start is a small part
// of its time, few enough that an interruption loses little.
const partSize = 6

// serial reports whether a test must run while no other one does.
func serial(test string) bool { return strings.Contains(test, "[Serial]") }

// parts divides tests into those of one process each, and those that must run by themselves.
func parts(tests []string) (parallel, alone [][]string) {
	var shared, single []string
	for _, t := range tests {
		if serial(t) {
			single = append(single, t)
		} else {
			shared = append(shared, t)
		}
	}
	return slices.Collect(slices.Chunk(shared, partSize)), slices.Collect(slices.Chunk(single, partSize))
}

// Tenth returns about a tenth of the tests, which depends on nothing but their names.
func Tenth(tests []string) []string {
	return slices.DeleteFunc(slices.Clone(tests), func(test string) bool {
		h := fnv.New32a()
		h.Write([]byte(test))
		return h.Sum32()%10 != 0
	})
}
