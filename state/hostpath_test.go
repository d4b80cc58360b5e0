package state

import "testing"

func TestCheckRemovalRefusesSystemFolders(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		path           string
		removed, empty bool // whether it may be removed, and emptied
	}{
		{"/", false, false},
		{"/etc", false, false},
		{"/var", false, false},
		{"/var/lib", false, false},
		{"/usr/local/bin", false, false},
		{"/etc/pki", false, false},
		{"/proc/1", false, false},
		{"/dev/shm/etcd", false, false},
		{"/etcd", false, true},
		{"/data", false, true},
		{"/data/etcd", true, true},
		{"/var/lib/etcd", true, true},
		{"/etc/pki/kubernetes", true, true},
		{"/devices/etcd", true, true},
	} {
		if got := CheckRemoval(test.path, false) == nil; got != test.removed {
			t.Errorf("%s may be removed: %t", test.path, got)
		}
		if got := CheckRemoval(test.path, true) == nil; got != test.empty {
			t.Errorf("%s may be emptied: %t", test.path, got)
		}
	}
	if got := CheckRemoval("/opt/bin", true).Error(); got != "/opt/bin belongs to the whole machine" {
		t.Errorf("error = %s", got)
	}
}

func TestCheckPath(t *testing.T) {
	t.Parallel()
	for p, want := range map[string]string{
		"/":          "",
		"/a b/ä":     "",
		"":           `path "" is not absolute`,
		"a/b":        `path "a/b" is not absolute`,
		"/a/":        `path "/a/" is not in its shortest form`,
		"/a//b":      `path "/a//b" is not in its shortest form`,
		"/a/./b":     `path "/a/./b" is not in its shortest form`,
		"/a/../b":    `path "/a/../b" is not in its shortest form`,
		"/a\nb":      `path "/a\nb" contains '\n'`,
		`/a\b`:       `path "/a\\b" contains '\\'`,
		"/a\u0085":   `path "/a\u0085" contains '\u0085'`,
		"/a\xff":     `path "/a\xff" contains '�'`,
		"/a/b/c.yml": "",
	} {
		got := ""
		if err := CheckPath(p); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: got %s, want %s", p, got, want)
		}
	}
}
