// Command manual writes what packages of kubewright contain beside the program: the sources of its
// man pages (Markdown for go-md2man) and its completion scripts. It is no part of the program,
// which stays smaller without it.
//
//	manual -version=1.2.3 -date=2026-01-31T00:00:00Z FOLDER
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/cli"
)

func main() {
	version := flag.String("version", "", "the version that the pages name")
	date := flag.String("date", "", "the time of the release, as in RFC 3339")
	flag.Parse()
	if err := write(*version, *date, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "manual:", err)
		os.Exit(1)
	}
}

// completionFiles are the names under which shells look for the scripts.
var completionFiles = map[string]string{
	"bash": "kubewright.bash", "zsh": "_kubewright", "fish": "kubewright.fish", "powershell": "kubewright.ps1",
}

func write(version, date string, args []string) error {
	if len(args) != 1 || version == "" {
		return errors.New("usage: manual -version=VERSION -date=TIME FOLDER")
	}
	when, err := time.Parse(time.RFC3339, date)
	if err != nil {
		return err
	}
	scripts, err := cli.Completions()
	if err != nil {
		return err
	}
	files := map[string][]byte{}
	for shell, script := range scripts {
		name, known := completionFiles[shell]
		if !known {
			return fmt.Errorf("the completion of %s has no file name: add one to completionFiles", shell)
		}
		files[filepath.Join("completions", name)] = script
	}
	for name, page := range cli.Manual(version, when) {
		files[filepath.Join("man", name+".md")] = []byte(page)
	}
	for name, content := range files {
		path := filepath.Join(args[0], name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
