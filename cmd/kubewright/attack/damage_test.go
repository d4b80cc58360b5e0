package attack

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"unicode/utf16"
)

// damaged returns an attack that changes one file of an applied folder. It holds if plan refuses
// the folder, or still finds no difference.
func damaged(name, file string, change func(string) string) attack {
	return attack{name: name, run: func(a *arena) {
		a.quickstart()
		text := ""
		if _, err := os.Stat(a.path(file)); err == nil {
			text = a.read(file)
		}
		a.write(file, change(text))
		a.intact()
	}}
}

// intact checks that plan refuses the folder, or finds no difference.
func (a *arena) intact() {
	a.Helper()
	o := a.kubewright("plan", "-input=false", "-detailed-exitcode")
	if o.code != 0 && !strings.Contains(o.stderr, "Error: ") {
		a.Errorf("exit code %d without an error: the damaged file was trusted\n%s%s", o.code, clip(o.stdout), clip(o.stderr))
	}
}

func becomes(text string) func(string) string { return func(string) string { return text } }

func cutAt(n int) func(string) string { return func(s string) string { return s[:min(n, len(s))] } }

func damageAttacks() []attack {
	out := []attack{
		damaged("state cut in half", stateFile, func(s string) string { return s[:len(s)/2] }),
		damaged("state with NUL bytes", stateFile, becomes(strings.Repeat("\x00", 1000))),
		damaged("journal of garbage", journalFile, becomes(strings.Repeat("garbage\n", 1000))),
		damaged("state nested deeply", stateFile, becomes(strings.Repeat("[", 1_000_000))),
	}
	more := []attack{
		damaged("state empty", stateFile, becomes("")),
		damaged("state of one byte", stateFile, cutAt(1)),
		damaged("state of 100 bytes", stateFile, cutAt(100)),
		damaged("state without its last bytes", stateFile, func(s string) string { return s[:len(s)-3] }),
		damaged("state is a list", stateFile, becomes("[]")),
		damaged("state is null", stateFile, becomes("null")),
		damaged("state in UTF-16", stateFile, inUTF16),
		damaged("state with CRLF", stateFile, func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }),
		damaged("state twice", stateFile, func(s string) string { return s + s }),
		damaged("state as if it were encrypted", stateFile, becomes("-----BEGIN AGE ENCRYPTED FILE-----\nxx\n-----END AGE ENCRYPTED FILE-----\n")),
		damaged("state of a later version", stateFile, func(s string) string {
			return strings.Replace(s, `"format_version": `, `"format_version": 9`, 1)
		}),
		damaged("state with escapes", stateFile, becomes("{\"\x1b[2J\u202e\": 1}")),
		damaged("journal of NUL bytes", journalFile, becomes(strings.Repeat("\x00", 100_000))),
		damaged("journal with a line of 50 MB", journalFile, becomes(`{"a":"`+strings.Repeat("x", 50<<20))),
		damaged("journal without checksums", journalFile, becomes("{\"kind\":\"run\"}\n{\"kind\":\"begin\"}\n")),
	}
	random := rand.New(rand.NewPCG(7, 11))
	for i := range 12 {
		at, bit := random.Float64(), byte(1)<<random.IntN(8)
		more = append(more, damaged(fmt.Sprintf("state with bit %d of 12 flipped", i+1), stateFile, func(s string) string {
			b := []byte(s)
			b[int(at*float64(len(b)))] ^= bit
			return string(b)
		}))
	}
	for _, file := range []string{stateFile, journalFile} {
		more = append(more, attack{name: file + " of 3 GiB", run: func(a *arena) {
			a.quickstart()
			f, err := os.OpenFile(a.path(file), os.O_CREATE|os.O_WRONLY, 0o600)
			a.must(err)
			a.must(f.Truncate(3 << 30))
			a.must(f.Close())
			a.intact()
		}})
	}
	for i := range more {
		more[i].long = true
	}
	return append(out, more...)
}

func inUTF16(s string) string {
	b := []byte{0xff, 0xfe}
	for _, unit := range utf16.Encode([]rune(s)) {
		b = binary.LittleEndian.AppendUint16(b, unit)
	}
	return string(b)
}
