package workspace

import (
	"path/filepath"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/artifacts"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/pipeline"
)

// CheckConfig returns what does not fit in a configuration, as far as it could be read and
// whatever else is wrong with it: patches, component configurations, and artifacts if needed.
func (a *Workspace) CheckConfig(cfg *config.Config, wrong diag.Diagnostics, needed bool) diag.Diagnostics {
	if cfg == nil {
		return nil
	}
	diags := pipeline.Check(cfg, wrong...)
	if needed {
		diags = append(diags, a.readArtifacts(cfg)...)
	}
	return diags
}

// readArtifacts reads the artifact folders that clusters name. Clusters that name the same
// folder share its content.
func (a *Workspace) readArtifacts(cfg *config.Config) diag.Diagnostics {
	var diags diag.Diagnostics
	read := map[string]*config.Catalog{}
	memory := &artifacts.Memory{File: a.cacheFile("artifacts.json")}
	for _, c := range cfg.Clusters {
		if c.Install.Artifacts == "" {
			continue
		}
		dir := a.ArtifactsFolder(c)
		catalog, known := read[dir]
		if !known {
			var found diag.Diagnostics
			catalog, found = artifacts.Read(dir, c.Install.Artifacts, c.Origins["install.artifacts"], memory)
			diags = append(diags, found...)
			read[dir] = catalog
		}
		c.Install.Catalog = catalog
		diags = append(diags, checkArtifacts(c)...)
	}
	return diags
}

// checkArtifacts refuses artifacts that do not match the rest of a cluster's configuration.
func checkArtifacts(c *config.Cluster) diag.Diagnostics {
	var diags diag.Diagnostics
	catalog, at := c.Install.Catalog, c.Origins["install.artifacts"]
	if programs := catalog.Programs(); c.Install.Packages != nil && len(programs) > 0 {
		diags.Append(diag.Errorf("Two sources of software", "%s holds programs, and install.packages brings them too: %s. Beside packages a folder of artifacts may hold images and containerd/*.toml; "+
			"take the programs out, and their lines in %s, or the packages block.", c.Install.Artifacts, strings.Join(programs, ", "), artifacts.SumsFile).At(c.Origins["install.packages"]))
	}
	if others := catalog.OtherVersions(c.KubernetesVersion); len(others) > 0 && kubeadm.CheckVersion(c.KubernetesVersion) == nil {
		diags.Append(diag.Errorf("Artifacts of another version", "Cluster %q is to be Kubernetes %s, and in %s %s. Bring those of %[2]s, for instance with kubewright bundle, or set kubernetes_version to theirs.",
			c.Label, c.KubernetesVersion, c.Install.Artifacts, strings.Join(others, ", ")).At(at))
	}
	return diags
}

// cacheFile returns a kubewright file in the operator's cache folder (XDG base directory
// specification); empty if there is no such folder.
func (a *Workspace) cacheFile(name string) string {
	if dir := a.Getenv("XDG_CACHE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "kubewright", name)
	}
	if home := a.Getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".cache", "kubewright", name)
	}
	return ""
}

// ArtifactsFolder returns a cluster's artifact folder; a relative path begins at the
// configuration.
func (a *Workspace) ArtifactsFolder(c *config.Cluster) string {
	if filepath.IsAbs(c.Install.Artifacts) {
		return c.Install.Artifacts
	}
	return filepath.Join(a.Folder(), c.Install.Artifacts)
}
