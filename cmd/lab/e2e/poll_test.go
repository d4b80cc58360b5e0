//go:build e2e

package e2e

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// pollAPI asks the API through the balancer every 200 ms, each time on a new
// connection, until the answer is called: requests, failures, the last failure.
func (s *site) pollAPI() func() (total, failed int, last string) {
	_, address := s.Endpoint()
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true,
		// Whose certificate it is has been proved elsewhere; here only the answer counts.
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	}}
	ctx, cancel := context.WithCancel(context.Background())
	var total, failed int
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
			if err := ask(client, fmt.Sprintf("https://%s/version", address)); err != nil {
				failed++
				last = err.Error()
			}
		}
	})
	return func() (int, int, string) {
		cancel()
		done.Wait()
		return total, failed, last
	}
}

func ask(client *http.Client, url string) error {
	resp, err := client.Get(url)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %s", resp.Status)
	}
	return nil
}
