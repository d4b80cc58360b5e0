package build

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// KubeBench is kube-bench, which judges hosts by the CIS Kubernetes Benchmark.
type KubeBench struct {
	Program string
	// Checks is the folder of its benchmarks.
	Checks string
}

const (
	kubeBenchModule = "github.com/aquasecurity/kube-bench"
	// kubeBenchVersion is the newest version that is a Go module. Its newest benchmark is cis-1.10.
	kubeBenchVersion = "v0.12.0"
)

// KubeBench returns kube-bench, and builds it if it is missing.
func (c *Cache) KubeBench(ctx context.Context) (KubeBench, error) {
	s := source{
		name: "kube-bench", module: kubeBenchModule, version: kubeBenchVersion,
		variable: func(moduleInfo) map[string]string {
			return map[string]string{kubeBenchModule + "/cmd.KubeBenchVersion": kubeBenchVersion}
		},
		programs: []program{{name: "kube-bench", pkg: kubeBenchModule}},
	}
	if err := c.buildSource(ctx, s, s.programs); err != nil {
		return KubeBench{}, err
	}
	tmp, err := c.temp("kube-bench")
	if err != nil {
		return KubeBench{}, err
	}
	defer os.RemoveAll(tmp)
	source, err := s.download(ctx, tmp)
	if err != nil {
		return KubeBench{}, fmt.Errorf("the benchmarks of kube-bench: %w", err)
	}
	return KubeBench{Program: c.programPath(s, s.programs[0]), Checks: filepath.Join(source.Dir, "cfg")}, nil
}
