package ui

import (
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Table is rows of cells that stand below one another; the first row has the headings.
type Table [][]string

// columnGap is between two columns.
const columnGap = "  "

// columnWidth returns how wide a column is.
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

// Fitting returns the columns that fit into a width; 0 is room for all. Dispensable are
// those that a narrow terminal has no room for, the first to go first.
func (t Table) Fitting(width int, dispensable []int) []int {
	for gone := 0; ; gone++ {
		columns := t.without(dispensable[:gone])
		total := -len(columnGap)
		for _, i := range columns {
			total += len(columnGap) + t.columnWidth(i)
		}
		if width <= 0 || total <= width || gone == len(dispensable) {
			return columns
		}
	}
}

// without returns all columns but some.
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
