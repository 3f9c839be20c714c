# SPDX-License-Identifier: GPL-2.0
#
# "make help" lists what there is.

top	:= $(abspath $(dir $(lastword $(MAKEFILE_LIST))))
export RDS_CACHE ?= $(HOME)/.cache/rds
K	?= debian
M	?= ours
T	?=
vm	:= $(top)/selftests/vm
run	:= python3 -u $(vm)/run.py

all: modules

help:
	@sed -n 's/^#: \{0,1\}//p' $(firstword $(MAKEFILE_LIST))

#: make demo               one socket, three peers, a cut link, a killed node: see it work
#: make check              every test; the last line is "N passed, N failed"
#:   T='net/netem api/*'     only tests with these names (see: make list)
#:   K=uml-kasan             the one-guest tests on a kernel with KASAN and lockdep
#:   M=intree                the one-guest tests against the in-tree module
#: make shell              a guest with the modules loaded (N=3: three guests; KINDS="ours intree")
#: make list               the tests and what they need
#: make modules            rds.ko and rds_tcp.ko in build/debian (K=uml-kasan, KDIR=... for others)
#: make modules_install    what was built, into INSTALL_MOD_PATH (default: the running kernel's tree)
#: make tests tools        test programs and rds-info, rds-ping in build/bin
#: make unit               tests of the pure code, here
#: make style              sparse, W=1, checkpatch --strict, kernel-doc
#: make setup              fetch what is needed into $RDS_CACHE (default ~/.cache/rds)
#: make uml                compile the user-mode kernel with KASAN (10-30 minutes, once)
#: make clean              remove build/

setup:
	@$(vm)/setup.sh all

uml:
	@$(vm)/setup.sh tools uml

modules: setup
	@$(vm)/build.sh $(K)

modules_install:
	@$(vm)/install.sh $(K)

tests tools: setup
	@$(MAKE) --no-print-directory -s -C $(top)/selftests $(if $(filter tools,$@),tools)

check: $(if $(filter ours,$(M)),modules) tests
	@$(run) check -k $(K) -m $(M) $(T)

list:
	@$(run) list $(T)

shell: modules tests
	@$(run) shell -k $(K) $(if $(N),-n $(N)) $(KINDS)

demo: modules tests
	@bash $(top)/demo/demo.sh

unit: setup
	@$(MAKE) --no-print-directory -s -C $(top)/selftests
	@$(run) check 'unit/*' 'fuzz/*' 'style/*'

style: setup
	@$(vm)/style.sh

clean:
	rm -rf $(top)/build

.PHONY: all help setup uml modules modules_install tests tools check list shell demo unit style clean
