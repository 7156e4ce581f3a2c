# The same commands that CI calls. Nothing else has to be installed by hand: Node >= 20.15 and npm are enough.
.PHONY: run test check docs bench crash fuzz help install build

ARGS ?=
KILLS ?= 200

run: build        ## a sandbox exchange with a live simulated market; make run ARGS="--port 9000 --no-bots"
	@node dist/src/main.js start $(ARGS)

# The tests that there are: dist may still hold some that are gone. The timeout is that of a whole file, and for what hangs:
# where others use the cores, one that starts fifty processes takes minutes.
test: build       ## lint, types, unit, property, end-to-end and crash tests, the same each time; make test SEED=7 throws others
	npx biome check .
	node --test --test-concurrency=2 --test-timeout=900000 $$(find test -name "*.test.ts" | sed 's|\(.*\)ts$$|dist/\1js|' | sort)

check: install    ## lint, format and types only
	npx biome check .
	npx tsc -p tsconfig.json --noEmit

bench: build      ## the benchmark's table; make bench STAGES="core codec"
	node dist/bench/main.js $(STAGES)

crash: build      ## kills the server under load, again and again; make crash KILLS=50
	node dist/test/crash/main.js $(KILLS)

fuzz: build       ## everything that is thrown at it at random; make fuzz SEED=7 RUNS=1000 STAGES="bodies bytes"
	SEED=$(SEED) RUNS=$(RUNS) node dist/test/fuzz/main.js $(STAGES)

docs: build       ## writes the pages of docs/reference from the declarations in the code
	node dist/src/reference/main.js docs/reference

help:             ## this list
	@sed -n 's/^\([a-z]*\):.*## /make \1: /p' Makefile

build: install
	npx tsc -p tsconfig.json

install: node_modules/.package-lock.json

# Not `npm ci`: it refuses a lock file without the optional packages of other platforms, which not every registry has.
node_modules/.package-lock.json: package.json package-lock.json
	npm install --no-save --no-audit --no-fund
	@touch $@
