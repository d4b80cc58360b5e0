package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/session"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/listing"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/workspace"
	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/artifacts"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/hclconfig"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/pipeline"
	"github.com/kubewright/kubewright/planner/skew"
	"github.com/kubewright/kubewright/providers/bundle"
	"github.com/kubewright/kubewright/state"
	"github.com/spf13/cobra"
)

// bundleOptions are the flags of bundle.
type bundleOptions struct {
	session.Options
	version, dir  string
	arches, extra []string
	releases      bundle.Releases
	sources       bundle.Sources
	registry      string
}

func bundleCommand(a *workspace.Workspace) *cobra.Command {
	o := bundleOptions{releases: bundle.DefaultReleases(), sources: bundle.DefaultSources()}
	cmd := &cobra.Command{
		Use: "bundle" + clusterArg, Short: "Make the folder of artifacts for hosts that reach nothing", Args: takes(0, 1),
		Long: "bundle fetches what install { artifacts } brings to hosts: Kubernetes' programs, containerd, runc, CNI\n" +
			"plugins, crictl, and all images as archives, with SHA256SUMS; beside install { packages } the images alone.\n" +
			"Everything is held against what its project publishes, and what is there already is not fetched again. It\n" +
			"runs on a machine that reaches the projects' places or mirrors of them; the folder is then carried to where\n" +
			"kubewright runs. No host is contacted.",
		Example: "  kubewright bundle\n  kubewright bundle prod -arch=amd64,arm64\n" +
			"  kubewright bundle -kubernetes-version=1.36.3 -dir=artifacts -from-images=mirror.example.com/k8s",
		RunE: func(cmd *cobra.Command, args []string) error { return makeBundle(cmd.Context(), a, o, args) },
	}
	f := cmd.Flags()
	variableFlags(&o.Options, f)
	f.StringVar(&o.version, "kubernetes-version", "", "bundle for this `version` and a cluster of defaults, without a configuration")
	f.StringVar(&o.dir, "dir", "", "the `folder` to make or complete (default install.artifacts of the cluster, or artifacts)")
	f.StringSliceVar(&o.arches, "arch", []string{"amd64"}, "`architectures` of the hosts: amd64, arm64, ppc64le, s390x")
	f.StringArrayVar(&o.extra, "image", nil, "another `image` for every node, such as a network plugin's; can be given more than once")
	f.StringVar(&o.releases.Containerd, "containerd", o.releases.Containerd, "`version` of containerd; empty leaves it out")
	f.StringVar(&o.releases.Runc, "runc", o.releases.Runc, "`version` of runc; empty leaves it out")
	f.StringVar(&o.releases.CNIPlugins, "cni-plugins", o.releases.CNIPlugins, "`version` of the CNI plugins; empty leaves them out")
	f.StringVar(&o.releases.Crictl, "crictl", o.releases.Crictl, "`version` of crictl; empty leaves it out")
	f.StringVar(&o.sources.Kubernetes, "from-kubernetes", o.sources.Kubernetes, "`address` of dl.k8s.io or a mirror of it")
	f.StringVar(&o.sources.GitHub, "from-github", o.sources.GitHub, "`address` of GitHub or a mirror of its releases")
	f.StringVar(&o.registry, "from-images", "", "pull Kubernetes' images from this `repository`; they keep the names that the cluster asks for")
	return cmd
}

// check refuses invalid flags before anything is fetched.
func (o *bundleOptions) check() error {
	for flag, address := range map[string]string{"from-kubernetes": o.sources.Kubernetes, "from-github": o.sources.GitHub} {
		if u, err := url.Parse(address); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			// Not quoted: it may contain a password.
			return fmt.Errorf("what -%s names is no address as in https://mirror.example.com", flag)
		}
	}
	if len(o.arches) == 0 {
		return errors.New("-arch= names no architecture: amd64, arm64, ppc64le, s390x")
	}
	for _, arch := range o.arches {
		if !artifacts.KnownArchitecture(arch) {
			return fmt.Errorf("there is no Kubernetes for architecture %q: amd64, arm64, ppc64le, s390x", arch)
		}
	}
	if o.registry != "" && !bundle.IsName(strings.TrimSuffix(o.registry, "/")+"/pause:1") {
		return misnamed("from-images", o.registry, "repository as in mirror.example.com/k8s")
	}
	for _, image := range o.extra {
		if bundle.IsDigest(image) {
			return fmt.Errorf("-image=%s names a digest, and hosts ask for an image by name and tag, as in registry.example.com/network:1.0", image)
		}
		if !bundle.IsName(image) {
			return misnamed("image", image, "image as in registry.example.com/network:1.0")
		}
	}
	return nil
}

// misnamed is the error of a flag with a value of the wrong kind. A value with an @ may have a
// password before it.
func misnamed(flag, value, what string) error {
	if strings.Contains(value, "@") {
		return fmt.Errorf("what -%s names is no %s. User and password are those that docker login keeps", flag, what)
	}
	return fmt.Errorf("-%s=%s is no %s", flag, value, what)
}

