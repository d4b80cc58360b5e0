// Package graph is the steps of a plan as a graph: as dot, mermaid and JSON, and as a drawing
// with boxes, edges and a timeline.
//
// It computes where things are; the page that shows a drawing is in package export.
package graph
