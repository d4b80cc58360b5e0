package sim

import (
	"fmt"
	"strings"
	"time"

	"github.com/kubewright/kubewright/state"
)

// day is the least stride in which time passes, and maxStrides how many there are
// of years: what falls due on the way, such as a kubelet's certificate, is done on
// the way.
const (
	day        = 24 * time.Hour
	maxStrides = 500
)

// time lets time pass for all hosts.
func (e *edit) time() error {
	word, err := e.word("a duration")
	if err != nil {
		return err
	}
	d, err := duration(word)
	if err == nil && d <= 0 {
		err = fmt.Errorf("%q lies behind: time passes forwards alone", word)
	}
	if err != nil {
		return err
	}
	stride := max(day, d/maxStrides)
	for ; d > 0; d -= stride {
		e.w.advance(min(d, stride))
	}
	return nil
}

// duration reads a span of time.
func duration(word string) (time.Duration, error) {
	d, err := time.ParseDuration(word)
	if err != nil {
		return 0, fmt.Errorf("%q is no duration; write one as in 8000h", word)
	}
	return d, nil
}

// renew issues what is in a file again for as long as it held before, by the same
// CA and with a new key.
func (e *edit) renew(p string, f *file) error {
	key := e.w.derive(64, "key", e.m.address, e.m.next())
	again := func(c state.CertificateInfo) state.CertificateInfo {
		c.NotAfter, c.NotBefore = e.w.d.Now.Add(c.NotAfter.Sub(c.NotBefore)-backdate), e.w.d.Now.Add(-backdate)
		c.Serial, c.KeyDigest = e.w.derive(16, "serial", key), key
		return c
	}
	switch r := f.Record; {
	case r != nil && r.Kubeconfig != nil && r.Kubeconfig.Client != nil:
		k, client := *r.Kubeconfig, again(*r.Kubeconfig.Client)
		k.Client = &client
		e.w.put(e.m, p, recordFile(&record{Kubeconfig: &k, ClientKey: key}, f.mode(), f.owner()))
	case r != nil && len(r.Certificates) == 1 && strings.HasSuffix(p, ".crt") && !r.Certificates[0].IsCA:
		e.w.put(e.m, strings.TrimSuffix(p, ".crt")+".key", recordFile(&record{Key: key}, "0600", ""))
		e.w.put(e.m, p, recordFile(&record{Certificates: []state.CertificateInfo{again(r.Certificates[0])}}, f.mode(), f.owner()))
	default:
		return fmt.Errorf("%s is neither a certificate nor a kubeconfig with one", p)
	}
	return nil
}
