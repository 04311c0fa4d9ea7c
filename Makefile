# Mandate. `make help` lists the targets; README.md says which two you need.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --warn-undefined-variables --no-builtin-rules --no-print-directory

GO ?= go
BIN := bin
OUT := build
BINARY := $(BIN)/mandate
TOOL := $(GO) tool -modfile=tools/go.mod
# How much each fuzz target runs in fuzz-short: a number of inputs (5000x) or a time (30s).
FUZZTIME ?= 5000x
# Schedules of the simulation in simulate.
SCHEDULES ?= 20000
BENCHFLAGS ?=
TESTFLAGS ?=
IMAGE ?= mandate.local/mandate:0.1.0-dev
NATS_IMAGE ?= mandate.local/nats:2.15.2

.PHONY: help
help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  %-24s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build bin/mandate, one static binary
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w' -o $(BINARY) ./cmd/mandate

.PHONY: demo
demo: build ## Build and run the main job: three release requests, from submission to verification
	MANDATE=$(CURDIR)/$(BINARY) ./examples/release-check/demo.sh

STEPS := setup build check race corpus simulate fuzz-short examples browser-test kubernetes-check tools-test generate-check

.PHONY: test
test: ## Install what is missing, then run every check and every test
	@start=$$SECONDS; \
	for step in $(STEPS); do \
		echo "==> $$step"; \
		from=$$SECONDS; \
		$(MAKE) $$step; \
		echo "<== $$step: $$((SECONDS - from)) s"; \
	done; \
	echo "all of it passed in $$((SECONDS - start)) s"

.PHONY: setup
setup: ## Install the system packages that tests need, where missing and permitted
	./tools/setup.sh

.PHONY: check
check: fmt-check vet lint tidy-check imports ## Everything that reads the code without running it

.PHONY: fmt
fmt: ## Format the code
	$(TOOL) gofumpt -w .

.PHONY: fmt-check
fmt-check:
	@unformatted=$$($(TOOL) gofumpt -l .); \
	if [[ -n $$unformatted ]]; then echo "not formatted (make fmt):"; echo "$$unformatted"; exit 1; fi

.PHONY: vet
vet: ## Run go vet
	$(GO) vet ./...
	$(GO) -C tools vet ./...

.PHONY: lint
lint: ## Run golangci-lint
	$(TOOL) golangci-lint run
	cd tools && $(GO) tool golangci-lint run -c ../.golangci.yml

.PHONY: imports
imports: ## Check who imports whom
	$(GO) test ./internal/archtest

.PHONY: tidy-check
tidy-check: ## Check that every go.mod and go.sum is tidy
	@git ls-files --cached --others --exclude-standard -- 'go.mod' '*/go.mod' | grep -v '/testdata/' | while read -r file; do \
		echo "go mod tidy -diff  ($$file)"; \
		$(GO) -C "$$(dirname "$$file")" mod tidy -diff; \
	done

.PHONY: unit
unit: ## Run the tests without the race detector
	$(GO) test -shuffle=on $(TESTFLAGS) ./...

.PHONY: race
race: ## Run the tests with the race detector, in random order
	@if [[ "$$($(GO) env CGO_ENABLED)" == 1 ]] && command -v "$$($(GO) env CC)" >/dev/null; then \
		$(GO) test -race -shuffle=on -timeout=20m $(TESTFLAGS) ./...; \
	else \
		echo "SKIPPED: the race detector needs a C compiler; running without it"; \
		$(GO) test -shuffle=on -timeout=20m $(TESTFLAGS) ./...; \
	fi

.PHONY: corpus
corpus: ## Run everything in the sets of outside data (MANDATE_DATA), not only a part
	MANDATE_CORPUS=all $(GO) test -count=1 ./test/corpus/...

.PHONY: simulate
simulate: ## Run SCHEDULES seeded schedules of faults through all five services, and as many hostile sequences through admission
	$(GO) test -count=1 ./test/simulation -schedules $(SCHEDULES) -time-box 8m
	$(GO) test -count=1 ./services/admission -run 'TestNoSequenceAdmits' -rapid.checks $(SCHEDULES)

.PHONY: fuzz-short
fuzz-short: ## Run every fuzz target on some thousand inputs (FUZZTIME)
	FUZZTIME=$(FUZZTIME) ./tools/fuzz.sh

.PHONY: examples
examples: build ## Run every example
	@for script in examples/*/demo.sh; do \
		echo "$$script"; \
		MANDATE=$(CURDIR)/$(BINARY) "$$script"; \
	done

.PHONY: browser-test
browser-test: build ## Run the dashboard's tests in a headless browser
	./tools/browser-test.sh $(CURDIR)/$(BINARY)

.PHONY: kubernetes-check
kubernetes-check: ## Render, validate and check the Kubernetes manifests and the Tiltfile
	$(GO) test -count=1 ./test/kubernetes/...

.PHONY: tools-test
tools-test: ## Test the tools of this repository
	$(GO) -C tools test ./...

.PHONY: image
image: build ## Write the container image to build/mandate.tar (IMAGE), without a daemon
	@mkdir -p $(OUT)
	$(GO) -C tools run ./mkimage -o $(CURDIR)/$(OUT)/mandate.tar -name $(IMAGE) -arch "$$($(GO) env GOARCH)" \
		-entrypoint /mandate -dir /var/lib/mandate /mandate=$(CURDIR)/$(BINARY)

.PHONY: image-nats
image-nats: ## Write an image of the pinned NATS server to build/nats.tar (NATS_IMAGE)
	@mkdir -p $(OUT)
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w' -o $(BIN)/nats-server github.com/nats-io/nats-server/v2
	$(GO) -C tools run ./mkimage -o $(CURDIR)/$(OUT)/nats.tar -name $(NATS_IMAGE) -arch "$$($(GO) env GOARCH)" \
		-entrypoint /nats-server -dir /data /nats-server=$(CURDIR)/$(BIN)/nats-server

.PHONY: bench
bench: build ## Measure latency and throughput of runs against the floor of the streams
	$(BINARY) bench $(BENCHFLAGS)

.PHONY: coverage-requirements
coverage-requirements: ## Report which requirements are decided by tests that pass
	@mkdir -p $(OUT); \
	status=0; $(GO) test -json $(TESTFLAGS) ./... > $(OUT)/tests.json || status=$$?; \
	$(GO) run ./internal/req/cmd/reqcover $(OUT)/tests.json; \
	exit $$status

.PHONY: generate
generate: ## Generate schemas and documents from the types
	$(GO) generate ./...

.PHONY: generate-check
generate-check: ## Check that generated files are what the types say
	@if ! git rev-parse --is-inside-work-tree >/dev/null 2>&1; then echo "SKIPPED: not a git work tree"; exit 0; fi; \
	state() { git status --porcelain; git diff; }; \
	before=$$(state); $(MAKE) generate; after=$$(state); \
	if [[ "$$before" != "$$after" ]]; then \
		echo "generated files differ from what is committed (make generate):"; \
		diff <(echo "$$before") <(echo "$$after") | head -100 || true; \
		exit 1; \
	fi

.PHONY: clean
clean: ## Remove what was built
	rm -rf $(BIN) $(OUT)
