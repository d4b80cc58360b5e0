//go:build e2e

package e2e

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// pollAPI asks the API through the balancer every 200 ms, each time on a new
// connection, until the answer is called: requests, failures, answers to come back, the last failure.
func (s *site) pollAPI() func() (total, failed, retried int, last string) {
	_, address := s.Endpoint()
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true,
		// Whose certificate it is has been proved elsewhere; here only the answer counts.
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	}}
	ctx, cancel := context.WithCancel(context.Background())
	var total, failed, retried int
	var last string
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			total++
			if err := ask(client, fmt.Sprintf("https://%s/version", address), &retried); err != nil {
				failed++
				last = err.Error()
			}
		}
	})
	return func() (int, int, int, string) {
		cancel()
		done.Wait()
		return total, failed, retried, last
	}
}

// ask gets the URL as every Kubernetes client does (client-go's rest.Request):
// an API server that starts or stops may answer that one should come back, and
// says so with Retry-After.
func ask(client *http.Client, url string, retried *int) error {
	for range 10 {
		resp, err := client.Get(url)
		if err != nil {
			return err
		}
		body, _ := io.ReadAll(io.LimitReader(resp.Body, 512))
		_ = resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			return nil
		}
		if resp.Header.Get("Retry-After") == "" {
			return fmt.Errorf("status %s: %s", resp.Status, body)
		}
		*retried++
	}
	return fmt.Errorf("%s asked ten times to come back", url)
}
