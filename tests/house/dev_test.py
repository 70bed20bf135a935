#!/usr/bin/env python3
"""./dev does what its help and docs/CONTRIBUTING.md say. `dev_test.py TREE`: build, test, debug and simulate use this tree, which is built; the rest
runs in a clone with the working copy's ./dev, so that nothing of the working copy changes."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
UGLY, NEAT = "int  twice( int x ){return 2*x;}\n", "int twice(int x) {\n  return 2 * x;\n}\n"


def run(*words, folder=ROOT, **more):
    environment = {**os.environ, "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b.c", "GIT_COMMITTER_NAME": "a",
                   "GIT_COMMITTER_EMAIL": "a@b.c", **more}
    done = subprocess.run(words, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


def good(*words, **more):
    code, text = run(*words, **more)
    assert code == 0, f"{words}: {code}\n{text[-3000:]}"
    return text


def bad(wanted, *words, **more):
    code, text = run(*words, **more)
    assert code != 0, f"{words} went well\n{text[-3000:]}"
    assert wanted in text, f"{words}: no {wanted!r} in\n{text[-3000:]}"


def words_are_checked():
    help_ = good("./dev", "--help")
    for command in ("build", "test", "debug", "format", "tidy", "simulate", "check", "hook"):
        assert f"./dev {command}" in help_, command
    bad("unknown command", "./dev", "nothing")
    bad("name a folder", "./dev", "test")
    bad("no folder 'nowhere'", "./dev", "test", "nowhere")
    bad("name a folder and a test", "./dev", "debug", "base")
    bad("name a seed", "./dev", "simulate")


def with_a_tree(tree):
    use = {"FRESHET_TREE": str(tree)}
    good("./dev", "build", "tests_base", **use)
    assert "PASSED" in good("./dev", "test", "base", "Random*", **use)
    bad("no test of tests/base is named 'Nothing.*'", "./dev", "test", "base", "Nothing.*", **use)
    assert "every promise held" in good("./dev", "simulate", "1", **use)
    with tempfile.TemporaryDirectory() as folder:
        gdb = pathlib.Path(folder) / "gdb"
        gdb.write_text("#!/bin/sh\necho gdb \"$@\"\n")
        gdb.chmod(0o755)
        told = good("./dev", "debug", "base", "A.B", PATH=f"{folder}:{os.environ['PATH']}", **use)
        assert f"--args {tree}/tests/tests_base --gtest_break_on_failure --gtest_filter=A.B" in told, told


def in_a_clone(folder):
    clone = pathlib.Path(folder) / "clone"
    good("git", "clone", "-q", "--shared", str(ROOT), str(clone))
    # The working copy, as it stands.
    for path in good("git", "ls-files", "--cached", "--others", "--exclude-standard").splitlines():
        (clone / path).unlink(missing_ok=True)
        if (ROOT / path).exists():
            (clone / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / path, clone / path)
    good("git", "add", "-A", folder=clone)
    good("git", "commit", "-q", "--no-verify", "--allow-empty", "-m", "as it stands", folder=clone)

    source = clone / "base/ugly.cc"
    source.write_text(UGLY)
    bad("base/ugly.cc", "./dev", "check", folder=clone)
    good("./dev", "format", folder=clone)
    assert source.read_text() == NEAT, source.read_text()
    good("./dev", "check", folder=clone)

    assert "installed" in good("./dev", "hook", folder=clone)
    good("git", "add", "base/ugly.cc", folder=clone)
    good("git", "commit", "-q", "-m", "neat", folder=clone)
    source.write_text('#include "tables/tables.h"\n')
    bad("base must not include tables/tables.h", "git", "commit", "-q", "-a", "-m", "not neat", folder=clone)
    source.write_text(UGLY)
    bad("base/ugly.cc", "git", "commit", "-q", "-a", "-m", "ugly", folder=clone)
    (clone / ".git/hooks/pre-commit").write_text("#!/bin/sh\n# mine\n")
    bad("is there already", "./dev", "hook", folder=clone)

    if shutil.which("clang-tidy"):
        tree = clone / "tree"
        tree.mkdir()
        source.write_text("#include <string>\n#include <utility>\nint f() {\n  std::string a = \"a\";\n  std::string b = std::move(a);\n"
                          "  return static_cast<int>(a.size() + b.size());\n}\n")
        command = f"c++ -std=c++20 -I{clone} -c {source}"
        (tree / "compile_commands.json").write_text(
            f'[{{"directory": "{clone}", "command": "{command}", "file": "{source}"}}]')
        bad("bugprone-use-after-move", "./dev", "tidy", folder=clone, FRESHET_TREE=str(tree))
        good("git", "checkout", "-q", "base/ugly.cc", folder=clone)
        assert "no source differs" in good("./dev", "tidy", folder=clone, FRESHET_TREE=str(tree))


def main():
    if run("git", "rev-parse", "HEAD")[0] != 0:
        print("SKIPPED: house.dev: this is no clone of a repository")
        sys.exit(77)
    words_are_checked()
    with_a_tree(pathlib.Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as folder:
        in_a_clone(folder)
    print("./dev does what it says")


if __name__ == "__main__":
    main()
