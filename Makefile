# The commands of CI. Node >= 20.15 and npm are the only requirements.
.PHONY: run cluster test check docs screenshots pack sbom bench crash fuzz help install build

ARGS ?=
PORT ?= 8080

run: build        ## a sandbox exchange with a live simulated market; make run ARGS="--port 9000 --no-bots"
	@node dist/src/main.js start $(ARGS)

cluster: build    ## a leader, a standby and two gateways on this machine, to kill one and watch; needs nats-server 2.10; make cluster PORT=9000
	@node dist/src/examples/cluster.js $(PORT)

# The reporter repeats the tests that failed at the end. The timeout is per file and catches tests that hang: on a busy machine a file that starts fifty processes takes minutes.
test: build       ## lint, types, unit, property, end-to-end and crash tests with fixed seeds; make test SEED=7 uses another
	npx biome check .
	npx tsc -p src/terminal/tsconfig.json
	files=$$(node dist/test/list.js) && node --test --test-reporter=spec --test-concurrency=3 --test-timeout=900000 $$files

check: install    ## lint, format and types only
	npx biome check .
	npx tsc -p tsconfig.json --noEmit
	npx tsc -p src/terminal/tsconfig.json

bench: build      ## benchmarks, printed as a table; make bench STAGES="core codec"
	node dist/bench/main.js $(STAGES)

crash: build      ## kills servers under load repeatedly; make crash KILLS=50 STAGES="restart failover"
	SEED=$(SEED) KILLS=$(KILLS) node dist/test/crash/main.js $(STAGES)

fuzz: build       ## randomised tests; make fuzz SEED=7 RUNS=1000 STAGES="simulation bodies"
	SEED=$(SEED) RUNS=$(RUNS) node dist/test/fuzz/main.js $(STAGES)

docs: build       ## writes the pages of docs/reference from the declarations in the code
	node dist/src/reference/main.js docs/reference

screenshots: build  ## writes the pictures of docs/images, for which it trades in Chromium for some minutes
	node dist/test/screenshots/main.js

pack: build       ## writes the packages perpd and perpd-client into dist, for npm install FILE
	npm pack --silent --pack-destination dist . ./dist/client

sbom:             ## lists the packages of a running exchange as CycloneDX; make sbom > sbom.json
	@npm sbom --sbom-format cyclonedx --package-lock-only --omit dev

help:             ## this list
	@sed -n 's/^\([a-z]*\):.*## /make \1: /p' Makefile

build: install
	@npm run --silent build

install: node_modules/.package-lock.json

node_modules/.package-lock.json: package.json package-lock.json
	npm ci --no-audit --no-fund
	@touch $@
