package hclconfig

import (
	"strconv"

	"github.com/kubewright/kubewright/config"
)

// hostFiles builds the files and directories of a cluster or node. A sensitive file is recorded in
// hidden.
func hostFiles(l *loader, b *block, ofNode bool, hidden map[string]bool) ([]config.File, []config.Directory) {
	e := l.eval
	var files []config.File
	var dirs []config.Directory
	for _, f := range e.all(b, "file") {
		out := config.File{Path: f.label, Mode: e.str(f, "mode"), Owner: config.CompleteOwner(e.str(f, "owner")), Restarts: e.strings(f, "restarts"), Source: source(f.at)}
		out.Roles, out.Selector = chosen(e, f, ofNode)
		out.Content = fileContent(l, f)
		path := fileKey(f.label)
		if e.boolean(f, "sensitive") || f.attrs["source"].set() && hidden["file["+strconv.Quote(f.label)+"].source"] {
			hidden[path] = true
		}
		if !f.attrs["mode"].set() {
			out.Mode = config.DefaultFileMode(hidden[path])
		}
		files = append(files, out)
	}
	for _, d := range e.all(b, "directory") {
		out := config.Directory{Path: d.label, Mode: e.str(d, "mode"), Owner: config.CompleteOwner(e.str(d, "owner")), Source: source(d.at)}
		out.Roles, out.Selector = chosen(e, d, ofNode)
		dirs = append(dirs, out)
	}
	return files, dirs
}

// chosen returns which nodes get what a block of a cluster describes.
func chosen(e *evaluator, b *block, ofNode bool) (roles []string, selector string) {
	if ofNode {
		return nil, ""
	}
	return e.strings(b, "roles"), e.str(b, "selector")
}

// fileContent returns the content of a file block: written, or that of a file of the configuration.
func fileContent(l *loader, f *block) string {
	const summary = "Invalid file content"
	content, from := f.attrs["content"], f.attrs["source"]
	switch {
	case content.set() && from.set():
		l.eval.errorAt(from.at, summary, "file %q has both content and source, and they exclude each other. Write one of them.", f.label)
	case !content.set() && !from.set():
		l.eval.errorAt(f.at, summary, "file %q has neither content nor source. Write one of them; content = \"\" is an empty file.", f.label)
	case content.set():
		return l.eval.str(f, "content")
	default:
		name := l.eval.str(f, "source")
		if name == "" {
			return ""
		}
		b, err := l.readLocal(name)
		if err != nil {
			l.eval.errorAt(from.at, summary, "The source of file %q cannot be read: %s.", f.label, err)
			return ""
		}
		return string(b)
	}
	return ""
}
