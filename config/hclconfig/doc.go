// Package hclconfig reads the HCL files of a folder into the typed model of package config. No
// type of hcl or cty leaves it.
//
// One table of blocks and attributes (schema.go and the files schema_*.go beside it) drives
// everything: what may be written, its defaults, the reference documentation, and what a change
// costs.
//
// Evaluation is per attribute and on demand. A block becomes a block of thunks, one per
// attribute; a thunk evaluates its expression when its value is needed, and first evaluates the
// values that the expression refers to. So clusters may refer to nodes and nodes to clusters,
// as long as no attribute depends on itself; such a cycle is reported with its whole path.
//
// If an expression refers to a collection as a whole, as in
//
//	[for n in node.cp : n.address]
//
// it is not known beforehand which attributes it needs. It is then evaluated with unknown
// values that carry a mark; the marks on the result show which of them it depends on; those are
// evaluated, and then the expression again.
//
// The same kind of marks shows whether a value is sensitive, known only after an apply (the
// name of a node that is its host's), or already reported as wrong, so that one mistake is
// reported once.
//
// # Places
//
// Cluster.Origins and Node.Origins hold the position of each value. A key is the path of a
// value in the language:
//
//	network.pod_subnet                 an attribute
//	network                            the header of a block
//	api_server.arg["audit-log-maxage"] a labelled block; for arg its value
//	api_server.arg["x"].value          an attribute of it
//	patch[0].content                   the first of several blocks without label
//	kubelet.config.maxPods             a key of a tree, at its expression
//	labels["node.example.com/pool"]    a key of a map
//
// Each value of a map or tree has a key: if it is not written out, as in merge(local.all,
// local.own), with the position of the attribute or of the nearest written value. Labels are
// always quoted in brackets. Keys of maps and trees are appended as state.JoinPath does: quoted
// only if they are no plain word. If several blocks share a label, the last one has the key.
// Origins.Of finds the nearest position that encloses a path.
package hclconfig
