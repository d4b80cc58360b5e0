package bundle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// imageFile returns the path of an image's archive in the folder.
func imageFile(image, arch string) string {
	return arch + "/images/" + strings.NewReplacer("/", "_", ":", "_", "@", "_").Replace(image) + ".tar"
}

// image stores an image as an archive, in the format of docker save. It does not pull a
// complete archive again: a tag of Kubernetes never moves.
func (b *bundle) image(ctx context.Context, i Image, arch string) error {
	file := imageFile(i.Name, arch)
	switch have, err := sumOf(b.path(file)); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case have == b.sums[file]:
		b.done(file, Present)
		return nil
	case b.sums[file] == "": // interrupted before it was recorded
	default:
		return fmt.Errorf("%s is there and is not what SHA256SUMS says. Remove it, and run the command again", file)
	}
	f, err := b.begin(file)
	if err != nil {
		return err
	}
	part := f.Name()
	if err := errors.Join(pull(ctx, i, arch, f), f.Close()); err != nil {
		_ = os.Remove(part)
		return err
	}
	sum, err := sumOf(part)
	if err != nil {
		return err
	}
	return b.place(part, file, sum, Fetched)
}

// IsName reports whether an image can be bundled under a name, which has a tag or implies
// one.
func IsName(image string) bool {
	_, err := name.NewTag(image)
	return err == nil && !strings.Contains(image, "//") // the client takes https: for a host
}

// IsDigest reports whether a name has a digest, under which hosts could not ask for the
// image.
func IsDigest(image string) bool {
	_, err := name.NewDigest(image)
	return err == nil
}

// pull writes an image into an archive. For registry credentials it uses those of docker
// login.
func pull(ctx context.Context, i Image, arch string, to io.Writer) error {
	from, err := name.ParseReference(i.From)
	if err != nil {
		return err
	}
	tag, err := name.NewTag(i.Name)
	if err != nil {
		return err
	}
	image, err := remote.Image(from, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain),
		remote.WithPlatform(v1.Platform{OS: "linux", Architecture: arch}))
	if err != nil {
		return err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return err
	}
	if config.Architecture != arch {
		return fmt.Errorf("%s is there for %s only", i.From, config.Architecture)
	}
	return tarball.Write(tag, image, to)
}
