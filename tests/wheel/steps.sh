#!/bin/sh
# SPDX-License-Identifier: MIT
# What a person does with an installed wheel, from the install to the uninstall. Ends with 1 at the first thing that is not as it should be.
#   steps.sh WHEEL FILES      FILES: a folder with programs/, databases/ and, if pip should not ask PyPI, house/ with all that Optuna needs
# It is run in an empty folder, and needs nothing but Python. It writes there and into HOME.
set -eu

wheel=$1
files=$2
here=$(pwd)
quiet="--quiet --disable-pip-version-check"
if [ -d "$files/house" ]; then quiet="$quiet --no-index --find-links $files/house"; fi

step() { echo "-- $1"; }
fail() {
  echo "FAILED: $1" >&2
  [ ! -e "$here/said" ] || tail -n 30 "$here/said" >&2
  exit 1
}
# Runs the words, and keeps what they say in the file `said`.
must() {
  "$@" >"$here/said" 2>&1 || fail "status $? of: $*"
}
says() { grep -q -- "$1" "$here/said" || fail "nothing says '$1'"; }

is_healthy() {
  must "$1" doctor
  if grep -q BAD "$here/said"; then fail "doctor finds something BAD"; fi
}

step "two commands: pip install, and a study of an unchanged program"
begin=$(date +%s)
python3 -m venv first
# shellcheck disable=SC2086
must first/bin/pip install $quiet "$wheel[optuna]"
must first/bin/hpo-tune run --device-memory 400MiB --workers 2 --seed 8 --store study.db -- first/bin/python "$files/programs/study.py"
says "^best: "
says "20 complete\|complete, .* pruned"
seconds=$(($(date +%s) - begin))
echo "   $seconds s"
cp said first-study

step "one version everywhere"
version=$(first/bin/python -c 'import hpo; print(hpo.__version__)')
for tool in hpo-tune hpo-analyze hpo-worker; do
  [ "$(first/bin/$tool --version)" = "$version" ] || fail "$tool has another version than the package, $version"
done
must first/bin/python -I -W error -c 'import importlib.metadata, pathlib, sys
import hpo
package, metadata = pathlib.Path(hpo.__file__).parent, importlib.metadata.metadata("hpo-tune")
assert str(package).startswith(sys.prefix), package
assert metadata["Version"] == hpo.__version__, metadata["Version"]
assert all("extra ==" in each for each in metadata.get_all("Requires-Dist")), metadata.get_all("Requires-Dist")
assert (package / "py.typed").exists()
of_tools = pathlib.Path(sys.prefix) / "share/hpo/python/hpo"
modules = [{str(path.relative_to(folder)) for path in folder.rglob("*.py")} for folder in (package, of_tools)]
assert modules[0] == modules[1] and len(modules[0]) > 30, modules[0] ^ modules[1]'

step "doctor"
is_healthy first/bin/hpo-tune

step "post-mortems of databases of Optuna"
for database in "$files"/databases/*.db; do
  study=$(first/bin/python -c 'import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute("select study_name from studies order by study_id").fetchone()[0])' "$database")
  cp "$database" read.db
  must first/bin/hpo-analyze oom --store read.db --study "$study"
done
must first/bin/hpo-analyze oom --store study.db

step "a snapshot of PyTorch's memory"
must first/bin/python -c 'import pickle
block = {"address": 1 << 40, "size": 1 << 20, "requested_size": 1 << 20, "state": "active_allocated", "frames": []}
free = {"address": (1 << 40) + (1 << 20), "size": 1 << 20, "requested_size": 0, "state": "inactive", "frames": []}
segment = {"device": 0, "address": 1 << 40, "total_size": 2 << 20, "allocated_size": 1 << 20, "active_size": 1 << 20, "requested_size": 1 << 20,
           "stream": 0, "segment_type": "small", "segment_pool_id": (0, 0), "is_expandable": False, "frames": [], "blocks": [block, free]}
event = {"addr": 1 << 40, "stream": 0, "device": 0, "frames": [{"filename": "train.py", "line": 3, "name": "step"}]}
events = [{**event, "action": "segment_alloc", "size": 2 << 20, "time_us": 1}, {**event, "action": "alloc", "size": 1 << 20, "time_us": 2}]
pickle.dump({"segments": [segment], "device_traces": [events], "allocator_settings": {}}, open("snapshot.pickle", "wb"))'
must first/bin/hpo-analyze snapshot snapshot.pickle
says "train.py:3"

step "a study of a command, as init writes it"
must first/bin/hpo-tune init first_study
must first/bin/hpo-tune check first_study.lua
must first/bin/hpo-tune run first_study.lua --progress none --store command.db
says "^best: "

step "hpo.Study and python -m hpo, in an environment that is not activated"
must first/bin/python -W error -c 'import hpo
study = hpo.Study("asked", seed=1)
trial = study.ask({"x": hpo.FloatDistribution(0, 1)})
study.tell(trial, 1.0)
assert study.best_trial.value == 1.0'
must first/bin/python -m hpo --progress none --trials 3 --store module.db "$files/programs/study.py"
says "3 complete"

step "a program in another environment, which has no hpo"
python3 -m venv other
# shellcheck disable=SC2086
must other/bin/pip install $quiet optuna
must first/bin/hpo-tune run --progress none --trials 3 --store other.db -- other/bin/python "$files/programs/study.py"
says "3 complete"

step "pip install --target"
# shellcheck disable=SC2086
must first/bin/pip install $quiet --target target "$wheel"
is_healthy target/bin/hpo-tune
must env PYTHONPATH=target python3 -W error -c 'import hpo; hpo.Study("asked", seed=1).close()'

step "pip install --user"
if python3 -m pip --version >/dev/null 2>&1; then
  breaks=
  if python3 -m pip install --help | grep -q break-system-packages; then breaks=--break-system-packages; fi
  # shellcheck disable=SC2086
  must python3 -m pip install $quiet --user $breaks "$wheel"
  is_healthy "$HOME/.local/bin/hpo-tune"
  must python3 -W error -c 'import hpo; hpo.Study("asked", seed=1).close()'
  # shellcheck disable=SC2086
  must python3 -m pip uninstall --quiet --yes $breaks hpo-tune
else
  echo "   this Python has no pip of its own; left out"
fi

step "a moved environment, and a link to the program"
mv first moved
must moved/bin/hpo-tune run --progress none --trials 3 --store moved.db -- other/bin/python "$files/programs/study.py"
says "3 complete"
ln -s "$here/moved/bin/hpo-tune" linked
is_healthy ./linked

step "uninstall"
must moved/bin/python -m pip uninstall --quiet --yes hpo-tune
left=$(find moved -type f \( -name 'hpo-*' -o -path '*/hpo/*' \) ! -name '*.pyc')
[ -z "$left" ] || fail "left behind: $left"

grep "^best: value" first-study
echo "all of it works: hpo-tune $version, $(python3 --version)"
