package sim

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
)

// encode returns the world's file: one line per host, object and content, so that diffs are
// readable and ten thousand hosts stay small.
func (w *World) encode() ([]byte, error) {
	w.sweep()
	var b bytes.Buffer
	b.Grow(int(w.file.kept.size)*5/4 + 1<<12) // as large as last time, plus some room
	head := w.saved()
	head.Hosts, head.Clusters, head.Blobs = nil, nil, nil
	if err := line(&b, "", &head); err != nil {
		return nil, err
	}
	b.Truncate(b.Len() - 1) // the closing brace
	if err := section(&b, "blobs", w.fleet.Blobs); err != nil {
		return nil, err
	}
	if err := section(&b, "clusters", w.etcds.ByID); err != nil {
		return nil, err
	}
	if err := section(&b, "hosts", w.fleet.Hosts); err != nil {
		return nil, err
	}
	b.WriteString("\n}\n")
	return b.Bytes(), nil
}

// section writes a map, one line per entry.
func section[V any](b *bytes.Buffer, name string, m map[string]V) error {
	if len(m) == 0 {
		return nil
	}
	b.WriteString(",\n\"" + name + "\": {")
	separator := "\n"
	for _, key := range slices.Sorted(maps.Keys(m)) {
		quoted, err := json.Marshal(key)
		if err != nil {
			return err
		}
		if err := line(b, separator+" "+string(quoted)+": ", m[key]); err != nil {
			return err
		}
		separator = ",\n"
	}
	b.WriteString("\n}")
	return nil
}

func line(b *bytes.Buffer, head string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	b.WriteString(head)
	b.Write(text)
	return nil
}

// sweep drops unreferenced data: content that no host holds, and clusters whose data is
// gone from every host.
func (w *World) sweep() {
	used, alive := map[string]bool{}, map[string]bool{}
	for _, m := range w.fleet.Hosts {
		for _, f := range m.Files {
			used[f.SHA256] = true
			if f.Member != nil {
				alive[f.Member.Cluster] = true
			}
		}
		for _, p := range m.Pods {
			used[p.Manifest] = true
		}
		if m.Kubelet != nil {
			used[m.Kubelet.Config], used[m.Kubelet.Flags] = true, true
		}
	}
	for digest := range w.fleet.Blobs {
		if !used[digest] {
			delete(w.fleet.Blobs, digest)
		}
	}
	for id, c := range w.etcds.ByID {
		if !alive[id] && !c.External() {
			delete(w.etcds.ByID, id)
		}
	}
	w.fleet.ForgetBaselines()
}
