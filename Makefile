# kubewright: see README.md. No target installs anything but Go modules, except e2e, which says
# what it sets up.
GO ?= go
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOFUMPT = mvdan.cc/gofumpt@v0.12.0
HUGO = github.com/gohugoio/hugo@v0.163.3
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
export CGO_ENABLED ?= 0
# -trimpath makes builds cacheable across checkouts. Without DWARF, compiling takes a tenth less
# time, linking a third of the time, and binaries two thirds of the space; stack traces of panics
# and races are the same.
export GOFLAGS := $(strip $(GOFLAGS) -trimpath -gcflags=all=-dwarf=false)
LINK = -ldflags='-s -w'
# The program needs none of grpc's pages about its requests, and speaks HTTP/2 with golang.org/x/net/http2
# (through client-go), not with the copy that net/http has. Generated code of Kubernetes' types, which no run
# is slow in, is smaller by a tenth where it is not inlined into itself.
PROGRAM = $(LINK) -tags=grpcnotrace,nethttpomithttp2 '-gcflags=k8s.io/api/...=-dwarf=false -l'
# -race also checks pointer arithmetic, at a tenth of the time; nothing here uses it. And each
# test binary would sleep for a second at its end (GORACE below). Race detection is off in parsers
# and other packages that process text byte by byte: it took a sixth of the total time. They read
# and write our values through reflect, where races are detected as long as it is not inlined into
# them (TestRacesAreSeenThroughParsers).
UNWATCHED = encoding/json sigs.k8s.io/json/... go.yaml.in/yaml/... github.com/hashicorp/hcl/v2/hclsyntax \
	github.com/apparentlymart/go-textseg/... github.com/clipperhouse/uax29/... github.com/charmbracelet/x/ansi \
	regexp regexp/syntax strconv strings path net/netip net/url encoding/base64 unicode/utf8
WATCHED = -dwarf=false -d=checkptr=0
RACE = '-gcflags=all=$(WATCHED)' $(foreach p,$(UNWATCHED),'-gcflags=$(p)=$(WATCHED) -race=false -l')
# Go's internal linker can link all of these, where it is supported with cgo: gcc's takes half as
# long again.
RACE_LINK = '-ldflags=-s -w$(if $(filter Linux-x86_64,$(shell uname -sm | tr ' ' -)), -linkmode=internal)'
# Tests, compilers and checkers produce much garbage and keep little: collecting less often saves
# time, and the limit keeps the heap from filling the machine.
GARBAGE = GOGC=400 GOMEMLIMIT=2GiB
# On two cores each test binary uses one: contention between its threads costs a tenth of the
# time. The race detector works with happens-before relations, and shuffles goroutines. A third
# binary in parallel would slow down the longest one, which determines the end.
FEW_CORES := $(filter 1 2,$(shell getconf _NPROCESSORS_ONLN))
# make check vets the tests, with everything else.
TEST = $(GO) test -vet=off $(LINK)

.PHONY: build demo test test-races test-tools long attack check licences fmt golden e2e fetch conformance e2e-all bench site release snapshot release-check sizes minor image-lock help

# The tools of releases are a module of their own, whose dependencies are none of kubewright's.
TOOLS = $(GO) -C tools
SOURCES = cmd config engine planner providers site state tools

build: ## build bin/kubewright
	$(GO) build $(PROGRAM) -o bin/kubewright ./cmd/kubewright

demo: build ## plan, apply, drift, apply, destroy on simulated hosts
	@KUBEWRIGHT=$(CURDIR)/bin/kubewright sh examples/quickstart/demo.sh

test: test-races test-tools ## everything that needs no root

# What makes these tests cheaper is in their environment, and the command is one to read and to
# repeat. Their limit ends a test that hangs: a machine that is busy with other things needs hours.
test-races: export GOFLAGS := $(GOFLAGS) -vet=off $(RACE_LINK) $(RACE) $(if $(FEW_CORES),-p=2 -parallel=4)
test-races: export CGO_ENABLED = 1
test-races: export GORACE = atexit_sleep_ms=0
# The detector's shadow memory makes a large heap dearer than its collection: 400 takes a tenth more.
test-races: export GOGC = 200
test-races: export GOMEMLIMIT = 2GiB
ifneq ($(FEW_CORES),)
test-races: export GOMAXPROCS = 1
endif
test-races:
	$(GO) test -race -timeout 3h ./...

test-tools: ## the tests of the tools of releases; sizes of the program and of its dependencies
	$(TOOLS) test -vet=off -timeout 3h ./...

LONG_TIMEOUT ?= 180m

long: ## the long forms of the tests that read KUBEWRIGHT_LONG: every moment, many more sequences
	KUBEWRIGHT_LONG=1 $(GARBAGE) $(TEST) -count=1 -timeout $(LONG_TIMEOUT) \
		$$(grep -rl --include='*_test.go' KUBEWRIGHT_LONG . | xargs -n1 dirname | sort -u)

ATTACK_TIMEOUT ?= 60m

# Most long attacks wait: run more of them at once than there are cores.
attack: ## the attacks of hosts, API, backends, configurations and files: how many were tried, and held
	@out=$$(KUBEWRIGHT_ATTACK=1 $(GARBAGE) $(TEST) -count=1 -v -parallel 6 -timeout $(ATTACK_TIMEOUT) ./cmd/kubewright/attack 2>&1); code=$$?; \
	echo "$$out" | grep -v -e '^=== ' -e '^ *--- PASS: ' -e '^ *--- SKIP: '; exit $$code

