#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The demonstration itself is demo.py; here only what must be there to start it.
here=$(cd "$(dirname "$0")" && pwd)
command -v python3 >/dev/null || { echo "demo: python3 is not installed: run 'make setup'" >&2; exit 1; }
exec python3 -u "$here/demo.py"
