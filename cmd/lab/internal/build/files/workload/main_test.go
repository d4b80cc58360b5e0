package main

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
)

func TestGetAnswersTheHostName(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(answer))
	defer server.Close()
	want, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := get(t.Context(), server.URL); err != nil || got != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

func TestGetFailsOnAnythingBut200(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	if _, err := get(t.Context(), server.URL); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("got %v, want the status", err)
	}
}

// TestClientTrustsGivenCA checks that a pod can call the API, whose certificate is
// issued by the cluster's CA.
func TestClientTrustsGivenCA(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.HandlerFunc(answer))
	defer server.Close()
	file := t.TempDir() + "/ca.crt"
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(file, ca, 0o644); err != nil {
		t.Fatal(err)
	}
	if resp, err := client(file).Get(server.URL); err != nil {
		t.Error(err)
	} else {
		resp.Body.Close()
	}
	if resp, err := client(file + ".nosuch").Get(server.URL); err == nil {
		resp.Body.Close()
		t.Error("a server without a known CA is trusted")
	}
}

func TestUnknownCommandIsAnError(t *testing.T) {
	t.Parallel()
	if err := command(t.Context(), []string{"sevre"}); err == nil {
		t.Error("an unknown command succeeded")
	}
}
