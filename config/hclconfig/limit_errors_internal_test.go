package hclconfig

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/kubewright/kubewright/config/hclconfig/sourcetext"
)

// limitSays are parts of the detail for each limit of the evaluation, by its summary.
var limitSays = map[string][]string{
	textTooLong:  {"This expression makes a text of more than", "Look for what repeats or doubles it."},
	tooLarge:     {"This expression makes a value of more than", "Look for what multiplies it: a for inside of a for"},
	tooMuchMade:  {"on the way to its value, which is the limit for one expression. Look for what multiplies it: a for inside of a for"},
	tooExpensive: {"1,000,000 steps to evaluate, which is the limit; it is reached in this expression. Each element that a function visits is a step, and each pass of a for is 10. Look for a for inside of a for, and compute in locals what is the same for all nodes."},
}

// TestLimitErrorsNameRemedy checks that the error names the exceeded limit, and what to do.
func TestLimitErrorsNameRemedy(t *testing.T) {
	t.Parallel()
	shown := map[string]bool{}
	for _, b := range bombs {
		says := limitSays[b.want]
		if b.name == "chain" {
			says = []string{"More than 1,000 values depend on one another in a row, which is the limit. This is the last of them."}
		}
		if len(says) == 0 || shown[b.want] {
			continue
		}
		shown[b.want] = true
		files, _, _ := b.configuration()
		checkSays(t, b.name, b.want, says, files...)
	}
}

// TestFileLimitErrorsNameRemedy does the same for files, folders, and the numbers of blocks and nodes.
func TestFileLimitErrorsNameRemedy(t *testing.T) {
	t.Parallel()
	node := func(name string) string {
		return fmt.Sprintf("node %q {\n  for_each = toset([for p in setproduct(range(%d), range(100)) : \"${p[0]}-${p[1]}\"])\n  cluster = cluster.c\n  role = \"worker\"\n  address = \"192.0.2.1\"\n}\n", name, maxNodes*2/300+1)
	}
	const cluster = "cluster \"c\" {\n  kubernetes_version = \"1.36.3\"\n}\n"
	words := "locals {\n  a = [" + strings.Repeat("1,", sourcetext.MaxTokens/2) + "]\n}\n"
	space := strings.Repeat("# a comment of some words, which says nothing at all to whoever reads it\n", (maxParsed/2)/73+1)
	for name, c := range map[string]struct {
		summary string
		says    []string
		files   []string
	}{
		"tokens": {"File too large", []string{"A text can have 1,000,000 words and signs, and here it has more. Split it into several files; large values can be in files of their own, for file, jsondecode or yamldecode."}, []string{"main.hcl", words}},
		"folder": {"Configuration too large", []string{"Put large values into files of their own, for file, jsondecode or yamldecode; or split the configuration into several folders."}, []string{"a.hcl", space, "b.hcl", space}},
		"blocks": {"Too many blocks", []string{"A dynamic block can make 10000 blocks."}, []string{"main.hcl", "cluster \"c\" {\n  kubernetes_version = \"1.36.3\"\n  dynamic \"patch\" {\n    for_each = setproduct(range(101), range(100))\n    content {\n      target = \"etcd\"\n      content = \"{}\"\n    }\n  }\n}\n"}},
		"nodes":  {"Too many nodes", []string{"With the elements of this for_each the configuration has"}, []string{"main.hcl", cluster + node("a") + node("b")}},
		"null key": {
			"Invalid object key expression",
			[]string{"The key of an object is a text, and this is null."},
			[]string{"main.hcl.json", `{"locals": {"n": null, "a": {"${local.n}": 1}}}`},
		},
		"list as key": {
			"Invalid object key expression",
			[]string{"The key of an object is a text, and this is none: "},
			[]string{"main.hcl.json", `{"locals": {"n": [1], "a": {"${local.n}": 1}}}`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkSaysWithin(t, usualLimits, name, c.summary, c.says, c.files...)
		})
	}
}

func checkSays(t *testing.T, name, summary string, says []string, files ...string) {
	t.Helper()
	checkSaysWithin(t, aHundredth, name, summary, says, files...)
}

func checkSaysWithin(t *testing.T, max limits, name, summary string, says []string, files ...string) {
	t.Helper()
	var got strings.Builder
	found := false
	for _, d := range loadWithin(max, files...) {
		fmt.Fprintf(&got, "%s: %s\n", d.Summary, d.Detail)
		whole := d.Summary == summary
		for _, words := range says {
			whole = whole && strings.Contains(d.Detail, words)
		}
		found = found || whole
	}
	if !found {
		t.Errorf("%s: %q with %q is not among\n%.2000s", name, summary, says, got.String())
	}
}

// TestFilesTooLargeTogetherAreRefused checks that a file is refused if the files read so far are too large
// together with it. A file that is read again counts once.
func TestFilesTooLargeTogetherAreRefused(t *testing.T) {
	t.Parallel()
	f := &files{fsys: fstest.MapFS{"a": {Data: []byte("abc")}, "b": {Data: []byte("d")}}, texts: map[string][]byte{}, size: maxRead - 3}
	for range 2 {
		if b, err := f.read("a"); err != nil || string(b) != "abc" {
			t.Errorf("got %q, %v", b, err)
		}
	}
	_, err := f.read("b")
	if want := "with it the files that the configuration reads are larger than 256 MiB"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
