package artifacts

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"fmt"
	"path"
	"strings"
)

// MaxSums limits, in bytes, how much is read of a file of checksums.
const MaxSums = 16 << 20

// ParseSums parses the output of sha256sum: a checksum, a blank, a blank or an asterisk, a
// name. Lines of its other format (--tag) are accepted too. Names are cleaned: ./kubelet is
// kubelet.
func ParseSums(content []byte) (map[string]string, error) {
	sums := map[string]string{}
	lines := bufio.NewScanner(bytes.NewReader(content))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSuffix(lines.Text(), "\r")
		if strings.TrimSpace(line) == "" || line[0] == '#' {
			continue
		}
		sum, name, ok := splitSum(line)
		if b, err := hex.DecodeString(sum); !ok || err != nil || len(b) != 32 {
			return nil, fmt.Errorf("line %d is not of the form SUM, two blanks, NAME: %.80q", n, line)
		}
		name = path.Clean(strings.TrimPrefix(name, "/"))
		if other, twice := sums[name]; twice && other != strings.ToLower(sum) {
			return nil, fmt.Errorf("line %d gives %s another sum than a line before it", n, name)
		}
		sums[name] = strings.ToLower(sum)
	}
	return sums, lines.Err()
}

func splitSum(line string) (sum, name string, ok bool) {
	if tagged, found := strings.CutPrefix(line, "SHA256 ("); found {
		name, sum, ok = strings.Cut(tagged, ") = ")
		return sum, name, ok
	}
	sum, name, ok = strings.Cut(line, " ")
	if !ok || name == "" || name[0] != ' ' && name[0] != '*' {
		return "", "", false
	}
	return sum, name[1:], true
}
