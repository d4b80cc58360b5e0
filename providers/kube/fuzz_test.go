package kube

import "testing"

// FuzzAnswers checks that the hand-written parsers do not panic, whatever an API answers.
func FuzzAnswers(f *testing.F) {
	f.Add([]byte("eyJhbGciOiJSUzI1NiIsImtpZCI6IkFBQSJ9.e30.c2ln"))
	f.Add([]byte(`apiserver_requested_deprecated_apis{group="storage.k8s.io",removed_release="1.36",resource="x",subresource="",version="v1alpha1"} 1`))
	f.Add([]byte("apiserver_requested_deprecated_apis{=} 1\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if key := signingKey(b); key != "" && len(key) != 64 {
			t.Errorf("no identity of a key: %q", key)
		}
		for _, d := range deprecatedAPIs(b) {
			if d.Removed == "" {
				t.Errorf("an API that is not being removed: %+v", d)
			}
		}
	})
}
