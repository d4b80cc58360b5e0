package main

import (
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

func TestUnknownCommand(t *testing.T) {
	t.Parallel()
	if err := command(t.Context(), []string{"sevre"}); err == nil {
		t.Error("an unknown command succeeded")
	}
}
