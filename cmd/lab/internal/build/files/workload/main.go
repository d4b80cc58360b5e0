// Command workload is the test program of pods: an HTTP server that says where
// it runs, and clients that ask it.
//
//	workload [serve [:PORT]]      answer every request with the host's name
//	workload get URL [N]          print the answer, N times; fail on anything but 200
//	workload resolve NAME         print the addresses of a name
//	workload poll URL [INTERVAL]  get again and again, one line each, until told to stop
//
// Each answer is asked for on a connection of its own. In a pod the cluster's CA
// is trusted, so that the API can be asked.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := command(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "workload:", err)
		os.Exit(1)
	}
}

func command(ctx context.Context, args []string) error {
	args = append(args, "", "", "")
	switch args[0] {
	case "", "serve":
		return serve(ctx, args[1])
	case "get":
		return getTimes(ctx, args[1], args[2])
	case "resolve":
		addrs, err := net.DefaultResolver.LookupHost(ctx, args[1])
		fmt.Println(strings.Join(addrs, "\n"))
		return err
	case "poll":
		return poll(ctx, args[1], args[2])
	}
	return fmt.Errorf("unknown command %q", args[0])
}

func serve(ctx context.Context, address string) error {
	if address == "" {
		address = ":8080"
	}
	server := &http.Server{Addr: address, Handler: http.HandlerFunc(answer)}
	go func() {
		<-ctx.Done()
		server.Close()
	}()
	if err := server.ListenAndServe(); err != http.ErrServerClosed {
		return err
	}
	return nil
}

func answer(w http.ResponseWriter, _ *http.Request) {
	name, _ := os.Hostname()
	fmt.Fprintln(w, name)
}

// getTimes prints as many answers as it is told, or one.
func getTimes(ctx context.Context, url, times string) error {
	n, err := strconv.Atoi(times)
	if err != nil {
		n = 1
	}
	for range n {
		text, err := get(ctx, url)
		if err != nil {
			return err
		}
		fmt.Println(text)
	}
	return nil
}

// podCA is where a pod finds the CA of its cluster.
const podCA = "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt"

// client trusts the CA in a file, if there is one, and keeps no connection.
func client(ca string) *http.Client {
	roots := x509.NewCertPool()
	if text, err := os.ReadFile(ca); err == nil {
		roots.AppendCertsFromPEM(text)
	}
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: roots}}}
}

var inPod = client(podCA)

func get(ctx context.Context, url string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	resp, err := inPod.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s", resp.Status)
	}
	return strings.TrimSpace(string(body)), err
}

// poll prints a line per attempt, so that a gap in service shows in the log.
func poll(ctx context.Context, url, interval string) error {
	every, err := time.ParseDuration(interval)
	if err != nil {
		every = time.Second
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		text, err := get(ctx, url)
		if err != nil {
			text = "failed: " + err.Error()
		}
		text, _, _ = strings.Cut(text, "\n")
		fmt.Println(time.Now().UTC().Format(time.RFC3339Nano), text)
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}
