package attack

import (
	"bufio"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// edit returns a change of the text of the first section with a name.
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

// replace returns a change that replaces the text of a section.
func replace(name, text string) func(string, []section) []section {
	return edit(name, func(string) string { return text })
}

// extend returns a change that appends a text to a section.
func extend(name, text string) func(string, []section) []section {
	return edit(name, func(old string) string { return old + text })
}

// swollen returns a change that appends lines with growing numbers to a section, up to a size in
// bytes.
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

// planted returns a change that makes a host report files wherever a script asks for them.
func planted(files map[string]string) func(string, []section) []section {
	return func(script string, answer []section) []section {
		for path, content := range files {
			if strings.Contains(script, quoted(path)) {
				answer = plant(script, uproot(answer, path), path, content)
			}
		}
		return answer
	}
}

// quoted returns a path as scripts quote it.
func quoted(path string) string { return " '" + path + "'" }

// reads matches the calls of a script that send the content of files: their kind, and the line
// with the paths. Each is answered by a section of sizes, and by a section of content if one of
// the files exists.
var reads = regexp.MustCompile(`(?m)^kw_small kw_(\w+)(.*)$`)

// looks matches the line of a script with the paths whose existence it reports.
var looks = regexp.MustCompile(`(?m)^set --.*$`)

// plant adds one file to an answer: its existence, its digest, its size, and its content.
func plant(script string, answer []section, path, content string) []section {
	calls := reads.FindAllStringSubmatch(script, -1)
	out := make([]section, 0, len(answer)+len(calls))
	sending := ""
	for i, s := range answer {
		switch word, _, _ := strings.Cut(s.words, " "); {
		case word == "stats" && strings.Contains(looks.FindString(script), quoted(path)):
			s.text += fmt.Sprintf("8180|%d|600|root:root|1700000000.000000000|%s\n", len(content), path)
		case word == "digests":
			s.text += fmt.Sprintf("%x  %s\n", sha256.Sum256([]byte(content)), path)
		case word == "sizes" && len(calls) > 0:
			kind, asked := calls[0][1], strings.Contains(calls[0][2], quoted(path))
			if calls = calls[1:]; !asked {
				break
			}
			s.text += fmt.Sprintf("%d %s\n", len(content), path)
			if sending = kind; i+1 == len(answer) || answer[i+1].words != kind {
				out = append(out, s, section{words: kind, text: sent(kind, "", path, content)})
				sending = ""
				continue
			}
		case word == sending:
			s.text, sending = sent(word, s.text, path, content), ""
		}
		out = append(out, s)
	}
	return out
}

// uproot removes a file from an answer that sends its whole content.
func uproot(answer []section, path string) []section {
	out := slices.Clone(answer)
	for i, s := range out {
		switch word, _, _ := strings.Cut(s.words, " "); word {
		case "stats":
			out[i].text = without(s.text, "|"+path)
		case "digests":
			out[i].text = without(s.text, "  "+path)
		case "sizes":
			at, n := 0, 0
			for line := range strings.Lines(s.text) {
				var size int
				_, _ = fmt.Sscan(line, &size)
				if strings.HasSuffix(line, " "+path+"\n") {
					n = size
					break
				}
				at += size
			}
			if n > 0 && i+1 < len(out) && out[i+1].words == "contents" {
				all, _ := base64.StdEncoding.DecodeString(strings.ReplaceAll(out[i+1].text, "\n", ""))
				out[i+1].text = base64.StdEncoding.EncodeToString(slices.Delete(all, at, at+n)) + "\n"
				out[i].text = without(s.text, " "+path)
			}
		}
	}
	return out
}

// without returns a text without the lines that have this suffix.
func without(text, end string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasSuffix(line, end+"\n") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// sent returns the text of a section with one more file.
func sent(kind, text, path, content string) string {
	switch kind {
	case "contents":
		all, _ := base64.StdEncoding.DecodeString(strings.ReplaceAll(text, "\n", ""))
		return base64.StdEncoding.EncodeToString(append(all, content...)) + "\n"
	case "keys":
		return text + "- " + path + "\n"
	}
	return text + ">" + path + "\n" + strings.TrimSuffix(content, "\n") + "\n"
}
