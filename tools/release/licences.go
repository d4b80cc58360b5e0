package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// bom is what is read of an SBOM in CycloneDX's form.
type bom struct {
	Components []component `json:"components"`
}

type component struct {
	Name     string            `json:"name"`
	Version  string            `json:"version"`
	Licenses []json.RawMessage `json:"licenses"`
	Evidence struct {
		Licenses []json.RawMessage `json:"licenses"`
	} `json:"evidence"`
}

// ownLicence are components whose licence cyclonedx-gomod does not search: it searches modules.
var ownLicence = []string{"std"}

// checkLicences refuses SBOMs with a component without licence.
func checkLicences(folder string) error {
	files, err := filepath.Glob(filepath.Join(folder, "*.cdx.json"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return errors.New("there is no SBOM, so the licences of dependencies are unknown")
	}
	var missing []string
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var sbom bom
		if err := json.Unmarshal(b, &sbom); err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(file), err)
		}
		if len(sbom.Components) == 0 {
			return fmt.Errorf("%s lists no dependency", filepath.Base(file))
		}
		for _, c := range sbom.Components {
			if len(c.Licenses)+len(c.Evidence.Licenses) == 0 && !slices.Contains(ownLicence, c.Name) {
				missing = append(missing, "  "+c.Name+" "+c.Version)
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	return fmt.Errorf("no licence was found for these dependencies, so nothing is released:\n%s\nReplace them, or ask their authors for one", strings.Join(slices.Compact(missing), "\n"))
}
