package pipeline

// PartOf is partOf, for tests.
var PartOf = partOf
