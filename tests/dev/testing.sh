# SPDX-License-Identifier: LGPL-2.1-or-later
# ./dev test: the four parts, cheapest first.
#
#   unit, bus   meson's suites of these names, in the plain build and once more under the sanitizers
#   container   every executable tests/container/*.py, one after the other in one container
#   boot        every executable tests/boot/*.py, one after the other in one virtual machine
#   cases       tests/cases/run.py in a virtual machine with the bigger image; asked for by name only, for it takes
#               as long as all the others together

# Releases that the boot tests run on, one machine each.
boot_releases=${UNITCELL_BOOT_RELEASES:-$(default_release)}
# One script may take this long.
script_timeout=${UNITCELL_SCRIPT_TIMEOUT:-900}

run_tests() {
        local part=${1:-all} name=${2:-}

        case $part in
        --*) usage_error "test takes no option" ;;
        all) [[ -z $name ]] || usage_error "name a part before the test" ;;
        unit | bus | container | boot | cases) ;;
        *) usage_error "$part is not one of unit, bus, container, boot, cases" ;;
        esac
        [[ $# -le 2 ]] || usage_error "test takes a part and a name"
        need_root "./dev test"

        if [[ $part = all || $part = unit || $part = bus ]]; then
                build "$plain_dir" "$sanitized_dir"
        else
                build "$plain_dir"
        fi
        [[ $part != all && $part != unit ]] || meson_tests unit "$name"
        [[ $part != all && $part != bus ]] || meson_tests bus "$name"
        [[ $part != all && $part != container ]] || container_tests "$name"
        [[ $part != all && $part != boot ]] || boot_tests "$name"
        [[ $part != cases ]] || cases_tests "$name"
        tap_close || exit 1
}

# --- unit and bus -----------------------------------------------------------------------------------------------

meson_tests() {
        local suite=$1 name=$2

        meson_suite "$plain_dir" "$suite" "$name"
        meson_suite "$sanitized_dir" "$suite" "$name" --setup sanitized
}

meson_suite() {
        local dir=$1 suite=$2 name=$3 started=$EPOCHSECONDS pid status=0 log

        shift 3
        log=$cache/$(basename "$dir")-$suite.log
        rm -f "$source_dir/$dir"/meson-logs/testlog*
        (exec_child /usr/bin/meson test -C "$source_dir/$dir" --no-rebuild --suite "$suite" "$@" \
                ${name:+"$name"}) >"$log" 2>&1 </dev/null &
        pid=$!
        cleanup_pids+=("$pid")
        wait "$pid" || status=$?
        last_meson_failed=0
        meson_count "$(find "$source_dir/$dir/meson-logs" -name 'testlog*.junit.xml' 2>/dev/null | head -n 1)"
        if ((status != 0 && last_meson_failed == 0)); then
                say "meson test ended with status $status"
                count_failed
                last_meson_failed=1
        fi
        if ((last_meson_failed > 0)); then
                printf 'FAILED  %s in %s:\n' "$suite" "$dir"
                failed_sections "$source_dir/$dir"/meson-logs/testlog*.txt >>"$log"
                sed 's/^/        /' "$log"
        else
                printf 'ok      %s in %s, %d s\n' "$suite" "$dir" "$(seconds_since "$started")"
        fi
}

# The parts of meson's long log that belong to tests that did not end well: with TAP, --print-errorlogs leaves out the
# assertions.
failed_sections() {
        awk '
                function flush() { if (bad) printf "%s", section; section = ""; bad = 0 }
                /^=+ [0-9]+\/[0-9]+ =+$/ { flush() }
                { section = section $0 "\n" }
                /^result: / && !/exit status 0/ { bad = 1 }
                /^not ok/ { bad = 1 }
                END { flush() }' "$@" 2>/dev/null || true
}

# --- container and boot -----------------------------------------------------------------------------------------

# The scripts of a part; with a name, the one that is called so (with or without .py).
test_scripts() {
        local part=$1 name=${2%.py} script

        for script in "$source_dir/tests/$part"/*.py; do
                [[ -x $script && -f $script ]] || continue
                [[ -z $name || $(basename "$script" .py) = "$name" ]] || continue
                basename "$script"
        done
}

# tests/container, tests/boot and tests/lib, as they are in there at /srv/tests.
stage_tests() {
        local dir

        mkdir -p "$run_dir/tests"
        for dir in container boot cases lib; do
                [[ ! -d $source_dir/tests/$dir ]] || cp -a "$source_dir/tests/$dir" "$run_dir/tests/"
        done
        find "$run_dir/tests" -name __pycache__ -prune -exec rm -rf {} +
}

# One after the other inside; each writes its output and its exit status, which tap_count reads out here.
suite_command() {
        cat "$dev_dir/run-scripts.sh"
}

container_tests() { script_tests container "$(default_release)" "$1"; }

boot_tests() {
        local release

        for release in $boot_releases; do
                script_tests boot "$release" "$1"
        done
}

cases_tests() {
        local release

        script_timeout=2400
        for release in $boot_releases; do
                script_tests cases "$release" "$1"
        done
}

script_tests() {
        local part=$1 name=$3 scripts status=0 output

        release=$2 flavour=base
        [[ $part != cases ]] || flavour=full
        mapfile -t scripts < <(test_scripts "$part" "$name")
        if [[ ${#scripts[@]} -eq 0 ]]; then
                [[ -z $name ]] || { say "there is no executable test tests/$part/${name%.py}.py"; count_failed; }
                return 0
        fi
        check_release_fits "$release"
        machine_lock
        ensure_tree "$release" "$flavour"
        make_run_dir
        make_install_tree
        stage_tests
        output=$run_dir/output
        say "$part tests on Debian $release: ${scripts[*]}"
        if [[ $part = container ]]; then
                container_start "$run_dir/tests"
                container_run '' /bin/bash -c "$(suite_command)" run-scripts "$part" "$script_timeout" "${scripts[@]}" \
                        >"$output" </dev/null || status=$?
                container_stop
        else
                ensure_image
                guest_run no '' "$run_dir/tests" -- /bin/bash -c "$(suite_command)" run-scripts "$part" \
                        "$script_timeout" "${scripts[@]}" >"$output" </dev/null || status=$?
        fi
        count_scripts "$output" "$part-$release" "${scripts[@]}"
        if ((status != 0)); then
                say "the $part tests ended with status $status"
                count_failed
        fi
        end_run
}

# Take the collected output apart: run-scripts.sh frames each script's by lines that no test prints.
count_scripts() {
        local output=$1 label=$2 script begin end status

        shift 2
        for script in "$@"; do
                awk -v begin="=== unitcell-dev begin $script" -v end="=== unitcell-dev end $script" '
                        index($0, end " ") == 1 { exit }
                        inside { print }
                        $0 == begin { inside = 1 }' "$output" >"$run_dir/one"
                status=$(sed -n "s/^=== unitcell-dev end $script //p" "$output")
                tap_count "$run_dir/one" "${status:-1}" "$label/$script"
                [[ -n $status ]] || say "$script did not end"
        done
}
