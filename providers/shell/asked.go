package shell

import (
	"fmt"
	"path"
	"slices"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/budget"
)

// Limits for the parts of an observation, in bytes.
const (
	contentCap = 1 << 20  // of one file; a larger one has no content
	partCap    = 64 << 10 // of a section whose size does not depend on the query
	factCap    = 64 << 10 // of a file that is always read
	// A kube-proxy in mode ipvs gives its host the address of every Service.
	addressesCap = 4 << 20
	socketsCap   = 1 << 20
	portsCap     = 4 << 20
	imagesCap    = 8 << 20
	globCap      = 1 << 20 // of the paths that match the patterns, in each section
	lineRoom     = 256     // of a line, in addition to its path
	linkCap      = 4096    // of a link's target (PATH_MAX)
	keyCap       = 1 << 10 // of the public part of a key
)

// Limits for names that a host reports unasked.
const (
	mostMatches = 10_000 // files that match the patterns
	mostImages  = 10_000
)

// room returns the bytes of one line per path.
func room(paths []string, more int64) int64 {
	var n int64
	for _, p := range paths {
		n += int64(len(p)) + more
	}
	return n
}

// sectionCaps returns how many bytes a host may send in each section of its answer. For
// other sections the limit is partCap.
func (q *query) sectionCaps() map[string]int64 {
	glob := int64(0)
	if len(q.Globs) > 0 {
		glob = globCap
	}
	small := slices.Concat(q.contents, q.certificates, q.keys, q.kubeconfig)
	// Base64 with its line breaks. The files that are always read are small.
	contents := int64(len(q.contents)) * contentCap
	if q.facts {
		contents += int64(len(factFiles)) * (factCap - contentCap)
	}
	caps := map[string]int64{
		"addresses": addressesCap, "sockets": socketsCap, "ports": portsCap, "images": imagesCap,
		"stats":        room(q.stats, lineRoom) + glob,
		"links":        room(q.stats, linkCap) + glob,
		"targets":      room(q.stats, linkCap+lineRoom) + glob,
		"entries":      room(q.stats, lineRoom) + glob,
		"digests":      room(q.digests, lineRoom),
		"sizes":        room(small, lineRoom),
		"contents":     contents/3*4 + contents/48,
		"certificates": room(q.certificates, contentCap),
		"kubeconfigs":  room(q.kubeconfig, contentCap),
		"keys":         room(q.keys, keyCap),
		"units":        room(q.units(), 4*lineRoom),
		"sysctls":      room(q.Sysctls, linkCap),
		"packages":     room(q.Packages.Names, 4*lineRoom),
		"commands":     room(q.Commands, lineRoom),
		"modules":      room(q.Modules, lineRoom),
		"no_modules":   room(q.Modules, lineRoom),
		"users":        2 * room(q.Users, lineRoom),
		"unseen":       room(q.stats, lineRoom),
	}
	if !q.facts {
		for _, name := range []string{"addresses", "sockets", "ports", "images"} {
			delete(caps, name)
		}
	}
	for name := range caps {
		caps[name] += partCap
	}
	return caps
}

// unnamed is the number of sections that are not in sectionCaps.
const unnamed = 16

// limit returns how many bytes a host may send as its answer.
func (q *query) limit() int64 {
	all := int64(unnamed * partCap)
	for _, n := range q.sectionCaps() {
		all += n
	}
	return min(all, budget.Largest-noiseCap)
}

// refused is the error for a section with content that was not requested.
func (r *reading) refused(section string, cause error) error {
	return &providers.Error{Kind: providers.ErrProtocol, Do: "accept the host's " + providers.Sanitize(section, 64), Cause: suspect(cause)}
}

// unasked is the error for a section that names something that was not requested.
func (r *reading) unasked(section, name string) error {
	return &unaskedError{r.refused(section, fmt.Errorf("it names %s, which was not asked for", providers.Sanitize(name, 200)))}
}

// unaskedError is the error for an answer that names something that was not requested.
type unaskedError struct{ error }

func (e *unaskedError) Unwrap() error { return e.error }

// set returns the paths in the lists as a set, without the host's root.
func (r *reading) set(lists ...[]string) map[string]bool {
	out := map[string]bool{}
	for _, list := range lists {
		for _, p := range list {
			out[r.path(p)] = true
		}
	}
	return out
}

// globbed reports whether a path matches one of the patterns.
func (r *reading) globbed(p string) bool {
	return slices.ContainsFunc(r.query.Globs, func(g string) bool { ok, _ := path.Match(g, p); return ok })
}

// found records a path that the host reports: a requested one, or one of the first
// mostMatches that match a pattern.
func (r *reading) found(asked map[string]bool, p string) error {
	switch {
	case asked[p]:
		return nil
	case !r.globbed(p):
		return r.unasked("files", p)
	}
	if r.matches++; r.matches > mostMatches {
		return r.refused("files", fmt.Errorf("%s is one of more than %d files that match %q", providers.Sanitize(p, 200), mostMatches, r.query.Globs))
	}
	return nil
}

// seen refuses a path that is not among the files that the host has reported as existing.
func (r *reading) seen(section, p string) error {
	if _, ok := r.report.Files[p]; !ok {
		return r.unasked(section, p)
	}
	return nil
}
