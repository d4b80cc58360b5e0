//go:build ignore

// Command podtypes shows how the kubelet of one version parses a static pod. It runs inside a
// source tree of Kubernetes of that version, so a build tag keeps it out of this module:
//
//	cp main.go KUBERNETES/cmd/podtypes/ && cd KUBERNETES
//	go run cmd/podtypes/main.go types
//	go run cmd/podtypes/main.go hash NODE DIR < list-of-manifests
//
// The manifests are in the goldens that "oracle -whole FOLDER" writes.
//
// "types" prints the structures of a static pod, one per line: the name, then NAME=TYPE of each
// field. "hash" reads file names, treats each as the manifest DIR/BASENAME on the node, and
// prints its hash.
package main

import (
	"bufio"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"hash"
	"hash/fnv"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	core "k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	hashutil "k8s.io/kubernetes/pkg/util/hash"
)

func main() {
	switch os.Args[1] {
	case "types":
		types()
	case "hash":
		hashes(os.Args[2], os.Args[3])
	}
}

func types() {
	seen := map[reflect.Type]bool{}
	var lines []string
	var walk func(t reflect.Type)
	walk = func(t reflect.Type) {
		if seen[t] {
			return
		}
		seen[t] = true
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice:
			walk(t.Elem())
		case reflect.Map:
			walk(t.Key())
			walk(t.Elem())
		case reflect.Struct:
			words := []string{t.String()}
			for i := range t.NumField() {
				words = append(words, t.Field(i).Name+"="+t.Field(i).Type.String())
				walk(t.Field(i).Type)
			}
			lines = append(lines, strings.Join(words, " "))
		default:
			if t.Name() != t.Kind().String() {
				lines = append(lines, t.String()+" "+t.Kind().String())
			}
		}
	}
	walk(reflect.TypeFor[core.Pod]())
	slices.Sort(lines)
	fmt.Println(strings.Join(lines, "\n"))
}

func hashes(node, dir string) {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		content, err := os.ReadFile(in.Text())
		if err != nil {
			panic(err)
		}
		fmt.Println(podHash(content, node, filepath.Join(dir, filepath.Base(in.Text()))), in.Text())
	}
}

// podHash returns the hash that the kubelet's pkg/kubelet/config computes for a file.
func podHash(content []byte, node, path string) string {
	json, err := utilyaml.ToJSON(content)
	if err != nil {
		panic(err)
	}
	obj, err := runtime.Decode(legacyscheme.Codecs.UniversalDecoder(), json)
	if err != nil {
		panic(err)
	}
	var h hash.Hash = fnv.New128a()
	if os.Getenv("HASH") == "md5" { // until 1.34
		h = md5.New()
	}
	hashutil.DeepHashObject(h, obj.(*core.Pod))
	fmt.Fprintf(h, "host:%s", node)
	fmt.Fprintf(h, "file:%s", path)
	return hex.EncodeToString(h.Sum(nil))
}
