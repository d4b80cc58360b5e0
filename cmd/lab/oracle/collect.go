package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/kubewright/kubewright/planner/kubeadm/kubeadmtest"
)

// collect reads the files that kubeadm left in a root, without any private key.
func collect(root string) (*kubeadmtest.Golden, error) {
	g := &kubeadmtest.Golden{}
	results := filepath.Join(root, "results")
	var s saved
	content, err := os.ReadFile(filepath.Join(results, "objects.json"))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(content, &s); err != nil {
		return nil, err
	}
	g.Objects, g.Patches = s.Objects, s.Patches
	images, err := os.ReadFile(filepath.Join(results, "images"))
	if err != nil {
		return nil, err
	}
	g.Images = strings.Fields(string(images))
	if g.Init, err = kubeadmtest.ReadHost(filepath.Join(results, "init")); err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(results, "join")); err == nil {
		if g.Join, err = kubeadmtest.ReadHost(filepath.Join(results, "join")); err != nil {
			return nil, err
		}
	}
	return g, nil
}
