package export_test

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// chromium is a headless browser that is controlled over two pipes by the DevTools protocol:
// JSON messages, each followed by a NUL.
type chromium struct {
	t    *testing.T
	to   *os.File
	from *bufio.Reader
	dir  string
	last int
	tabs map[string]*tab
	// log is the browser's stderr, for a browser that does not start.
	log *strings.Builder
}

// tab is an open page.
type tab struct {
	*chromium
	target, session, file string
	loaded, closed        bool
	// said has the messages of the console, asked the requests besides the page.
	said, asked []string
}

// message is a DevTools message in either direction.
type message struct {
	ID      int             `json:"id,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

// browser finds a Chromium: the one in KUBEWRIGHT_BROWSER, which has to exist, or one of the
// usual names.
func browser(t *testing.T) string {
	t.Helper()
	if name := os.Getenv("KUBEWRIGHT_BROWSER"); name != "" {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatalf("KUBEWRIGHT_BROWSER: %v", err)
		}
		return path
	}
	for _, name := range []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("no Chromium here: the page is not opened. Install chromium, or name one in KUBEWRIGHT_BROWSER.")
	return ""
}

// startBrowser starts a browser that ends with the test.
func startBrowser(t *testing.T) *chromium {
	t.Helper()
	name := browser(t)
	theirs, ours, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	answers, theirAnswers, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	b := &chromium{t: t, to: ours, from: bufio.NewReaderSize(answers, 1<<20), dir: t.TempDir(), tabs: map[string]*tab{}, log: &strings.Builder{}}
	// A browser that hangs is killed, which ends reading.
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	cmd := exec.CommandContext(ctx, name, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
		"--user-data-dir="+filepath.Join(b.dir, "profile"), "about:blank")
	cmd.ExtraFiles, cmd.Stderr, cmd.WaitDelay = []*os.File{theirs, theirAnswers}, b.log, 10*time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = theirs.Close(), theirAnswers.Close()
	t.Cleanup(func() {
		b.last++
		_ = b.send(message{ID: b.last, Method: "Browser.close"})
		_ = cmd.Wait()
		cancel()
		_, _ = ours.Close(), answers.Close()
	})
	return b
}

func (b *chromium) send(m message) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	_, err = b.to.Write(append(text, 0))
	return err
}

// call calls a method and reads its answer, and the events before it.
func (b *chromium) call(session, method string, params, into any) {
	b.t.Helper()
	p, err := json.Marshal(params)
	if err != nil {
		b.t.Fatal(err)
	}
	b.last++
	if err := b.send(message{ID: b.last, Session: session, Method: method, Params: p}); err != nil {
		b.t.Fatalf("%s: %v\n%s", method, err, b.log)
	}
	for {
		m := b.read()
		if m.ID != b.last {
			continue
		}
		if m.Error != nil {
			b.t.Fatalf("%s: %s", method, m.Error.Message)
		}
		if into != nil {
			if err := json.Unmarshal(m.Result, into); err != nil {
				b.t.Fatalf("%s: %v", method, err)
			}
		}
		return
	}
}

// read returns the next message; its tab records the event.
func (b *chromium) read() message {
	b.t.Helper()
	text, err := b.from.ReadBytes(0)
	if err != nil {
		b.t.Fatalf("the browser is gone: %v\n%s", err, b.log)
	}
	var m message
	if err := json.Unmarshal(text[:len(text)-1], &m); err != nil {
		b.t.Fatal(err)
	}
	if t := b.tabs[m.Session]; t != nil {
		t.happened(m)
	}
	return m
}

func (t *tab) happened(m message) {
	switch m.Method {
	case "Page.loadEventFired":
		t.loaded = true
	case "Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded":
		t.said = append(t.said, string(m.Params))
	case "Network.requestWillBeSent", "Network.webSocketCreated":
		var p struct {
			URL     string `json:"url"`
			Request struct {
				URL string `json:"url"`
			} `json:"request"`
		}
		if err := json.Unmarshal(m.Params, &p); err != nil {
			t.t.Fatal(err)
		}
		if page, _, _ := strings.Cut(p.Request.URL, "#"); page != "file://"+t.file {
			t.asked = append(t.asked, p.URL+p.Request.URL)
		}
	}
}

// open opens a page from a file, in a window of that width, and waits until its script has run.
func (b *chromium) open(page, anchor string, width int) *tab {
	b.t.Helper()
	f, err := os.CreateTemp(b.dir, "*.html")
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := f.WriteString(page); err != nil {
		b.t.Fatal(err)
	}
	_ = f.Close()
	t := &tab{chromium: b, file: f.Name()}
	var target struct {
		ID string `json:"targetId"`
	}
	b.call("", "Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct {
		Session string `json:"sessionId"`
	}
	b.call("", "Target.attachToTarget", map[string]any{"targetId": target.ID, "flatten": true}, &attached)
	t.target, t.session = target.ID, attached.Session
	b.tabs[t.session] = t
	t.do("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false})
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		t.do(domain+".enable", map[string]any{})
	}
	t.do("Page.navigate", map[string]any{"url": "file://" + t.file + anchor})
	for !t.loaded {
		b.read()
	}
	b.t.Cleanup(t.close)
	return t
}

func (t *tab) do(method string, params any) {
	t.t.Helper()
	t.call(t.session, method, params, nil)
}

// tell evaluates JavaScript in the page and reads its value.
func (t *tab) tell(expression string, into any) {
	t.t.Helper()
	var answer struct {
		Result struct {
			Value json.RawMessage `json:"value"`
		} `json:"result"`
		Exception json.RawMessage `json:"exceptionDetails"`
	}
	t.call(t.session, "Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true}, &answer)
	if answer.Exception != nil {
		t.t.Fatalf("%s: %s", expression, answer.Exception)
	}
	if err := json.Unmarshal(answer.Result.Value, into); err != nil {
		t.t.Fatalf("%s: %v in %s", expression, err, answer.Result.Value)
	}
}

// click clicks with the mouse on the element of a selector: an invisible one cannot be clicked.
func (t *tab) click(selector string) {
	t.t.Helper()
	quoted, _ := json.Marshal(selector)
	var at *struct{ X, Y float64 }
	t.tell(`(() => {
		const e = document.querySelector(`+string(quoted)+`);
		if (!e || !e.checkVisibility()) return null;
		e.scrollIntoView({ block: "center" });
		const r = e.getBoundingClientRect(), x = r.x + Math.min(r.width, 120) / 2, y = r.y + r.height / 2;
		return e.contains(document.elementFromPoint(x, y)) ? { X: x, Y: y } : null;
	})()`, &at)
	if at == nil {
		t.t.Fatalf("there is no %s to click, or it is covered", selector)
	}
	for _, event := range []string{"mousePressed", "mouseReleased"} {
		t.do("Input.dispatchMouseEvent", map[string]any{"type": event, "x": at.X, "y": at.Y, "button": "left", "clickCount": 1})
	}
}

// write types into the focused element, in place of its content.
func (t *tab) write(text string) {
	t.t.Helper()
	var done bool
	t.tell(`(() => { document.activeElement.select(); return true; })()`, &done)
	if text == "" {
		for _, event := range []string{"keyDown", "keyUp"} {
			t.do("Input.dispatchKeyEvent", map[string]any{"type": event, "key": "Backspace", "code": "Backspace", "windowsVirtualKeyCode": 8})
		}
		return
	}
	t.do("Input.insertText", map[string]any{"text": text})
}

// close closes a page, and reports what it should not have done.
func (t *tab) close() {
	t.t.Helper()
	if t.closed {
		return
	}
	t.closed = true
	t.call("", "Target.closeTarget", map[string]any{"targetId": t.target}, nil)
	if len(t.said) > 0 {
		t.t.Errorf("the browser complains:\n%s", strings.Join(t.said, "\n"))
	}
	if len(t.asked) > 0 {
		t.t.Errorf("the page requests other resources:\n%s", strings.Join(t.asked, "\n"))
	}
}
