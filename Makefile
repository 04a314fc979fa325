# A front to meson, which builds the program as build/rehearse.

BUILD        ?= build
PREFIX       ?= /usr/local
DESTDIR      ?=
FUZZ_SECONDS ?= 60
SOAK_MINUTES ?= 30
WITH_CEPH    ?=
# In `make test`, tests may be skipped where something is not installed; `make check` installs it.
SKIPS        ?= any

SOURCES = $(shell find src page tests fuzz bench include scripts -name '*.[ch]' 2>/dev/null)

.PHONY: all demo site test check bench fuzz soak install wheel dist deb check-packages format lint clean help

all: $(BUILD)/build.ninja
	@ninja -C $(BUILD) $(if $(VERBOSE),-v) installed

$(BUILD)/build.ninja:
	@meson setup $(BUILD) --prefix $(PREFIX)

demo:
	@scripts/bootstrap.sh demo
	@$(MAKE) --no-print-directory all
	@scripts/demo $(BUILD)/rehearse

# The planner as a page for a static host.
site:
	@scripts/bootstrap.sh site
	@meson setup --reconfigure -Dplanner=enabled $(BUILD) >/dev/null 2>&1 || meson setup -Dplanner=enabled --prefix $(PREFIX) $(BUILD)
	@$(MAKE) --no-print-directory all
	@scripts/make-site $(BUILD)/rehearse $(BUILD)/site

test:
	@scripts/bootstrap.sh test
	@SKIPS=$(SKIPS) scripts/check test

check:
	@WITH_CEPH=$(WITH_CEPH) scripts/bootstrap.sh check
	@scripts/check $(if $(BUT),--but $(BUT))

# One part, as check-storage. check-packages is none of them: it takes half an hour.
check-%:
	@WITH_CEPH=$(WITH_CEPH) scripts/bootstrap.sh check
	@scripts/check $*

bench: $(BUILD)/build.ninja
	@meson setup --reconfigure $(BUILD) >/dev/null
	@set -e; for file in bench/bench_*.c; do \
	    [ -e "$$file" ] || continue; \
	    name=$$(basename "$$file" .c); \
	    ninja -C $(BUILD) --quiet $$name; \
	    $(BUILD)/$$name; \
	done

fuzz:
	@scripts/fuzz $(FUZZ_SECONDS)

soak: all
	@ninja -C $(BUILD) --quiet tests/cli/faults.so tests/sim_engine_random_test tests/launch_price_test tests/plan_fleet_fleet_best_test tests/plan_fleet_fleet_parts_test tests/laws/laws
	@REHEARSE_LAWS_CASES=100000 $(BUILD)/tests/laws/laws
	@REHEARSE_FLEET_CLUSTERS=1000 $(BUILD)/tests/plan_fleet_fleet_best_test
	@REHEARSE_FLEET_CLUSTERS=1000 $(BUILD)/tests/plan_fleet_fleet_parts_test
	@REHEARSE_SOURCE_ROOT=$(CURDIR) REHEARSE_PRICED_PLANS=100000 $(BUILD)/tests/launch_price_test
	@REHEARSE_RANDOM_CASES=1000000 meson test -C $(BUILD) --suite model --suite schedule --suite plan --suite sim --suite elastic
	@scripts/check-prices $(BUILD)/rehearse --plans 1000
	@REHEARSE_ENGINE_PROGRAMS=100000 $(BUILD)/tests/sim_engine_random_test
	@tests/cli/refusals --all $(BUILD)/rehearse $(BUILD)/tests/cli/faults.so
	@bench/soak $(BUILD)/rehearse $(SOAK_MINUTES)

# The prefix is set first: ninja then writes again the paths of the installed files.
install: $(BUILD)/build.ninja
	@meson setup --reconfigure $(BUILD) --prefix $(PREFIX) >$(BUILD)/reconfigured || { cat $(BUILD)/reconfigured; exit 1; }
	@$(MAKE) --no-print-directory all
	@DESTDIR=$(DESTDIR) meson install -C $(BUILD) --no-rebuild --quiet
	@[ -n "$(DESTDIR)" ] || scripts/after-install $(PREFIX)

wheel:
	@scripts/make-wheel build-packages/wheels

dist:
	@scripts/make-dist build-packages

deb:
	@scripts/make-deb build-packages

check-packages:
	@scripts/check-packages build-packages

format:
	@clang-format -i $(SOURCES)

lint: all
	@clang-tidy --quiet -p $(BUILD) $(filter-out src/trace/bpf/%,$(filter src/%.c,$(SOURCES)))

clean:
	@rm -rf $(BUILD) build-test build-fuzz build-packages

help:
	@echo "make            build the program: $(BUILD)/rehearse"
	@echo "make demo       plan training jobs, price a GPT block, feed emulated accelerators and record it; with a page of pictures"
	@echo "make site       the planner as a page for a static host, with the pictures of the docs: $(BUILD)/site/index.html"
	@echo "make test       one build, its quick tests, the transcripts, the pages: what to run before a commit"
	@echo "make check      all that must hold, the test above included; make check-NAME is one part of it:"
	@scripts/check --list
	@echo "                WITH_CEPH=1 installs Ceph, for the tests of S3 on a vendor's server too"
	@echo "make bench      times of the searches, beside published figures"
	@echo "make fuzz       every fuzz target, FUZZ_SECONDS each (default 60)"
	@echo "make soak       tests that take hours: all random cases, each call of every command refused once, the simulator against its second one, prices of emitted plans, a feed of SOAK_MINUTES (default 30)"
	@echo "make install    program, library, header, man pages, completion: PREFIX, DESTDIR"
	@echo "make wheel      the package for Python, with the program, for every Python from 3.9 on: build-packages/wheels/"
	@echo "make dist       the sources as one archive, the same bytes wherever it is made: build-packages/"
	@echo "make deb        Debian's packages from that archive, offline: build-packages/"
	@echo "make check-packages   builds the packages twice, installs them in a bare Debian and removes them (half an hour)"
	@echo "make format     clang-format on all sources"
	@echo "make lint       clang-tidy on src/"
	@echo "make clean      remove all builds"
