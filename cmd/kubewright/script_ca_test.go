package main

import (
	"encoding/base64"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/config/hclconfig"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/phases/pki/pkitest"
	"github.com/rogpeppe/go-internal/testscript"
)

// simulated is the time at which a simulated world begins.
var simulated = time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)

// makeCA creates a CA: NAME.crt and NAME.key.
func (o *operator) makeCA(t testing.TB, dir, name string) error {
	ca := pkitest.NewCA(t, name, "ECDSA", simulated.Add(-time.Hour))
	if o.cas == nil {
		o.cas = map[string]*pkitest.CA{}
	}
	o.cas[name] = ca
	if err := os.WriteFile(filepath.Join(dir, name+".crt"), ca.Certificate, 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name+".key"), ca.Key, 0o600)
}

// supply signs, with an existing CA, every certificate that the configuration in the folder
// requires as supplied, valid from two days before the simulated world until a given time. With
// names it signs only those.
func (o *operator) supply(t testing.TB, dir, name string, until time.Time, only ...string) error {
	cfg, diags := hclconfig.Load(hclconfig.Options{Dir: dir, ToolVersion: "0.1.0"})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	for _, s := range pki.Supplies(cfg, "prod") {
		if len(only) > 0 && !slices.Contains(only, s.Name) {
			continue
		}
		files := o.cas[name].Supply(t, s, simulated.Add(-48*time.Hour), until, nil)
		for _, file := range slices.Sorted(maps.Keys(files)) {
			path := filepath.Join(dir, "supplied", filepath.FromSlash(file))
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				return err
			}
			if err := os.WriteFile(path, files[file], 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}

func scriptCA(t testing.TB) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, _ bool, args []string) {
		ts.Check(of(ts).makeCA(t, ts.MkAbs("."), args[0]))
		certificate := of(ts).cas[args[0]].Certificate
		ts.Setenv(strings.ToUpper(args[0]), base64.StdEncoding.EncodeToString(certificate))
		ts.Setenv(strings.ToUpper(args[0])+"_PEM", string(certificate))
	}
}

func scriptSupply(t testing.TB) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, _ bool, args []string) {
		until, err := time.Parse(time.DateOnly, args[1])
		ts.Check(err)
		ts.Check(of(ts).supply(t, ts.MkAbs("."), args[0], until, args[2:]...))
	}
}
