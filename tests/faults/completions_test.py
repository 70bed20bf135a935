#!/usr/bin/env python3
"""Completions and man pages as real shells and man take them. What is not installed is SKIPPED, by name."""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BINARY = None


def run(*argv, **options):
    return subprocess.run([str(a) for a in argv], capture_output=True, text=True, timeout=120, **options)


def freshet(*argv):
    done = run(BINARY, *argv)
    assert done.returncode == 0 and not done.stderr, done
    return done.stdout


def commands_of_help():
    """The names below the headings of `freshet --help`."""
    below = freshet("--help").split("\nUsage:")[1].split("\nOptions:")[0]
    return re.findall(r"^  ([a-z]+) ", below, re.M)


def options_of_help(*command):
    # Each option stands at the beginning of its line: "  -h, --help  …", "      --url TEXT  …".
    lines = re.findall(r"^ +(?:(-\w), )?(--[-\w]+)", freshet(*command, "--help"), re.M)
    return [name for line in lines for name in line if name]


def needed(program):
    if shutil.which(program):
        return lambda test: test
    print(f"SKIPPED: {program} is not installed: the test of what it makes of completions or man pages", file=sys.stderr)
    return unittest.skip(f"{program} is not installed")


class Shells:
    """The words that each shell must offer. `offers(line)` gives the possible words at the end of the line."""

    def test_commands(self):
        self.assertEqual(sorted(self.offers("freshet ")), sorted(commands_of_help()))
        self.assertEqual(self.offers("freshet expl"), ["explain"])
        self.assertIn("peek", self.offers("freshet priority "))
        self.assertNotIn("put", self.offers("freshet put "))

    def test_options_are_those_of_help(self):
        for command in (["put"], ["run"], ["priority", "peek"], ["bench", "overload"]):
            wanted = {name for name in options_of_help(*command) if name.startswith("--")}
            self.assertGreater(len(wanted), 3)
            offered = set(self.offers(f"freshet {' '.join(command)} --"))
            self.assertEqual(offered - {"--version"}, wanted, command)

    def test_values(self):
        self.assertEqual(self.offers("freshet run --log-level w"), ["warn"])
        self.assertEqual(self.offers("freshet completions z"), ["zsh"])
        self.assertIn("one.yaml", self.offers("freshet run o"))
        self.assertIn("one.yaml", self.offers("freshet run --priority-queue o"))

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="freshet-completions-")
        self.addCleanup(self.folder.cleanup)
        self.place = pathlib.Path(self.folder.name)
        (self.place / "one.yaml").touch()
        (self.place / "script").write_text(freshet("completions", self.shell))


@needed("bash")
class Bash(Shells, unittest.TestCase):
    shell = "bash"

    def offers(self, line):
        words = line.split(" ")
        done = run("bash", "--norc", "-c", 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _freshet; '
                   'printf "%s\\n" "${COMPREPLY[@]}"', "bash", self.place / "script", *words, cwd=self.place)
        self.assertEqual((done.returncode, done.stderr), (0, ""), line)
        return done.stdout.split()

    def test_a_value_behind_an_equals_sign(self):
        # Bash takes "--log-level=w" apart at the sign.
        self.assertEqual(self.offers("freshet run --log-level = w"), ["warn"])
        self.assertEqual(len(self.offers("freshet run --log-level =")), len(self.offers("freshet run --log-level ")))

    def test_it_is_registered(self):
        done = run("bash", "--norc", "-euc", f"source {self.place / 'script'}; complete -p freshet")
        self.assertEqual(done.stdout.strip(), "complete -F _freshet freshet", done.stderr)


# Presses TAB in an interactive shell: zsh completes only there. The words that it would offer are printed by compadd.
ZSH_TAB = r"""
zmodload zsh/zpty
zpty -b tab zsh -f -i
zpty -w tab 'PROMPT=; autoload -Uz compinit; compinit -u -D; fpath=('$1' $fpath); '$2
zpty -w tab 'compadd() {
  local -a flags kept; local -i i
  for ((i = 1; i <= $#; i++)); do [[ ${@[i]} == -- || ${@[i]} == - ]] && break; done
  if [[ ${@[1,i]} == *-[OAD]* ]]; then builtin compadd "$@"; return; fi
  builtin compadd -O kept "$@"
  for word in $kept; do print -r -- "OFFERED ${IPREFIX##*=}$word"; done
  builtin compadd "$@"
}'
zpty -w tab 'show() { print -r -- "BEGIN"; zle complete-word; print -r -- "END"; }; zle -N show; bindkey "^I" show; print READY'
zpty -r tab line '*READY*READY*'
zpty -n -w tab "$3"$'\t'
zpty -r tab line '*BEGIN*END*'
print -r -- "$line"
zpty -d tab
"""