check: ## format, vet, staticcheck, tidy, licences
	@files=$$($(GO) run $(GOFUMPT) -l $(SOURCES)); \
	if [ -n "$$files" ]; then echo "not formatted (make fmt):"; echo "$$files"; exit 1; fi
	$(GARBAGE) $(GO) vet -tags e2e ./...
	$(GARBAGE) $(GO) run $(STATICCHECK) -tags e2e ./...
	$(TOOLS) vet ./...
	$(GARBAGE) $(TOOLS) run $(STATICCHECK) ./...
	$(GO) mod tidy -diff
	$(TOOLS) mod tidy -diff
	$(GO) mod verify
	$(TOOLS) run $(LINK) ./licences -repo $(CURDIR) -check

licences: ## write NOTICE and THIRD_PARTY_LICENSES from the dependencies of the program
	$(TOOLS) run $(LINK) ./licences -repo $(CURDIR)

fmt: ## format everything
	$(GO) run $(GOFUMPT) -w $(SOURCES)

golden: ## rewrite golden files; commit only what you can explain
	UPDATE=1 $(GO) test ./... && git diff --stat

E2E_TIMEOUT ?= 65m

e2e: build ## real Kubernetes on real hosts of this machine (Linux, root)
	@if [ "$$(uname -s)" != Linux ] || [ "$$(id -u)" != 0 ]; then \
		echo "make e2e needs Linux and root: it makes hosts out of namespaces on this machine"; exit 1; fi
	$(GO) run $(LINK) ./cmd/lab tools
	@out=$$($(TEST) -count=1 -v -run '^TestOracle$$' ./planner/kubeadm 2>&1) || { echo "$$out"; exit 1; }; \
	echo "$$out" | sed -n 's/^ *oracle_test.go:[0-9]*: //p'
	$(TEST) -tags e2e -count=1 -v ./state/backend/pg
	$(TEST) -tags e2e -count=1 -v -run '^TestStateInPostgreSQL$$' ./cmd/kubewright
	$(TEST) -tags e2e -count=1 -v -parallel 2 -timeout $(E2E_TIMEOUT) ./cmd/lab/e2e

fetch: ## download what e2e builds, ahead of it
	$(GO) run $(LINK) ./cmd/lab fetch v1.36.3 v1.35.8

# Hours. A run that was interrupted continues when the command is given again: what has passed
# with the same programs does not run again.
conformance: build ## Kubernetes' own conformance suite on a new cluster (Linux, root); the first build of the suite takes long
	$(GO) run $(LINK) ./cmd/lab tools
	KUBEWRIGHT_CONFORMANCE=1 $(TEST) -tags e2e -count=1 -v -run '^TestConformance$$' -timeout 12h ./cmd/lab/e2e

# Hours, or with SHARD=n/m one of m parts of about the same time. What has passed on this machine
# does not run again until something changes that can affect it; with REPEAT=1 it does.
SHARD ?= 1/1
COVERED = ./cmd/kubewright/...,./config/...,./engine/...,./planner/...,./providers/...,./state/...
e2e-all: ## e2e, the long matrices, conftest, the lab's own tests, and the long form of random sequences and disturbed rotations
	$(GO) build $(PROGRAM) -cover -coverpkg=$(COVERED) -o bin/covered/kubewright ./cmd/kubewright
	@failed=; \
	KUBEWRIGHT_E2E_ALL=1 KUBEWRIGHT_E2E_SHARD=$(SHARD) KUBEWRIGHT_E2E_REPEAT=$(REPEAT) $(MAKE) e2e E2E_TIMEOUT=240m || failed=yes; \
	if [ "$(firstword $(subst /, ,$(SHARD)))" = 1 ]; then \
		KUBEWRIGHT_E2E_ALL=1 $(TEST) -tags e2e -count=1 -v -run '^TestConftest$$' ./cmd/kubewright || failed=yes; \
		KUBEWRIGHT_LAB_TEST=1 $(TEST) -count=1 -v ./cmd/lab/internal/lab || failed=yes; \
		KUBEWRIGHT_LONG=1 $(GARBAGE) $(TEST) -timeout 60m -run '^TestSequences$$|WhileRotating$$' ./planner/pipeline || failed=yes; \
	fi; \
	test -z "$$failed" # all of them run, even if e2e has failed

bench: ## time, memory and growth of plans and observations
	$(GO) test -run '^$$' -bench . -benchmem ./...

# Of Hugo nothing is needed but its module. Its first build takes some minutes.
site: ## build the documentation as a site in site/public, and check its links
	rm -rf site/public
	cd site && $(GO) run $(LINK) $(HUGO) --panicOnWarning --logLevel error
	KUBEWRIGHT_SITE=$(CURDIR)/site/public $(TEST) -count=1 ./site
	@echo "open site/public/index.html"

release: ## the release of the tag of this commit, built twice and compared, into dist (docs/releasing.md)
	$(TOOLS) run $(LINK) ./release -repo $(CURDIR)

snapshot: ## the same of a commit without a tag; its version is derived from the commit
	$(TOOLS) run $(LINK) ./release -repo $(CURDIR) -snapshot

release-check: ## a snapshot whose second build compiles everything again, which takes many minutes
	$(TOOLS) run $(LINK) ./release -repo $(CURDIR) -snapshot -cold

sizes: ## the size of the program by dependency, and what it does before main
	$(TOOLS) test -vet=off -count=1 -v -run 'TestDependenciesHaveReasons|TestStartUp' ./sizes

minor: ## add a minor version of Kubernetes to the tables, or read it again, and say what is left: make minor VERSION=1.38.0
	$(GO) run $(LINK) ./cmd/lab/minor -version $(VERSION)

image-lock: ## update the Debian packages of the image for CI (needs apt)
	sh tools/image/lock.sh

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "%-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
