# What can be done here. Each line needs a Rust toolchain and a C linker (README); kernel hosts need what
# `headway kernel doctor` names.

.PHONY: test lint bench docs site test-site test-browser image demo-kernel demo-lane fidelity echarts pictures \
	test-python package venv

# Tests keep their kernel image here; users' own images stay as they are.
export HEADWAY_CACHE ?= $(CURDIR)/target/headway-cache
# Programs that scenarios run on kernel hosts, as far as the machine has them.
PROGRAMS := $(foreach program,nginx wget haproxy ab,$(if $(shell command -v $(program)),--add $(program)))

test: image ## Build and run every test
	cargo test --workspace --quiet
	$(MAKE) --no-print-directory test-python
	@$(MAKE) --no-print-directory test-site
	@$(MAKE) --no-print-directory test-browser

# One environment for all tests in Python; made anew when what it needs changes.
VENV := target/venv
VENV_NEEDS := python/requirements-dev.txt docs/requirements.txt
PYTHON3 ?= python3

venv: ## The Python environment of tests, in target/venv, where Python and the registry are there
	@if cat $(VENV_NEEDS) | cmp -s - $(VENV)/complete; then exit 0; fi; \
	command -v $(PYTHON3) >/dev/null || { echo "no Python environment: $(PYTHON3) is not there"; exit 0; }; \
	$(PYTHON3) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
		{ echo "no Python environment: $(PYTHON3) is older than 3.10"; exit 0; }; \
	$(PYTHON3) -c 'import ensurepip, venv' 2>/dev/null || \
		{ echo "no Python environment: $(PYTHON3) has no venv (Debian: apt-get install python3-venv)"; exit 0; }; \
	rm -f $(VENV)/complete; \
	if $(PYTHON3) -m venv $(VENV) && \
		$(VENV)/bin/pip install --quiet --disable-pip-version-check $(addprefix --requirement ,$(VENV_NEEDS)); \
	then cat $(VENV_NEEDS) >$(VENV)/complete; else echo "no Python environment: its packages cannot be installed"; fi

test-python: venv ## Build the Python package for development; pytest, ruff, mypy, stubtest
	@if [ -e $(VENV)/complete ]; then python/check $(VENV); else echo "tests in Python skip"; fi

lint: ## Formatting, clippy with warnings as errors
	cargo fmt --all -- --check
	cargo clippy --workspace --all-targets --quiet -- -D warnings

bench: ## Packet-hops per second and peak memory; appends to benches/results/
	benches/run

docs: ## API documentation in target/doc, warnings as errors
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --quiet

# Python with the packages of docs/requirements.txt: the virtual environment if there is a whole one.
PYTHON = $(if $(wildcard $(VENV)/complete),$(VENV)/bin/python,$(PYTHON3))

package: venv ## The Python package of this checkout in target/venv, built for development
	@if [ -e $(VENV)/complete ]; then \
		VIRTUAL_ENV=$(CURDIR)/$(VENV) PATH="$(CURDIR)/$(VENV)/bin:$$PATH" maturin develop --quiet; \
		else echo "the Python package is not built"; fi

site: package ## The documentation site in target/site, warnings as errors; it opens without a server
	cargo build --quiet --package headway-cli
	$(PYTHON) docs/site/build.py

test-site: package ## Tests of the site, where the packages of docs/requirements.txt are installed
	@if $(PYTHON) -c 'import furo, latex2mathml, myst_nb, pytest, sphinx' 2>/dev/null; \
		then cargo build --quiet --package headway-cli && $(PYTHON) -m pytest --quiet docs/tests; \
		else echo "no test of the site: $(PYTHON) -m pip install -r docs/requirements.txt"; fi

test-browser: venv ## Reports in headless Chromium; pictures of them in target/report-screenshots
	@if $(PYTHON) -c 'import playwright, pytest' 2>/dev/null; \
		then cargo build --quiet --package headway-cli && $(PYTHON) -m pytest --quiet crates/report/tests/browser; \
		else echo "no test of reports in a browser: $(PYTHON) -m pip install playwright pytest"; fi

image: ## The kernel image that tests use, where one can be built; a few minutes the first time
	@cargo build --workspace --quiet # all of it: with the features that the tests build libraries with
	@target/debug/headway kernel build $(PROGRAMS) || \
		echo "no kernel image, so tests of kernel hosts skip; headway kernel doctor says what is missing"

fidelity: ## How far the model is from Linux, point by point: docs/fidelity.md
	cargo build --release --quiet
	target/release/headway fidelity

echarts: ## The custom build of Apache ECharts that reports embed, anew (needs npm)
	cd crates/report/assets/echarts && npm ci --no-fund --no-audit --ignore-scripts --silent && npm run --silent build

pictures: venv ## The picture of a report in README, anew, in docs/pictures (needs Chromium)
	cargo build --release --quiet
	rm -rf target/pictures
	target/release/headway run scenarios/lanes-l7-queue-buildup.toml --quiet --out target/pictures/run >/dev/null
	$(PYTHON) docs/pictures/make.py target/pictures/run/report.html

demo-kernel: ## From nothing to a table: queue build-up with Linux' own TCP and MPTCP, and with the model
	cargo build --release --quiet
	target/release/headway kernel build
	rm -rf target/demo-kernel
	for hosts in modelled linux; do \
		target/release/headway run scenarios/lanes-l7-queue-buildup.toml --hosts $$hosts --policy tcp,mptcp \
			--set sweep.senders='[0, 2, 6]' --repeats 4 --quiet --out target/demo-kernel/$$hosts || exit 1; \
	done
	target/release/headway compare target/demo-kernel/modelled target/demo-kernel/linux

demo-lane: ## Lanes live: L7 scaled to this machine, in namespaces of its kernel and in the model (root, 3 minutes)
	@for program in ip tc iperf3 mptcpize; do command -v $$program >/dev/null || \
		{ echo "demo-lane needs $$program: apt-get install iproute2 iperf3 mptcpize" >&2; exit 3; }; done
	cargo build --release --quiet
	rm -rf target/demo-lane
	policies=tcp,mptcp,mptcp-backup,lanes-deadline,lanes-link-cost; \
	if [ -x /usr/libexec/mptcpd ]; then policies=$$policies,mptcpd; \
	else echo "without mptcpd, which is not installed (apt-get install mptcpd)" >&2; fi; \
	for hosts in modelled namespaces; do \
		target/release/headway run scenarios/lane-live.toml --hosts $$hosts --policy $$policies --repeats 2 --quiet \
			--out target/demo-lane/$$hosts >/dev/null || exit 1; \
	done
	benches/lane-table target/demo-lane/modelled target/demo-lane/namespaces
