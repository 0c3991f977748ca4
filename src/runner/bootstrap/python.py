# SPDX-License-Identifier: LGPL-2.1-or-later
#
# python3 -u -B python.py /scratch/code/main.py ARGUMENT...
#
# Runs main.py as a fresh interpreter would, but for sys.path[0], which is the workspace and not the directory of the
# code. It is a program of its own so that it can be loaded before the code is known. No doc string, and nothing
# above the next line: what is in the name space now is what a fresh __main__ starts with.
fresh = dict(globals())

import sys


def answer_stack_signal():
    """At the time limit the runner sends this signal and the stack of every thread goes to stderr (handover/message.h)."""
    try:
        import faulthandler

        faulthandler.register(63, 2, True)
    except (ImportError, ValueError, OSError, RuntimeError):
        pass  # a hint that is missing is no failure of the code


def as_fresh_interpreter(path):
    """Where the code cannot be read or compiled, a fresh interpreter has the right message by definition."""
    import os

    options = sys.orig_argv[1:len(sys.orig_argv) - len(sys.argv)]
    os.execv(sys.executable, [sys.orig_argv[0], *options, path, *sys.argv[2:]])


def load(path):
    try:
        with open(path, "rb") as file:
            return compile(file.read(), path, "exec", dont_inherit=True)
    except (OSError, SyntaxError, ValueError, MemoryError, RecursionError, OverflowError):
        as_fresh_interpreter(path)


def become_main(path):
    main = type(sys)("__main__")
    main.__dict__.clear()
    main.__dict__.update(fresh, __file__=path)
    main.__loader__ = type(fresh["__loader__"])("__main__", path)
    if "__annotations__" in fresh:
        main.__dict__["__annotations__"] = {}
    sys.modules["__main__"] = main

    options = sys.orig_argv[:len(sys.orig_argv) - len(sys.argv)]
    del sys.argv[0]
    sys.orig_argv[:] = [*options, *sys.argv]
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = "/workspace"
    return main.__dict__


def hide_our_frames(code):
    """Lets whatever sys.excepthook is by then see a traceback that begins with the code's own first frame."""
    hook = sys.excepthook

    def report(kind, error, traceback):
        while traceback and traceback.tb_frame.f_code is not code:
            traceback = traceback.tb_next
        error.__traceback__ = sys.last_traceback = traceback
        sys.excepthook = hook
        try:
            hook(kind, error, traceback)
        except SystemExit:
            raise
        except BaseException as second:  # as the interpreter does it, less this function's frame
            second.__traceback__ = second.__traceback__.tb_next
            print("Error in sys.excepthook:", file=sys.stderr)
            sys.__excepthook__(type(second), second, second.__traceback__)
            print("\nOriginal exception was:", file=sys.stderr)
            sys.__excepthook__(kind, error, traceback)

    sys.excepthook = report


def run(path):
    code = load(path)
    names = become_main(path)
    try:
        exec(code, names)
    except SystemExit:
        raise
    except BaseException:
        if callable(getattr(sys, "excepthook", None)):
            hide_our_frames(code)
        raise


answer_stack_signal()
run(sys.argv[1])
