package attack

import (
	"bufio"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"strings"
)

// edit returns what changes the text of the first section with a name.
func edit(name string, change func(string) string) func(string, []section) []section {
	return func(_ string, answer []section) []section {
		for i, s := range answer {
			if word, _, _ := strings.Cut(s.words, " "); word == name {
				answer[i].text = change(s.text)
				break
			}
		}
		return answer
	}
}

// replace returns what puts a text in the place of a section's.
func replace(name, text string) func(string, []section) []section {
	return edit(name, func(string) string { return text })
}

// extend returns what adds a text to a section's.
func extend(name, text string) func(string, []section) []section {
	return edit(name, func(old string) string { return old + text })
}

// swollen returns what adds lines with growing numbers to a section, up to a size in bytes.
func swollen(name, form string, size int) func(string, []section) []section {
	return func(_ string, answer []section) []section {
		for i := range answer {
			if answer[i].words == name {
				answer[i].more = func(w io.Writer) { numbered(w, form, size) }
			}
		}
		return answer
	}
}

// numbered repeats a form with growing numbers up to a size in bytes.
func numbered(w io.Writer, form string, size int) {
	b := bufio.NewWriter(w)
	for i, written := 0, 0; written < size; i++ {
		n, err := fmt.Fprintf(b, form, i)
		if err != nil {
			return
		}
		written += n
	}
	_ = b.Flush()
}

// planted returns what makes a host have files, each where a script asks for it.
func planted(files map[string]string) func(string, []section) []section {
	return func(script string, answer []section) []section {
		for path, content := range files {
			if strings.Contains(script, path) {
				answer = plant(answer, path, content)
			}
		}
		return answer
	}
}

// plant puts one file into an answer: that it exists, its digest, its size, and all of it
// where contents and kubeconfigs are sent.
func plant(answer []section, path, content string) []section {
	out := make([]section, 0, len(answer)+2)
	kind, sizes := "", 0
	for i, s := range answer {
		switch s.words {
		case "stats":
			s.text += fmt.Sprintf("8180|%d|600|root:root|1700000000.000000000|%s\n", len(content), path)
		case "digests":
			s.text += fmt.Sprintf("%x  %s\n", sha256.Sum256([]byte(content)), path)
		case "sizes":
			sizes++
			s.text += fmt.Sprintf("%d %s\n", len(content), path)
			if kind = following(answer, i); kind == "" && sizes == 1 {
				out = append(out, s, section{words: "contents", text: base64.StdEncoding.EncodeToString([]byte(content)) + "\n"})
				continue
			}
		case "contents":
			all, _ := base64.StdEncoding.DecodeString(strings.ReplaceAll(s.text, "\n", ""))
			s.text = base64.StdEncoding.EncodeToString(append(all, content...)) + "\n"
		case "kubeconfigs", "certificates":
			s.text += ">" + path + "\n" + content + "\n"
		}
		out = append(out, s)
	}
	return out
}

// following is the name of the section behind one of sizes, where that has what the sizes
// are of.
func following(answer []section, i int) string {
	if i+1 < len(answer) {
		switch w := answer[i+1].words; w {
		case "contents", "certificates", "keys", "kubeconfigs":
			return w
		}
	}
	return ""
}
