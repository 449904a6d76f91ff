# What can be done here. Each line needs a Rust toolchain and a C linker (README), nothing else.

.PHONY: test lint bench docs

test: ## Build and run every test
	cargo test --workspace --quiet

lint: ## Formatting, clippy with warnings as errors
	cargo fmt --all -- --check
	cargo clippy --workspace --all-targets --quiet -- -D warnings

bench: ## Packet-hops per second and peak memory; appends to benches/results/
	benches/run

docs: ## API documentation in target/doc, warnings as errors
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --quiet
