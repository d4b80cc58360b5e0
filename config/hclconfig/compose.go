package hclconfig

import (
	"strconv"

	"github.com/hashicorp/hcl/v2"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/state"
)

// A composer adds to a cluster the files and arguments that a block stands for. It replaces none that
// are written out: each such block excludes them.
type composer struct {
	e *evaluator
	c *config.Cluster
	// block is the name of the block.
	block string
	// control is what of a benchmark the values serve.
	control string
}

// source returns the origin of a value.
func (a composer) source(at hcl.Range) state.Source {
	s := source(at)
	s.Control = a.control
	return s
}

// fileKey returns the key of a file's content in Origins and Sensitive.
func fileKey(p string) string { return "file[" + strconv.Quote(p) + "].content" }

// file adds a file for control planes, which is sensitive if hidden is set.
func (a composer) file(p, content string, hidden bool, at hcl.Range) {
	for _, f := range a.c.Files {
		if f.Path == p {
			a.e.add(diag.Errorf("Setting is written twice", "file %q and the %s block both write this file on control planes. Remove one of them.", p, a.block).At(f.Source))
			return
		}
	}
	a.c.Files = append(a.c.Files, config.File{
		Path: p, Content: content, Mode: config.DefaultFileMode(true), Owner: config.CompleteOwner(config.DefaultFileOwner),
		Roles: []string{string(config.ControlPlane)}, Source: a.source(at),
	})
	a.c.Origins[fileKey(p)] = a.source(at)
	if hidden {
		a.c.Sensitive[fileKey(p)] = true
	}
}

// unit adds a unit for control planes.
func (a composer) unit(u config.Unit, at hcl.Range) {
	for _, other := range a.c.Units {
		if other.Name == u.Name {
			a.e.add(diag.Errorf("Setting is written twice", "unit %q and the %s block both have this unit. Remove one of them.", u.Name, a.block).At(other.Source))
			return
		}
	}
	u.Roles, u.Source = []string{string(config.ControlPlane)}, a.source(at)
	a.c.Units = append(a.c.Units, u)
	a.c.Origins["unit["+strconv.Quote(u.Name)+"]"] = a.source(at)
}

// arg adds an argument of the API server.
func (a composer) arg(name, value string, at hcl.Range) {
	for _, arg := range a.c.APIServer.Args {
		if arg.Name == name {
			a.e.add(diag.Errorf("Setting is written twice", "arg %q of api_server and the %s block both set --%s. Remove one of them.", name, a.block, name).At(arg.Source))
			return
		}
	}
	a.c.APIServer.Args = append(a.c.APIServer.Args, config.Arg{Name: name, Value: value, Source: a.source(at)})
	a.c.Origins["api_server.arg["+strconv.Quote(name)+"]"] = a.source(at)
}
