# SPDX-License-Identifier: GPL-2.0
#
# "make help" lists what there is.

top	:= $(abspath $(dir $(lastword $(MAKEFILE_LIST))))
export RDS_CACHE ?= $(HOME)/.cache/rds
# depmod, modinfo and others are there, and ordinary users have neither
export PATH := $(PATH):/usr/sbin:/sbin
K	?= debian
M	?= ours
T	?=
J	?=
MINUTES	?= 60
vm	:= $(top)/selftests/vm
# names of tests are patterns, for us and not for the shell
run	:= set -f; python3 -u $(vm)/run.py

all: modules

help:
	@sed -n 's/^#: \{0,1\}//p' $(firstword $(MAKEFILE_LIST))

#: make demo               one process, four peers, a cut link, a killed node, RDMA: see it work
#: make speed              rds_rdma against the in-tree one, over RoCE between two guests (ROUNDS=5);
#:                         TRANSPORT=tcp: rds_tcp, and with in-tree peers; writes
#:                         Documentation/performance/table-speed-*.md
#: make check              every test; the last line is "N passed, N failed" (25 minutes)
#:   T='net/netem api/*'     only tests with these names (see: make list; a test: about a minute)
#:   K=uml-kasan             on user-mode Linux with KASAN and lockdep, as many guests at a time as
#:                         there are processors (J=1: one)
#:   K=kasan, K=kcsan        on QEMU with two processors: slow
#:   M=intree                the one-guest tests against the in-tree module (intree61: that of 6.1)
#: make check-all          every test on Debian's kernel and on uml-kasan, at the same time (45 minutes)
#: make check-lanes        the same, each test where it can see something (.ci/run; 80 minutes)
#: make soak               the long forms, an hour in all (MINUTES=60, K=uml-kasan, T=...)
#: make coverage           lines of net/rds that the tests run on uml-kasan (T=...); without T= it
#:                         fails below 90 % of the core or of TCP
#: make bench              ratios to the in-tree module, TCP, SCTP, TIPC and UDP, and a profile; writes
#:                         Documentation/performance/table-*.md (an hour)
#:   QUICK=1                 little of everything, writes nothing (3 minutes)
#:   CELLS='stream/64 ...'   only these, writes nothing; CLOCK=icount, wall or verbs,
#:                         RUNS=3, SECS=0.4
#: make shell              a guest with the modules loaded (N=3: three guests; KINDS="ours intree")
#: make list               the tests and what they need
#: make modules            rds.ko, rds_tcp.ko and rds_rdma.ko for the guests in build/debian (K=uml-kasan)
#:   KDIR=/lib/modules/$(uname -r)/build    for that kernel in build/kdir; fetches nothing
#: make modules_install    what was built (KDIR=... as above), into INSTALL_MOD_PATH (default: the
#:                         running kernel's tree)
#: make modules_uninstall  takes them away again
#: make install            tools, manual pages, completion for bash, <linux/rds.h>, and files in /etc
#:                         that load rds_tcp at each boot (DESTDIR=, PREFIX=/usr/local,
#:                         sysconfdir=/etc); without the latter: make -C tools install
#: make uninstall          takes that away again, but for what was changed in /etc
#: make tests tools        test programs and rds-info, rds-ping, rds-bench in build/bin
#: make unit               tests of the pure code, here
#: make style              sparse, W=1, checkpatch --strict, kernel-doc
#: make setup              fetch what is needed into $RDS_CACHE (default ~/.cache/rds)
#: make kernel K=...       compile the debug kernel uml-kasan, kasan or kcsan (5-30 minutes, once)
#: make clean              remove build/

# a debug kernel is compiled when it is first needed
setup:
	@$(vm)/setup.sh all $(filter-out debian,$(K))

kernel:
	@$(vm)/setup.sh tools $(filter-out debian,$(K))

uml:
	@$(MAKE) --no-print-directory kernel K=uml-kasan

# who names a kernel has its headers and a compiler; guests do not come into it
ifneq ($(and $(KDIR),$(filter check check-all check-lanes soak coverage shell demo speed bench style unit,$(MAKECMDGOALS))),)
$(error KDIR is for "make modules": guests run kernels of their own (K=...))
endif