func makeBundle(ctx context.Context, a *workspace.Workspace, o bundleOptions, args []string) error {
	if err := o.check(); err != nil {
		return console.Misuse("kubewright bundle", err)
	}
	c, err := bundled(ctx, a, o, args)
	if err != nil {
		return err
	}
	dir, called := a.ArtifactsFolder(c), c.Install.Artifacts
	if o.dir != "" {
		dir, called = a.Named(o.dir), o.dir
	}
	w := bundle.Wish{Kubernetes: c.KubernetesVersion, Releases: o.releases, Architectures: o.arches, Images: imagesOf(c, o)}
	progress := listing.NewBundle(a.Stdout)
	if c.Install.Packages != nil {
		w.Kubernetes, w.Releases = "", bundle.Releases{}
		progress.Note("Hosts install the programs from packages (install.packages): the folder gets images alone.")
	}
	o.sources.Kubernetes, o.sources.GitHub = strings.TrimSuffix(o.sources.Kubernetes, "/"), strings.TrimSuffix(o.sources.GitHub, "/")
	if err := bundle.Make(ctx, dir, w, o.sources, progress.File); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return console.Failure(diag.Diagnostics{diag.Errorf("Bundle is not complete", "%s The files that are there are complete, and the same command continues.", console.Sentence(err.Error()))})
	}
	catalog, diags := artifacts.Read(dir, called, state.Source{}, &artifacts.Memory{})
	if w.Kubernetes != "" && !diags.HasErrors() && len(catalog.OtherVersions(w.Kubernetes)) > 0 {
		diags.Append(diag.Errorf("Artifacts of another version", "Asked for Kubernetes %s, and got: %s. Check what -from-kubernetes has.", w.Kubernetes, strings.Join(catalog.OtherVersions(w.Kubernetes), ", ")))
	}
	if err := a.Report(diags); err != nil {
		return err
	}
	return progress.Complete(called)
}

// bundled returns the cluster that the folder is for: one of the configuration, or one with
// defaults.
func bundled(ctx context.Context, a *workspace.Workspace, o bundleOptions, args []string) (*config.Cluster, error) {
	if o.version != "" {
		c := config.NewCluster("bundle", strings.TrimPrefix(o.version, "v"))
		c.Install.Artifacts = "artifacts"
		if r, ok := skew.ParseRelease(c.KubernetesVersion); !ok || kubeadm.KnownReleases()[r.Minor] == "" {
			return nil, fmt.Errorf("this kubewright does not make Kubernetes %s; write a version such as 1.36.3", c.KubernetesVersion)
		}
		return c, nil
	}
	cfg, diags := hclconfig.Load(hclconfig.Options{Dir: a.Folder(), Decrypt: a.DecryptFile, Vars: session.Variables(a, o.Options), Env: a.Environ, ToolVersion: console.Version, Ask: session.Asker(ctx, a, o.Options)})
	if err := ctx.Err(); err != nil {
		return nil, err // interrupted while asking for a variable
	}
	if !diags.HasErrors() {
		diags = append(diags, pipeline.Check(cfg)...)
	}
	a.Sources = a.SourceText
	if err := a.Report(diags); err != nil {
		return nil, err
	}
	c, err := chosen(cfg, args)
	if err == nil && c.Install.Artifacts == "" && o.dir == "" {
		return nil, fmt.Errorf("cluster %q has no install { artifacts }: say with -dir where to put the folder", c.Label)
	}
	return c, err
}

func chosen(cfg *config.Config, args []string) (*config.Cluster, error) {
	if len(args) == 0 && len(cfg.Clusters) == 1 {
		return cfg.Clusters[0], nil
	}
	var labels []string
	for _, c := range cfg.Clusters {
		if len(args) > 0 && c.Label == args[0] {
			return c, nil
		}
		labels = append(labels, c.Label)
	}
	if len(args) == 0 {
		return nil, fmt.Errorf("there is more than one cluster; say for which: %s", strings.Join(labels, ", "))
	}
	return nil, fmt.Errorf("there is no cluster %q in the configuration: %s", args[0], strings.Join(labels, ", "))
}

// imagesOf returns the images of a control plane, which include all that kubeadm knows, and the
// named ones.
func imagesOf(c *config.Cluster, o bundleOptions) []bundle.Image {
	images := func(c *config.Cluster) []string {
		return kubeadm.Images(kubeadm.Input{Cluster: c, Node: &config.Node{Role: config.ControlPlane}, Facts: &state.Facts{}})
	}
	names := images(c)
	from := names
	if o.registry != "" {
		mirrored := *c
		mirrored.ImageRepository = strings.TrimSuffix(o.registry, "/")
		from = images(&mirrored)
	}
	var out []bundle.Image
	for i, name := range names {
		out = append(out, bundle.Image{Name: name, From: from[i]})
	}
	for _, name := range o.extra {
		out = append(out, bundle.Image{Name: name, From: name})
	}
	return out
}