@needed("zsh")
class Zsh(Shells, unittest.TestCase):
    shell = "zsh"

    def offers(self, line):
        done = run("zsh", "-f", "-c", ZSH_TAB, "zsh", self.place, f"source {self.place / 'script'}", line,
                   cwd=self.place, env={**os.environ, "TERM": "dumb", "HOME": str(self.place)})
        self.assertEqual(done.returncode, 0, done.stderr)
        words = re.findall(r"OFFERED (\S+)", done.stdout.split("BEGIN", 1)[-1])
        return list(dict.fromkeys(word.rstrip("=") for word in words))

    def test_it_is_a_file_of_fpath(self):
        shutil.copy(self.place / "script", self.place / "_freshet")
        done = run("zsh", "-f", "-c", f"fpath=({self.place} $fpath); autoload -Uz compinit; compinit -u -D; "
                   "print -r -- $_comps[freshet]")
        self.assertEqual(done.stdout.strip(), "_freshet", done.stderr)

    def test_the_script_has_no_faults(self):
        done = run("zsh", "-n", self.place / "script")
        self.assertEqual((done.returncode, done.stderr), (0, ""))


@needed("fish")
class Fish(Shells, unittest.TestCase):
    shell = "fish"

    def offers(self, line):
        done = run("fish", "--no-config", "-c", f"source {self.place / 'script'}; complete -C '{line}'", cwd=self.place,
                   env={**os.environ, "HOME": str(self.place)})
        self.assertEqual((done.returncode, done.stderr), (0, ""), line)
        return [line.split("\t")[0] for line in done.stdout.splitlines()]


class ManPages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="freshet-man-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.place = pathlib.Path(cls.folder.name) / "not/there/yet"
        freshet("man", "--folder", cls.place)
        cls.pages = sorted(cls.place.glob("*.1"))

    def test_there_is_a_page_for_every_command(self):
        wanted = ["freshet.1"] + [f"freshet-{command}.1" for command in commands_of_help()]
        self.assertEqual([page.name for page in self.pages], sorted(wanted))
        for command in commands_of_help():
            self.assertEqual((self.place / f"freshet-{command}.1").read_text(), freshet("man", command))
        self.assertEqual((self.place / "freshet.1").read_text(), freshet("man"))

    def test_a_page_has_every_option(self):
        for command in commands_of_help():
            text = (self.place / f"freshet-{command}.1").read_text().replace("\\-", "-")
            for option in options_of_help(command):
                self.assertIn(f"\\fB{option}\\fR", text, command)

    def test_values_have_the_words_of_help(self):
        for command in commands_of_help():
            text = (self.place / f"freshet-{command}.1").read_text()
            self.assertNotRegex(text, r"\\fI(U?INT|FLOAT)\\fR|Allowed: (DIR|SIZE)", command)
        page = (self.place / "freshet-run.1").read_text().replace("\\-", "-")
        self.assertIn("\\fB--io-threads\\fR \\fINUMBER\\fR\nThreads that read and write HTTP.\nAllowed: 1 to 64.\n", page)

    def test_unknown_commands_and_folders_are_refused(self):
        done = run(BINARY, "man", "nothing")
        self.assertEqual(done.returncode, 2)
        self.assertIn("'nothing' is no command", done.stderr)
        (self.place / "a-file").write_text("")
        self.assertEqual(run(BINARY, "man", "--folder", self.place / "a-file").returncode, 1)

    def clean(self, *argv, but=None):
        for page in self.pages:
            done = run(*argv, page)
            said = [line for line in (done.stderr + done.stdout).splitlines() if but is None or not re.search(but, line)]
            self.assertEqual(said, [], page.name)

    @needed("groff")
    def test_groff_has_no_warning(self):
        self.clean("groff", "-ww", "-man", "-Tutf8", "-z", "-rLL=72n")

    @needed("man")
    def test_man_has_no_warning(self):
        for page in self.pages:
            done = run("man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", page, env={**os.environ, "MANWIDTH": "80"})
            self.assertEqual(done.stderr, "", page.name)
            self.assertEqual(done.returncode, 0)

    @needed("man")
    def test_no_line_is_wider_than_the_terminal(self):
        for page in self.pages:
            text = run("man", "-E", "UTF-8", "-l", page, env={**os.environ, "MANWIDTH": "80", "MANPAGER": "cat", "GROFF_NO_SGR": "1"}).stdout
            self.assertGreater(len(text), 500, page.name)
            wide = [line for line in re.sub(".\b", "", text).splitlines() if len(line) > 80]
            self.assertEqual(wide, [], page.name)

    @needed("mandoc")
    def test_mandoc_has_no_warning(self):
        # The pages have no date, so that the same sources make the same package.
        self.clean("mandoc", "-T", "lint", "-W", "warning", but="missing date")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    options, rest = parser.parse_known_args()
    BINARY = pathlib.Path(options.binary).resolve()
    unittest.main(argv=[sys.argv[0]] + rest)