modules: $(if $(KDIR),,setup)
	@$(vm)/build.sh $(if $(KDIR),kdir,$(K))

modules_install modules_uninstall:
	@$(vm)/install.sh $(@:modules_%=%) $(if $(KDIR),kdir,$(K))

sysconfdir ?= /etc
etc	:= $(DESTDIR)$(sysconfdir)

# a file in /etc that is there is somebody's own
install:
	@$(MAKE) --no-print-directory -C $(top)/tools install
	@cd $(top)/packaging; for f in modules-load.d/rds.conf sysctl.d/rds.conf; do \
		if [ -e "$(etc)/$$f" ]; then echo "$(etc)/$$f is there and stays"; \
		else install -D -m 644 $$f "$(etc)/$$f" || exit 1; fi; done

uninstall:
	@$(MAKE) --no-print-directory -C $(top)/tools uninstall
	@cd $(top)/packaging; for f in modules-load.d/rds.conf sysctl.d/rds.conf; do \
		if cmp -s $$f "$(etc)/$$f"; then rm "$(etc)/$$f"; \
		elif [ -e "$(etc)/$$f" ]; then echo "$(etc)/$$f was changed and stays"; fi; done

tests tools: setup
	@$(MAKE) --no-print-directory -s $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(shell nproc)) -C $(top)/selftests $(if $(filter tools,$@),tools)

check: $(if $(filter ours,$(M)),modules) tests
	@$(run) check -k $(K) -m $(M) $(if $(J),-j $(J)) $(T)

# both at the same time; the second kernel is made while the tests with the first run
check-all: what := --both
check-lanes: what := --lanes
check-all check-lanes: modules tests
	@$(run) check $(what) $(if $(J),-j $(J)) --build 'MAKEFLAGS= make --no-print-directory -C $(top) modules K=uml-kasan' $(T)

soak coverage: K := uml-kasan

soak: modules tests
	@$(run) check -k $(K) --soak $(MINUTES) $(T)

coverage: setup tests
	@VARIANT=gcov $(vm)/build.sh uml-kasan
	@python3 $(vm)/coverage.py clean
	@$(run) check -k uml-kasan --variant gcov $(T); rc=$$?; \
	python3 $(vm)/coverage.py report $(if $(T),,--least 90) && exit $$rc

list:
	@$(run) list $(T)

shell: modules tests
	@$(run) shell -k $(K) $(if $(N),-n $(N)) $(KINDS)

demo: modules tests
	@bash $(top)/demo/demo.sh

TRANSPORT ?= ib
speed_tcp := --cpus 1 --modules rds_tcp
speed_ib := --cpus 1 --mtu 9000 --modules rds_rdma,rdma_rxe
speed_said := $(strip make speed $(if $(filter-out ib,$(TRANSPORT)),TRANSPORT=$(TRANSPORT)) $(if $(ROUNDS),ROUNDS=$(ROUNDS)))
speed: modules tests
	@RDS_SPEED_COMMAND="$(speed_said)"; export RDS_SPEED_COMMAND; $(run) drive -t 6000 $(speed_$(TRANSPORT)) ours ours -- $(top)/selftests/speed/$(TRANSPORT).sh

bench_args := $(if $(QUICK),--quick) $(if $(CLOCK),--clock $(CLOCK)) $(if $(RUNS),--runs $(RUNS)) \
	$(if $(SECS),--seconds $(SECS)) $(if $(QUICK)$(CELLS),,--save)
bench_said := $(strip make bench$(foreach v,QUICK CLOCK RUNS SECS,$(if $($(v)), $(v)=$($(v))))$(if $(CELLS), CELLS='$(CELLS)'))

bench: modules tests
	@RDS_BENCH_COMMAND="$(bench_said)" python3 -u $(vm)/bench.py $(bench_args) $(CELLS)

unit: setup
	@$(MAKE) --no-print-directory -s -C $(top)/selftests
	@$(run) check 'unit/*' 'fuzz/*'

style: setup
	@$(vm)/style.sh

clean:
	rm -rf $(top)/build

# one target after the other: they share build/, and each uses all processors below
.NOTPARALLEL:

.PHONY: all help setup kernel uml modules modules_install modules_uninstall install uninstall tests tools \
	check check-all check-lanes soak coverage list shell demo speed bench unit style clean
