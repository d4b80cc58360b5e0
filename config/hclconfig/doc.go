// Package hclconfig reads the HCL files of a folder into the typed model of
// package config. No type of hcl or cty leaves it.
//
// One table of blocks and attributes (schema.go and the files schema_*.go
// beside it) drives everything: what may be written, what it means when it is
// not, the reference documentation, and what a change costs.
//
// Evaluation is per attribute and on demand. A block of the files becomes a
// block of thunks, one per attribute; a thunk evaluates its expression when
// something asks for its value, and asks for the values that the expression
// names. So clusters may refer to nodes and nodes of clusters, as long as no
// attribute depends on itself; that is reported with the whole path.
//
// Where an expression names a collection as a whole, as in
//
//	[for n in node.cp : n.address]
//
// nothing says beforehand which attributes it needs. It is then evaluated with
// unknown values that carry a mark; the marks on the result tell which of them
// mattered; those are evaluated, and the expression once more.
//
// The same marks carry what a value owes to: sensitive, known only after an
// apply (a node's name that is the host's), or wrong already, so that one
// mistake is reported once.
//
// # Places
//
// Cluster.Origins and Node.Origins tell where each value was written. A key is
// the path of a value as in the language:
//
//	network.pod_subnet                 an attribute
//	network                            the header of a block
//	api_server.arg["audit-log-maxage"] a labelled block; for arg its value
//	api_server.arg["x"].value          an attribute of it
//	patch[0].content                   the first of several blocks without label
//	kubelet.config.maxPods             a key of a tree, where the expression is
//	labels["node.example.com/pool"]    a key of a map
//
// Each value of a map or tree has a key: where its own is not written out, as in
// merge(local.all, local.own), with the place of the attribute or of what is written.
// Labels are always quoted in brackets. Keys of maps and trees are appended as
// state.JoinPath does: quoted only when they are no plain word. Where several
// blocks share a label the last one has the key. Origins.Of finds the nearest
// place that encloses a path.
package hclconfig
