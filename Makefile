# Two commands for a newcomer: `make demo` and `make test`. Both call `make ready`, which does nothing when all is current.
# Needed on the machine: Python 3.11, a JDK 17, Maven, make. PYTHON and JAVA_HOME choose among several.

PYTHON ?= python3
VENV := .venv
DIST := build/dist
BIN := $(VENV)/bin
PIP := $(BIN)/pip install -q --no-input --disable-pip-version-check -c requirements.lock
MVN := mvn -q -B -Dstyle.color=never -f jvm-bridge
# Else Maven's terminal library begins and ends with an escape sequence, even into a file. It reads this before the command line.
export MAVEN_OPTS := $(strip $(MAVEN_OPTS) -Djansi.noreset=true)
JAVAC = $(if $(JAVA_HOME),$(JAVA_HOME)/bin/javac,javac)

# The folders are among the sources so that a file that goes away is noticed too.
JAVA_SOURCES := $(shell find jvm-bridge \( -name target -o -name yarn-tests -o -name lines -o -name line-2.7 \) -prune -o \
	\( -path '*/src*' -o -name pom.xml -o -name '*.xml' \) -print)
CLASS_PATH := jvm-bridge/dist/target/classpath.txt
JARS := jvm-bridge/dist/target/.made
COMPILED := .venv-compiled/.made
# What the compiled build is made of.
PYTHON_SOURCES := pyproject.toml $(shell find python/loomcard -name '*.py')
LINE_2_7 := jvm-bridge/line-2.7/target/.made
YARN_TESTS := jvm-bridge/yarn-tests/target/$(or $(HADOOP),3.4)/.made
# HADOOP=3.3 chooses the Hadoop line of a target.
ON_LINE = $(if $(HADOOP),LOOMCARD_HADOOP=$(HADOOP))
RELEASE = $(or $(shell sed -n 's,.*/hadoop-common-\(.*\)\.jar,\1,p' hadoop-jars/$(HADOOP).txt 2>/dev/null),\
	$(error HADOOP=$(HADOOP): no such line: name one of 3.4 $(patsubst hadoop-jars/%.txt,%,$(wildcard hadoop-jars/*.txt))))
MVN_LINE = $(if $(filter-out 3.4,$(HADOOP)),-Dhadoop.line=$(HADOOP) -Dhadoop.version=$(RELEASE))
# The first and the last of each Hadoop line that Loomcard serves, and what distributions are based on.
RELEASES := 2.7.7 2.10.1 2.10.2 3.1.1 3.1.4 3.2.1 3.2.4 3.3.1 3.3.3 3.3.4 3.3.6 3.4.0 3.4.1 3.4.2 3.4.3 3.5.0

.PHONY: help setup ready python environment demo test rest test-all lint docs unit coverage java link line-2.7 lines lock explore golden yarn-tests bench bench-gate bench-curve locks agreement papers-reality bench-import bench-simulator hdrf-trees bench-hdrf bench-carbyne bench-coupling chaos compiled mutants clean wheel
.NOTPARALLEL:

help:  ## this list
	@sed -n 's/^\([a-z0-9.-]*\):.*## \(.*\)/  make \1 - \2/p' Makefile

setup: ready $(if $(shell command -v $${CC:-gcc}),$(COMPILED))  ## .venv with the command loomcard, the jars, and where a C compiler is the compiled build

ready: $(VENV)/.made $(JARS)

python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	{ echo "loomcard needs Python 3.11 or newer, and $(PYTHON) is not: make PYTHON=/path/to/python3.11" >&2; exit 1; }

environment: python
	@$(JAVAC) -version 2>&1 | grep -q '^javac 17\.' || \
	{ echo "loomcard needs a JDK 17, and $(JAVAC) is none: install openjdk-17-jdk-headless or set JAVA_HOME" >&2; exit 1; }
	@command -v mvn >/dev/null || \
	{ echo "loomcard needs Maven, and there is no mvn on the PATH: install maven" >&2; exit 1; }

$(VENV)/.made: pyproject.toml requirements.lock | python
	@echo "setup: Python packages into $(VENV)"
	@$(PYTHON) -m venv $(VENV) || { echo "no virtual environment: install python3-venv" >&2; exit 1; }
	@$(PIP) -e '.[dev]'
	@touch $@

# The extra of pyproject.toml with that name, for the targets that need it.
$(VENV)/.%: pyproject.toml requirements.lock | $(VENV)/.made
	@$(PIP) -e '.[$*]'
	@touch $@

$(JARS): $(JAVA_SOURCES) | environment
	@echo "setup: Loomcard's scheduler for the ResourceManager and Hadoop's jars into jvm-bridge/dist/target/lib (the first time: some 300 MB and minutes)"
	@$(MVN) package -Dmaven.test.skip=true
	@touch $@

demo: ready $(VENV)/.report $(if $(filter 2.7,$(HADOOP)),$(LINE_2_7))  ## a policy swapped under real jobs, then dress, hdrf and carbyne beside stock CapacityScheduler; HADOOP=3.3 on another Hadoop line
	@$(ON_LINE) $(BIN)/loomcard demo

test: ready $(VENV)/.lint $(VENV)/.docs  ## ten minutes on two cores: style, docs, Java, Python with a real YARN, the README's commands and the demo
	@$(BIN)/python tests/parts.py test

rest: ready $(VENV)/.dask $(VENV)/.notebook $(VENV)/.compiled $(VENV)/.lint $(CLASS_PATH) $(YARN_TESTS)  ## what is slower and rarer; what needs Docker is skipped, in one line, where no engine answers
	@$(BIN)/python tests/parts.py rest

test-all: test rest  ## everything, as CI runs it

lint: $(VENV)/.lint  ## ruff, mypy, the layer contracts and tests/style.py
	@$(BIN)/ruff check python tests benchmarks docs/stage.py
	@$(BIN)/ruff format --check -q python tests benchmarks docs/stage.py || \
	{ echo "not formatted: $(BIN)/ruff format python tests benchmarks docs/stage.py" >&2; exit 1; }
	@$(BIN)/mypy
	@said=$$($(BIN)/lint-imports 2>&1) || { echo "$$said" >&2; exit 1; }
	@$(BIN)/python tests/style.py

docs: $(VENV)/.docs  ## the documentation site, with API reference and JSON Schemas, into build/site
	@$(BIN)/python docs/stage.py
	@NO_COLOR=1 $(BIN)/zensical build --strict >build/docs.log 2>&1 || { cat build/docs.log >&2; exit 1; }
	@echo "docs: open build/site/index.html"

java: ready  ## Java style and tests, and Error Prone; HADOOP=3.3 the same tests on the jars of another line
ifdef HADOOP
	@$(MVN) -pl shim test-compile
	@$(MVN) -pl shim surefire:test $(MVN_LINE)
else
	@$(MVN) test
	@$(MVN) -Perror-prone -pl shim compile
endif

link: ready $(LINE_2_7)  ## does the scheduler's jar link with each of these releases of Hadoop: RELEASES=3.3.6 others; half a minute
	@jvm-bridge/lines/fetch.sh $(RELEASES)
	@$(MVN)/lines test
	@$(MVN)/line-2.7 test

line-2.7: $(LINE_2_7)  ## the scheduler's jar for Hadoop 2.7, which `cluster up --hadoop 2.7` needs; half a minute

# The other modules' sources again, with those that differ on that line.
$(LINE_2_7): $(JAVA_SOURCES) $(shell find jvm-bridge/line-2.7 -name target -prune -o -print) | environment
	@echo "setup: the scheduler for Hadoop 2.7 (the first time downloads some 30 MB)"
	@$(MVN)/line-2.7 clean package -Dmaven.test.skip=true
	@rm jvm-bridge/line-2.7/target/original-*.jar
	@touch $@

lines: link  ## the tests of the embedded cluster on each Hadoop line, as a table: LINES="3.3 3.5" others; two minutes for each; DEEP=1 also labels, faults and fail-overs; ON=docker those of the compose cluster, ON=all both in one table
	@$(BIN)/python tests/lines.py $(if $(ON),--on $(ON)) $(if $(DEEP),--deep) $(LINES)

unit: lint  ## style and the quick Python tests without a cluster; needs no JDK
	@$(BIN)/pytest -q -n 2 -m "not slow and not cluster and not docker"

coverage: $(VENV)/.dask $(VENV)/.report $(VENV)/.notebook $(VENV)/.coverage  ## which lines the Python tests without a cluster run; pages in build/coverage/html
	@mkdir -p build/coverage
	@$(BIN)/pytest -q -n 2 -m "not cluster and not docker" --cov --cov-report=term --cov-report=html:build/coverage/html

$(YARN_TESTS): $(shell find jvm-bridge/yarn-tests -name target -prune -o -type f -print) | environment
	@echo "setup: YARN's own tests into jvm-bridge/yarn-tests/target (the first time downloads some 20 MB)"
	@$(MVN)/yarn-tests package $(MVN_LINE)
	@touch $@

yarn-tests: ready $(YARN_TESTS)  ## YARN's own tests against FIFO, Capacity and Loomcard (HADOOP=3.3 those of another line); an hour or two, goes on where it stopped; ONLY="TestRM TestAMRestart" only these classes
	@$(ON_LINE) $(BIN)/python -m benchmarks.yarn_tests.run --write docs/benchmarks/yarn-tests.md $(if $(RERUN),--rerun) $(ONLY:%=--only %)

explore: ready  ## the properties of the suite on fresh examples, five seeds; ROUNDS= and SEED= choose others
	@$(BIN)/python tests/explore.py --rounds $(or $(ROUNDS),5) $(if $(SEED),--seed $(SEED))

golden: $(VENV)/.made  ## every policy decides again what tests/golden/journals hold; ONLY=swap/dress some of them, RECORD=1 writes them again
	@$(BIN)/python tests/golden/run.py $(if $(RECORD),--record) $(ONLY)

mutants: $(VENV)/.mutants  ## do tests notice small changes of the core? MODULE=model/placement one module, SAMPLE=60 SEED=1 a sample, WRITE=1 into the docs; a run that was cut goes on
	@$(BIN)/python tests/mutants.py $(foreach module,$(MODULE),'$(module)') $(if $(SAMPLE),--sample $(SAMPLE)) $(if $(SEED),--seed $(SEED)) $(if $(WRITE),--write)

wheel: ready $(LINE_2_7) $(CLASS_PATH) $(if $(LOOMCARD_COMPILED),$(VENV)/.compiled)  ## build/dist/loomcard-*.whl: all that `pip install` needs, but for Hadoop's jars (docs/operate/install.md); LOOMCARD_COMPILED=1 compiles the hot path
	@rm -f $(DIST)/loomcard-*.whl
	@$(BIN)/hatchling build -t wheel -d $(DIST) >/dev/null
	@ls $(DIST)/loomcard-*.whl

# Hadoop's jars by their paths in a Maven repository; the wheel lists them with their checksums.
$(CLASS_PATH): $(JARS)
	@$(MVN) -pl dist -am -Dmaven.test.skip=true package dependency:build-classpath -DincludeScope=runtime \
		-Dmdep.outputFile=$(CURDIR)/$@.new -Dmdep.pathSeparator=, -Dmdep.localRepoProperty=REPOSITORY
	@tr , '\n' < $@.new > $@ && rm $@.new

lock: $(VENV)/.lock  ## requirements.lock from pyproject.toml's ranges; UPGRADE=1 takes the newest of everything
	@$(BIN)/uv pip compile -q --universal --all-extras $(if $(UPGRADE),--upgrade) --no-header -o requirements.lock pyproject.toml

compiled: ready $(COMPILED)  ## .venv-compiled with the wheel whose hot path is compiled to C; needs a C compiler

# Built from the source distribution: in this folder the compiled modules would stay, and hide later changes.
$(COMPILED): $(PYTHON_SOURCES) | $(VENV)/.compiled
	@command -v $${CC:-gcc} >/dev/null || { echo "the compiled build needs a C compiler: install gcc" >&2; exit 1; }
	@echo "compiled: a wheel of C extensions into .venv-compiled; a minute or two"
	@rm -rf .venv-compiled && $(PYTHON) -m venv .venv-compiled
	@$(BIN)/hatchling build -t sdist -d .venv-compiled/dist >/dev/null
	@LOOMCARD_COMPILED=1 $(BIN)/pip wheel -q --disable-pip-version-check --no-deps \
		--no-build-isolation -w .venv-compiled/dist .venv-compiled/dist/*.tar.gz
	@.venv-compiled/bin/pip install -q --no-input --disable-pip-version-check -c requirements.lock \
		"$$(echo .venv-compiled/dist/*.whl)[simulate]"
	@echo "import site; site.addsitedir('$$(echo $(CURDIR)/$(VENV)/lib/python*/site-packages)')" \
		>"$$(echo .venv-compiled/lib/python*/site-packages)/checkout.pth" # policies that are installed there
	@touch $@

bench: ready $(COMPILED)  ## the seam against CapacityScheduler, as the compiled wheel runs; half an hour; the last line is JSON
	@$(ON_LINE) $(BIN)/python -m benchmarks.speed.bridge --python .venv-compiled/bin/python

bench-curve: ready $(COMPILED)  ## what the CPU of an allocation grows with: nodes, applications, queues, sizes of asks; some 15 minutes; the last line is JSON
	@$(BIN)/python -m benchmarks.speed.curve --python .venv-compiled/bin/python

bench-gate: ready $(COMPILED)  ## does the head use more CPU for an allocation or a simulated task than COMMIT=...? some 20 minutes; exits 1 beyond 5 %
	@$(BIN)/python -m benchmarks.speed.gate $(or $(COMMIT),$(error COMMIT=...: name the commit to compare with))

locks: ready  ## the longest holds of the scheduler's lock, with one user at every bound; some minutes; the last line is JSON
	@$(BIN)/python -m benchmarks.speed.locks

agreement: ready  ## the simulator beside real YARN, ours beside YARN's own; 45 minutes; the last line is JSON
	@$(BIN)/python -m benchmarks.agreement

papers-reality: ready  ## the four papers' policies on real YARN, beside their papers; some three hours; the last line is JSON
	@$(BIN)/python -m benchmarks.papers_on_yarn

bench-import: $(VENV)/.made  ## CPU time of `import loomcard` and of each --help beside importing typer and rich; some minutes; the last line is JSON
	@$(BIN)/python -m benchmarks.speed.import_time

bench-simulator: ready  ## tasks a second and memory of the simulator; some 20 minutes; the last line is JSON
	@$(BIN)/python -m benchmarks.speed.simulator

hdrf-trees: ready  ## random trees under H-DRF and its baselines: who breaks a guarantee; 15 minutes
	@$(BIN)/python -m benchmarks.random_trees

bench-hdrf: ready  ## microseconds a decision of hdrf by the size of the tree; some 15 minutes; the last line is JSON
	@$(BIN)/python -m benchmarks.speed.hdrf

bench-carbyne: ready  ## CPU time of a decision of carbyne beside tetris, 10,000 and 50,000 tasks waiting; some minutes; the last line is JSON
	@$(BIN)/python -m benchmarks.speed.carbyne

bench-coupling: ready  ## CPU time of coupling beside fair where 5,000 nodes beat once a second; some minutes; the last line is JSON
	@$(BIN)/python -m benchmarks.speed.coupling

chaos: ready  ## overlapping faults on the real shim (FAULTS=500, MINUTES=60, HADOOP=3.4; a run that was cut goes on), and what must hold after them; the last line is JSON
	@$(ON_LINE) $(BIN)/python -m benchmarks.chaos --resume --faults $(or $(FAULTS),500) --minutes $(or $(MINUTES),60) \
		--out run/chaos$(HADOOP:%=-%)

clean:  ## everything that setup made
	rm -rf $(VENV) .venv-compiled build jvm-bridge/target jvm-bridge/*/target
