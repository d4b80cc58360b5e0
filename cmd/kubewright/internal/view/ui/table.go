package ui

import (
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Table is rows of cells; the first row has the headings.
type Table [][]string

// columnGap separates two columns.
const columnGap = "  "

// columnWidth returns the width of a column.
func (t Table) columnWidth(i int) int {
	width := 0
	for _, row := range t {
		width = max(width, ansi.StringWidth(row[i]))
	}
	return width
}

// Line returns a row as a line of these columns.
func (t Table) Line(row []string, columns []int) string {
	var cells []string
	for _, i := range columns {
		cells = append(cells, Fill(row[i], t.columnWidth(i)))
	}
	return strings.TrimRight(strings.Join(cells, columnGap), " ")
}

// Fitting returns the columns that fit into a width; 0 has room for all. Dispensable are the
// columns to leave out on a narrow terminal, in this order.
func (t Table) Fitting(width int, dispensable []int) []int {
	for hidden := 0; ; hidden++ {
		columns := t.without(dispensable[:hidden])
		total := -len(columnGap)
		for _, i := range columns {
			total += len(columnGap) + t.columnWidth(i)
		}
		if width <= 0 || total <= width || hidden == len(dispensable) {
			return columns
		}
	}
}

// without returns all columns but the hidden ones.
func (t Table) without(hidden []int) []int {
	var columns []int
	for i := range t[0] {
		if !slices.Contains(hidden, i) {
			columns = append(columns, i)
		}
	}
	return columns
}

// Table prints rows with an indent.
func (p *Page) Table(t Table, indent string) {
	for _, row := range t {
		p.Line(indent, t.Line(row, t.without(nil)))
	}
}
