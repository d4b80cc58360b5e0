// Package s3 keeps a state as an object of a bucket, and its lock as another object beside it.
// Every write is conditional (If-None-Match: * where there was nothing, otherwise If-Match with
// the ETag that was read), so the server decides which of two writers was first. Nothing is ever
// deleted: a released lock remains as an object without a holder, because servers do not agree on
// conditional deletes.
package s3

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/encrypt"

	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/backend"
)

// Backend is a state in a bucket.
type Backend struct {
	core        minio.Core
	bucket, key string
	endpoint    string
	encrypt     bool
	login       *shown

	own backend.Own
	backend.Notes
	// open holds the notes about data that is exposed on the network.
	open []backend.Note
}

var _ backend.Backend = (*Backend)(nil)

// New returns the backend with these settings. It contacts nothing.
func New(s backend.Settings) (*Backend, error) {
	if err := s.Need("s3", "bucket", "key"); err != nil {
		return nil, err
	}
	region := cmp.Or(s["region"], os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"), "us-east-1")
	if strings.Trim(region, regionText) != "" { // the region is part of the server's name
		return nil, errors.New("region of the backend is no region as in eu-central-1")
	}
	given := cmp.Or(s["endpoint"], os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL"))
	u, err := url.Parse(cmp.Or(given, "https://s3."+region+".amazonaws.com"))
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || strings.Trim(u.Path, "/") != "":
		return nil, errors.New("endpoint of the backend is no URL as in https://s3.example.com:9000")
	case u.User != nil:
		return nil, errors.New("endpoint of the backend has a user or a password in it, which errors and logs would show: give AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment")
	}
	lookup := minio.BucketLookupDNS
	if s.Bool("use_path_style") {
		lookup = minio.BucketLookupPath
	}
	login := &shown{Provider: findLogin(s)}
	core, err := minio.NewCore(u.Host, &minio.Options{Creds: credentials.New(login), Secure: u.Scheme == "https", Region: region, BucketLookup: lookup, MaxRetries: 3})
	if err != nil {
		return nil, fmt.Errorf("the settings of the backend \"s3\" cannot be used: %w", err)
	}
	return &Backend{core: *core, bucket: s["bucket"], key: s["key"], endpoint: given, encrypt: s.Bool("encrypt"), login: login, open: open(u)}, nil
}

// regionText holds the characters allowed in a region.
const regionText = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"

// shown holds the credentials that were last used with a server, wherever they came from.
type shown struct {
	credentials.Provider

	mu   sync.Mutex
	last credentials.Value
}

// RetrieveWithCredContext implements credentials.Provider.
func (s *shown) RetrieveWithCredContext(cc *credentials.CredContext) (credentials.Value, error) {
	v, err := s.Provider.RetrieveWithCredContext(cc)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = v
	return v, err
}

// secrets redacts the credentials in messages of the server.
func (s *shown) secrets() *state.Redactor {
	s.mu.Lock()
	defer s.mu.Unlock()
	return state.NewRedactor(append(backend.ProxySecrets(), s.last.AccessKeyID, s.last.SecretAccessKey, s.last.SessionToken))
}

// findLogin finds credentials where AWS's own tools do.
func findLogin(s backend.Settings) credentials.Provider {
	if s["access_key"] != "" {
		return &credentials.Static{Value: credentials.Value{
			AccessKeyID: s["access_key"], SecretAccessKey: s["secret_key"], SessionToken: s["token"], SignerType: credentials.SignatureV4,
		}}
	}
	file := &credentials.FileAWSCredentials{Profile: s["profile"]}
	chain := []credentials.Provider{&credentials.EnvAWS{}, file, &credentials.IAM{Client: &http.Client{Transport: http.DefaultTransport}}}
	if s["profile"] != "" { // an explicit profile is the only source
		chain = []credentials.Provider{file}
	}
	return &credentials.Chain{Providers: chain}
}

// String returns the object's URL.
func (b *Backend) String() string {
	name := "s3://" + b.bucket + "/" + b.key
	if b.endpoint != "" {
		name += " at " + b.endpoint
	}
	return name
}

// fail turns an error of the server into one with a remedy.
func (b *Backend) fail(ctx context.Context, op string, err error) error {
	e := &backend.Error{Op: op, Place: b.String(), Err: backend.Hide(backend.Cause(ctx, err), b.login.secrets()), Remedy: "see that the server can be reached from here, and run the same command again"}
	switch r := minio.ToErrorResponse(err); {
	case r.StatusCode >= 300 && r.StatusCode < 400 && r.Code != "PermanentRedirect":
		e.Remedy = "the server redirects, which is not followed: see whether endpoint, region and use_path_style are right"
	case r.Code == "NoSuchBucket":
		e.Remedy = "make the bucket, with versions if the server has them"
	case r.StatusCode == http.StatusForbidden, r.StatusCode == http.StatusUnauthorized, r.StatusCode == http.StatusBadRequest && strings.Contains(r.Code, "Credential"):
		e.Kind = backend.ErrRefused
		e.Remedy = "give credentials that may get and put this object and KEY.lock, and list the bucket (s3:ListBucket), without which AWS refuses to say that an object is not there yet: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile of ~/.aws/credentials"
	case r.StatusCode == http.StatusNotImplemented:
		e.Remedy = "this server has no conditional writes, without which two runs could overwrite each other: use one that has, or another backend"
	case r.Code == "PermanentRedirect", r.Code == "AuthorizationHeaderMalformed":
		e.Remedy = "see whether region is that of the bucket"
	}
	return e
}

// get reads an object; nil when there is none.
func (b *Backend) get(ctx context.Context, op, key string) (*backend.Object, error) {
	b.Say(b.open...)
	body, info, _, err := b.core.GetObject(ctx, b.bucket, key, minio.GetObjectOptions{})
	if err != nil {
		if minio.ToErrorResponse(err).Code == "NoSuchKey" {
			return nil, nil
		}
		return nil, b.fail(ctx, op, err)
	}
	defer body.Close()
	data, err := backend.ReadAll(body, info.Size)
	if backend.IsLarge(err) {
		return nil, backend.TooLarge(op, b.String())
	}
	if err != nil {
		return nil, b.fail(ctx, op, err)
	}
	return &backend.Object{Data: data, Version: info.ETag}, nil
}

// errMoved is the server's refusal of a conditional write.
var errMoved = errors.New("changed meanwhile")

// put replaces old with data.
func (b *Backend) put(ctx context.Context, op, key string, old *backend.Object, data []byte, labels map[string]string) error {
	o := minio.PutObjectOptions{ContentType: "application/json", UserMetadata: labels, DisableMultipart: true, SendContentMd5: true}
	if old == nil {
		o.SetMatchETagExcept("*")
	} else {
		o.SetMatchETag(old.Version)
	}
	if b.encrypt {
		o.ServerSideEncryption = encrypt.NewSSE()
	}
	_, err := b.core.Client.PutObject(ctx, b.bucket, key, bytes.NewReader(data), int64(len(data)), o)
	if err == nil {
		return nil
	}
	switch r := minio.ToErrorResponse(err); {
	case r.StatusCode == http.StatusPreconditionFailed, r.StatusCode == http.StatusConflict, r.Code == "NoSuchKey":
		return errMoved
	}
	return b.fail(ctx, op, err)
}

// Read implements backend.Backend.
func (b *Backend) Read(ctx context.Context) (*backend.Object, error) {
	return b.get(ctx, "read state", b.key)
}

// Write implements backend.Backend.
func (b *Backend) Write(ctx context.Context, old *backend.Object, next backend.Object) error {
	if err := b.own.Confirm(ctx, b); err != nil {
		return err
	}
	labels := map[string]string{"kubewright-lineage": next.Lineage, "kubewright-serial": strconv.FormatInt(next.Serial, 10)}
	err := b.put(ctx, "write state", b.key, old, next.Data, labels)
	if !errors.Is(err, errMoved) {
		return err
	}
	// A request that was repeated because its answer was lost finds its own object.
	if now, readErr := b.Read(ctx); readErr == nil && now != nil && bytes.Equal(now.Data, next.Data) {
		return nil
	}
	return backend.Moved(b.String())
}

// readInfo returns the holder that the object of a lock names; nil for none.
func readInfo(o *backend.Object) *backend.LockInfo {
	var info backend.LockInfo
	if o == nil || json.Unmarshal(o.Data, &info) != nil || info.ID == "" {
		return nil
	}
	return &info
}
