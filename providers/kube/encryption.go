package kube

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// loadedConfig is the metric of an API server with one series: the label hash is the SHA-256 of the
// EncryptionConfiguration that it encrypts with
// (k8s.io/apiserver/pkg/server/options/encryptionconfig/metrics).
const loadedConfig = "apiserver_encryption_config_controller_last_config_info{"

// LoadedEncryption implements providers.API.
func (a *API) LoadedEncryption(ctx context.Context) (string, error) {
	hash := ""
	err := a.as("read the metrics of the API server", func(s *session) error {
		text, err := s.typed.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
		hash = loadedHash(text)
		return err
	})
	return hash, err
}

func loadedHash(metrics []byte) string {
	lines := bufio.NewScanner(bytes.NewReader(metrics))
	lines.Buffer(nil, len(metrics)+1)
	for lines.Scan() {
		series, _, _ := strings.Cut(lines.Text(), "} ")
		text, ours := strings.CutPrefix(series, loadedConfig)
		if !ours {
			continue
		}
		for pair := range strings.SplitSeq(text, ",") {
			if name, quoted, _ := strings.Cut(pair, "="); name == "hash" {
				return strings.TrimPrefix(strings.Trim(quoted, `"`), "sha256:")
			}
		}
	}
	return ""
}

// The forms of objects without their content: what is stored again is neither read nor sent.
const (
	onlyMetadata = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	metadataList = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
)

// mostStored limits the objects of a resource that are stored again, and atOnce how many at the same
// time.
const (
	mostStored = 1_000_000
	atOnce     = 8
)

// Rewrite implements providers.API. A patch that changes nothing has the API server compare what it
// would store with what is stored, and write it if the first provider has not encrypted it
// (k8s.io/apiserver/pkg/storage/etcd3, GuaranteedUpdate). The patch names the version that was
// listed: an object that has another by now was stored since.
func (a *API) Rewrite(ctx context.Context, resource string) (int, error) {
	count := 0
	err := a.as("store "+resource+" again", func(s *session) error {
		gvr, err := served(ctx, s, resource)
		if err != nil {
			return err
		}
		return pages[*metav1.PartialObjectMetadataList]{
			what: resource, most: mostStored, begin: func() { count = 0 },
			list: func(ctx context.Context, o metav1.ListOptions) (*metav1.PartialObjectMetadataList, error) {
				return listMetadata(ctx, s, gvr, o)
			},
			take: func(page *metav1.PartialObjectMetadataList) error {
				count += len(page.Items)
				return storeAgain(ctx, s, gvr, page)
			},
		}.each(ctx)
	})
	return count, err
}

// served returns a resource, named RESOURCE or RESOURCE.GROUP, in the version that its group prefers.
func served(ctx context.Context, s *session, resource string) (schema.GroupVersionResource, error) {
	of := schema.ParseGroupResource(resource)
	if of.Group == "" {
		return of.WithVersion("v1"), nil
	}
	b, err := s.typed.Discovery().RESTClient().Get().AbsPath("/apis/"+of.Group).SetHeader("Accept", "application/json").DoRaw(ctx)
	if err != nil {
		return schema.GroupVersionResource{}, err
	}
	var group metav1.APIGroup
	if err := json.Unmarshal(b, &group); err != nil || group.PreferredVersion.Version == "" {
		return schema.GroupVersionResource{}, fmt.Errorf("the API did not say which version of %s it prefers", of.Group)
	}
	return of.WithVersion(group.PreferredVersion.Version), nil
}

// pathOf returns the path of a resource, or of one of its objects.
func pathOf(gvr schema.GroupVersionResource, namespace, name string) []string {
	out := []string{"/apis", gvr.Group, gvr.Version}
	if gvr.Group == "" {
		out = []string{"/api", gvr.Version}
	}
	if namespace != "" {
		out = append(out, "namespaces", namespace)
	}
	if out = append(out, gvr.Resource); name != "" {
		out = append(out, name)
	}
	return out
}

func listMetadata(ctx context.Context, s *session, gvr schema.GroupVersionResource, o metav1.ListOptions) (*metav1.PartialObjectMetadataList, error) {
	r := s.typed.Discovery().RESTClient().Get().AbsPath(pathOf(gvr, "", "")...).SetHeader("Accept", metadataList).Param("limit", fmt.Sprint(o.Limit))
	if o.Continue != "" {
		r = r.Param("continue", o.Continue)
	}
	b, err := r.DoRaw(ctx)
	if err != nil {
		return nil, err
	}
	var list metav1.PartialObjectMetadataList
	if err := json.Unmarshal(b, &list); err != nil {
		return nil, fmt.Errorf("the API did not list %s: %w", gvr.Resource, err)
	}
	return &list, nil
}

// storeAgain has the objects of a page stored again.
func storeAgain(ctx context.Context, s *session, gvr schema.GroupVersionResource, page *metav1.PartialObjectMetadataList) error {
	eg, ctx := errgroup.WithContext(ctx)
	eg.SetLimit(atOnce)
	for i := range page.Items {
		o := &page.Items[i]
		eg.Go(func() error {
			patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": o.UID, "resourceVersion": o.ResourceVersion}})
			if err != nil {
				return err
			}
			err = s.typed.Discovery().RESTClient().Patch(types.MergePatchType).AbsPath(pathOf(gvr, o.Namespace, o.Name)...).
				SetHeader("Accept", onlyMetadata).Param("fieldManager", fieldManager).Body(patch).Do(ctx).Error()
			if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
				return nil
			}
			if err != nil {
				return fmt.Errorf("%s: %w", strings.Trim(o.Namespace+"/"+o.Name, "/"), err)
			}
			return nil
		})
	}
	return eg.Wait()
}
