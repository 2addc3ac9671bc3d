# The verbs of the project. Logic lives in scripts/, xtask/ and benchmarks/.
.DEFAULT_GOAL := help
CARGO ?= $(shell command -v cargo 2>/dev/null || echo $(HOME)/.cargo/bin/cargo)
DATASTORE ?= .
SECONDS ?= 60

.PHONY: help build small demo cluster-demo tier-demo guest-kills guest-ublk guest-moves guest-stacked guest-protocols answer test check bench fuzz docs package install uninstall setup-build
PREFIX ?= /usr/local

help: ## list the verbs
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  \1\t/' | expand -t 16

setup-build:
	@scripts/setup build

# The workspace's features, not those of one package: so `small`, `build` and `bench` share what they compile.
PROGRAM = $(CARGO) build --release --locked --workspace --bin

build: setup-build ## build target/release/tilemark, with the page where Node is
	@scripts/web build
	@$(PROGRAM) tilemark

# Without many hosts, whose network takes minutes to build.
small: setup-build
	@scripts/web build
	@$(PROGRAM) tilemark --no-default-features

demo: small ## what this is, in a minute, live in a browser (DATASTORE=DIR)
	@scripts/demo "$(DATASTORE)"

cluster-demo: build ## one ladder over three hosts on this machine (DATASTORE=DIR, root)
	@scripts/demos/cluster-demo "$(DATASTORE)"

tier-demo: small ## a tier before a slow disk, killed in the middle of a load (DATASTORE=DIR, qemu-utils)
	@scripts/demos/tier-demo "$(DATASTORE)"

guest-kills: small ## machines with ext4 and xfs through kills of their disk's server (DATASTORE=DIR, scripts/vm-guest --qemu)
	@scripts/guest-kills "$(DATASTORE)"

guest-ublk: small ## a host with ext4 and xfs on a served disk of its own through kills of the server (DATASTORE=DIR, scripts/vm-guest --qemu)
	@scripts/guest-ublk "$(DATASTORE)"

guest-moves: small ## machines with ext4 and xfs that move live between two servers of their disk (DATASTORE=DIR, scripts/vm-guest --qemu)
	@scripts/guest-moves "$(DATASTORE)"

guest-stacked: small ## a host with volumes, RAID and others whose watched sums are compared with what VMs count (DATASTORE=DIR, scripts/vm-guest --qemu)
	@scripts/guest-stacked "$(DATASTORE)"

guest-protocols: small ## a host with NVMe over TCP and NFS of its own kernel (DATASTORE=DIR, as root, scripts/vm-guest)
	@scripts/guest-protocols "$(DATASTORE)"

answer: small ## how many datacenter tiles does this disk hold? (DATASTORE=DIR, five minutes)
	@scripts/answer "$(DATASTORE)"

install: build ## put program, manual and completions below PREFIX (/usr/local)
	@scripts/install "$(PREFIX)"

uninstall: ## remove what install put there, and nothing else
	@scripts/install --remove "$(PREFIX)"

package: ## tarball, .deb, image, bill of materials and sums, in target/package
	@scripts/package

docs: ## the documentation as a site that needs no network, in target/docs
	@scripts/docs

test: ## run every test
	@scripts/setup test
	@scripts/test

check: setup-build ## format, lints, house rules, licences, spelling
	@scripts/check

bench: build ## print one line per figure (FIGURES=PREFIX for a part)
	@scripts/setup bench
	@$(PROGRAM) benchmarks -q
	@scripts/with-tracefs target/release/benchmarks bench $(FIGURES)

fuzz: ## fuzz what reads bytes from elsewhere, SECONDS=60 each (TARGET=NAME for one)
	@scripts/setup fuzz
	@scripts/fuzz $(SECONDS) $(TARGET)
