// Package site checks the documentation as it is built by make site.
package site

import (
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// built is the page of a site: what it links to and what can be linked to.
type built struct {
	ids   map[string]bool
	links []string
	// loads are what the browser fetches to show the page.
	loads []string
}

// TestSiteLinks checks the site that make site has built: every link leads to a file and a heading
// of it, and no page loads anything from elsewhere.
func TestSiteLinks(t *testing.T) {
	dir := os.Getenv("KUBEWRIGHT_SITE")
	if dir == "" {
		t.Skip("make site builds the site and sets KUBEWRIGHT_SITE")
	}
	links, problems := check(t, os.DirFS(dir))
	for _, p := range problems {
		t.Error(p)
	}
	if links < 5000 {
		t.Errorf("only %d links were found", links)
	}
	index, err := os.ReadFile(filepath.Join(dir, "search-index.js"))
	if err != nil || !strings.Contains(string(index), `u:"how-to/rotate-a-ca.html#steps"`) {
		t.Errorf("the search does not know the steps of how-to/rotate-a-ca.html: %v", err)
	}
}

// TestSiteSearch opens the site in a browser, as a file, with words to search for and a block to copy.
func TestSiteSearch(t *testing.T) {
	dir, browser := os.Getenv("KUBEWRIGHT_SITE"), os.Getenv("KUBEWRIGHT_BROWSER")
	if dir == "" || browser == "" {
		t.Skip("make site sets KUBEWRIGHT_SITE; KUBEWRIGHT_BROWSER names a Chromium")
	}
	for words, first := range map[string]string{
		"rotate ca":                   "how-to/rotate-a-ca.html#rotate-a-ca",
		"max_unavailable":             "how-to/upgrade-workers-in-batches.html#",
		"Plan would lose etcd quorum": "reference/refusals.html#",
	} {
		page := open(t, browser, "file://"+dir+"/tutorial/1-decide.html?q="+url.QueryEscape(words))
		result := regexp.MustCompile(`(?s)id="result-0"[^>]*><a [^>]*href="([^"]*)"`).FindStringSubmatch(page)
		if result == nil || !strings.HasPrefix(strings.TrimPrefix(result[1], "file://"+dir+"/"), first) {
			t.Errorf("%s: the first result is %q, want %s", words, result, first)
		}
		if words == "rotate ca" && !strings.Contains(page, "<mark>Rotate</mark> a <mark>CA</mark>") {
			t.Errorf("the words are not marked in\n%s", page)
		}
	}
	page := open(t, browser, "file://"+dir+"/tutorial/3-apply.html?q=<b>bold</b>")
	if strings.Contains(page, "<b>bold") || strings.Count(page, `class="copy"`) != 3 {
		t.Errorf("the page has markup of the query, or %d buttons to copy", strings.Count(page, `class="copy"`))
	}
}

// open returns a page as a browser has it after its scripts have run.
func open(t *testing.T, browser, url string) string {
	t.Helper()
	cmd := exec.Command(browser, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000", "--user-data-dir="+t.TempDir(), "--dump-dom", url)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestBrokenSiteIsFound checks that the check finds what can be wrong with a site.
func TestBrokenSiteIsFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.html":   `<link rel=stylesheet href=site.css><h2 id=one>One</h2><a href=b/c.html#two>x</a><a href="#one">x</a><a href=https://example.com/>x</a>`,
		"b/c.html": `<h2 id=two>Two</h2><a href=../a.html#two>x</a><a href=/a.html>x</a><a href=d.html>x</a><script src=https://cdn.example.com/x.js></script><img src=../none.png>`,
		"site.css": "",
	} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	links, problems := check(t, os.DirFS(dir))
	slices.Sort(problems)
	want := []string{
		"b/c.html: ../a.html#two: there is no such heading",
		"b/c.html: ../none.png: there is no such file",
		"b/c.html: /a.html: the link holds only where the site is at the top of a server",
		"b/c.html: d.html: there is no such file",
		"b/c.html: loads https://cdn.example.com/x.js",
	}
	if links != 9 || !slices.Equal(problems, want) {
		t.Errorf("%d links, problems:\n%s", links, strings.Join(problems, "\n"))
	}
}

// check returns the number of links of a site, and what is wrong with them.
func check(t *testing.T, site fs.FS) (links int, problems []string) {
	t.Helper()
	pages := map[string]*built{}
	err := fs.WalkDir(site, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || path.Ext(name) != ".html" {
			return err
		}
		f, err := site.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		root, err := html.Parse(f)
		if err != nil {
			return err
		}
		pages[name] = &built{ids: map[string]bool{}}
		pages[name].read(root)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range pages {
		for _, to := range slices.Concat(p.links, p.loads) {
			links++
			if problem := follow(site, pages, name, to); problem != "" {
				problems = append(problems, fmt.Sprintf("%s: %s: %s", name, to, problem))
			}
		}
		for _, to := range p.loads {
			if strings.Contains(to, "//") {
				problems = append(problems, fmt.Sprintf("%s: loads %s", name, to))
			}
		}
	}
	return links, problems
}

// read collects the IDs and links of a node and what is below it.
func (p *built) read(n *html.Node) {
	for _, a := range n.Attr {
		switch {
		case a.Key == "id":
			p.ids[a.Val] = true
		case a.Key == "href" && n.Data == "a":
			p.links = append(p.links, a.Val)
		case a.Key == "href" || a.Key == "src":
			p.loads = append(p.loads, a.Val)
		}
	}
	for c := range n.ChildNodes() {
		p.read(c)
	}
}

// follow says what is wrong with a link of a page.
func follow(site fs.FS, pages map[string]*built, from, to string) string {
	u, err := url.Parse(to)
	if err != nil {
		return err.Error()
	}
	if u.Scheme != "" {
		return ""
	}
	if u.Host != "" || strings.HasPrefix(u.Path, "/") {
		return "the link holds only where the site is at the top of a server"
	}
	file := from
	if u.Path != "" {
		file = path.Join(path.Dir(from), u.Path)
	}
	if info, err := fs.Stat(site, file); err != nil || info.IsDir() {
		return "there is no such file"
	}
	if u.Fragment != "" && (pages[file] == nil || !pages[file].ids[u.Fragment]) {
		return "there is no such heading"
	}
	return ""
}
