#!/usr/bin/env python3
"""The rules of docs/CONTRIBUTING.md for pages: links lead somewhere, pages are short where a reader has to choose, figures
with dates are in few places, every page is in the index, and a test runs every command that is printed. And one for
comments: they are sentences, or name a thing; none opens with a fragment such as "Of ..." or "What ...".

Each rule is a function over text; it is first held against samples, so that we know that it can fail.
"""
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# The most words that a page may have.
MOST_WORDS = {"README.md": 900, "docs/overload.md": 2500, "docs/ARCHITECTURE.md": 2500, "docs/reliability.md": 1200,
              "docs/operations.md": 2500, "docs/README.md": 600}

# Dates belong where measurements and changes are recorded.
WITH_DATES = {"CHANGELOG.md", "bench/RESULTS.md", "docs/overload-experiments.md"}

# The tests that run what a page prints: a pattern of commands, and the test, which names the page. "fenced" stands for all
# blocks of ```sh.
PRINTED, COMMANDS = "tests/faults/printed_test.py", "tests/faults/command_test.py"
RUN_BY = {
    "README.md": {"fenced": PRINTED, "freshet demo": "tests/package/package_test.py"},
    "docs/CONTRIBUTING.md": {"./dev ": "tests/house/dev_test.py"},
    "docs/aws-sdks.md": {"fenced": PRINTED},
    "docs/cookbook.md": {"fenced": PRINTED},
    "docs/dashboard.md": {".*": "tests/ui/recording_test.mjs"},
    "docs/engines.md": {"freshet ": "tests/conformance/engine_commands_test.py"},
    "docs/errors.md": {"freshet logs": "tests/conformance/http_test.py"},
    "docs/filtered-queue.md": {".*": "tests/faults/filtered_test.py"},
    "docs/fleet.md": {"freshet ": "tests/conformance/engine_fleet_test.py"},
    "docs/formats.md": {".*freshet replay": "tests/faults/replay_test.py"},
    "docs/http.md": {"curl ": "tests/conformance/openapi_test.py"},
    "docs/lifecycle.md": {"freshet serve": "tests/conformance/engine_daemon_test.py"},
    "docs/operations.md": {"freshet |python3 |echo ": "tests/package/package_test.py"},
    "docs/ordered-writes.md": {".*": "tests/faults/ordered_test.py"},
    "docs/overload.md": {".*": PRINTED},
    "docs/priority-queue.md": {".*": "tests/faults/priority_test.py"},
    "docs/running-queues.md": {".*": "tests/faults/operate_test.py"},
    "docs/simulate.md": {".*": PRINTED},
    "docs/stream-functions.md": {"fenced": PRINTED},
    "docs/task-api.md": {"fenced": COMMANDS},
    "docs/templates.md": {"fenced": PRINTED},
    "docs/tutorial.md": {"fenced": PRINTED},
}

# Commands that no test runs, each with the reason.
NOT_RUN = {
    "freshet stats --watch 1": "README has it for a queue, and that is run",
    "curl -s http://127.0.0.1:7070/queues/QueueTable/backlog": "monitoring_test.py asks for what KEDA would",
    "./run.sh": "it builds; CI runs it", "./test.sh": "it runs this", "./package.sh": "the tests of the packages use what it builds",
    "sudo ": "it changes the machine", "podman ": "it needs a container engine; the test of the package reads the Containerfile",
        "cmake ": "it builds; the tests run what was built",
    "freshet serve NAME --to URL": "a form, no command", "freshet run TEMPLATE --data DIR": "a form, no command",
    "freshet run config/stream-functions.yaml": "it needs a bucket; stream_functions_test.py has one",
    "freshet run template.yaml --metrics-endpoint": "the file is the reader's; metrics_export_test.py has the options",
    "freshet run template.yaml --store dynamodb": "the machines are the reader's; engine_fleet_test.py has the options",
    "freshet run template.yaml --queue": "the file is the reader's; queue_table_test.py has the option",
    "build/release/freshet run config/native.yaml": "only a build with FRESHET_FUNCTIONS has it; own_functions_test.cc tests the example",
    "echo '{\"name\": \"Ada\"}'": "the same",
    "build/release/freshet bench overload": "it takes minutes; lab_test.py and overload_test.cc run short forms",
    "build/release/bench/bound_bench": "it takes minutes", "bench/": "a measurement, which takes minutes",
    "build/release/tests/sim/freshet_sim": "sim.* run it with other seeds", "tests/sim/planted.py": "it takes minutes",
    "tests/conformance/against.py": "it needs another endpoint", "node build/rivals/": "the same",
    "tests/conformance/dynamodb_local.py": "it needs DynamoDB Local", "tests/conformance/differential.py": "conformance.fuzzer runs 3,000 requests",
}

FENCE = re.compile(r"^(`{3,}).*?^\1$", re.M | re.S)
MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
DATE = re.compile(rf"\b20\d\d-[01]\d-[0-3]\d\b|\b(?:[0-3]?\d\.? )?(?:{MONTHS})(?: [0-3]?\d,?)? 20\d\d\b")
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]+)\)")


def pages():
    """Path and text of every page, by path from the root."""
    found = [ROOT / name for name in ("README.md", "SECURITY.md", "CHANGELOG.md", "bench/RESULTS.md")]
    found += sorted((ROOT / "docs").glob("**/*.md"))
    return {str(path.relative_to(ROOT)): path.read_text() for path in found}


def prose_of(text):
    """The text with its code blanked out, lines kept: fences, lines that are indented as code, and `code`."""
    text = FENCE.sub(lambda block: "\n" * block[0].count("\n"), text)
    text = re.sub(r"(?m)^ {4,}(?![-*\d]).*$", "", text)
    return re.sub(r"`[^`\n]*`", lambda code: "`" + "x" * (len(code[0]) - 2) + "`", text)


def found_in(pattern, text):
    """Each match in the prose of a page, with its line."""
    prose = prose_of(text)
    return [(match, prose.count("\n", 0, match.start()) + 1) for match in re.finditer(pattern, prose)]


def anchors_of(text):
    """The anchors that GitHub makes of a page's headings."""
    seen, found = {}, set()
    for heading in re.findall(r"(?m)^#{1,6} +(.*?) *#*$", FENCE.sub("", text)):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").lower()
        anchor = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        found.add(f"{anchor}-{seen[anchor]}" if anchor in seen else anchor)
        seen[anchor] = seen.get(anchor, 0) + 1
    return found


def dead_links(all_pages, exists):
    """`exists` says whether there is a file of that path from the root."""
    wrong = []
    for path, text in all_pages.items():
        for link, line in found_in(LINK, text):
            target, where = link[1], f"{path}:{line}"
            if re.match(r"[a-z]+:", target):
                continue
            file, _, anchor = target.partition("#")
            there = str(pathlib.PurePosixPath(path).parent / file) if file else path
            parts = []
            for part in there.split("/"):
                parts = parts[:-1] if part == ".." and parts else parts + [part] if part != "." else parts
            there = "/".join(parts)
            if not exists(there):
                wrong.append(f"{where}: {target}: there is no file {there}")
            elif anchor and there in all_pages and anchor not in anchors_of(all_pages[there]):
                wrong.append(f"{where}: {target}: {there} has no heading for #{anchor}")
    return wrong


def too_long(all_pages, most):
    return [f"{path}: {len(all_pages[path].split())} words, at most {words} are allowed"
            for path, words in most.items() if len(all_pages[path].split()) > words]


def dates(all_pages, allowed):
    return [f"{path}:{line}: {date[0]}: put the figure into bench/RESULTS.md, round it here, and link"
            for path, text in all_pages.items() if path not in allowed for date, line in found_in(DATE, text)]


def not_in_index(all_pages):
    linked = {link.partition("#")[0] for link in LINK.findall(all_pages["docs/README.md"])}
    return [f"{path}: docs/README.md has no link to it" for path in all_pages
            if path.startswith("docs/") and path != "docs/README.md" and path[len("docs/"):] not in linked]


def stale_names(sources, all_pages):
    """Pages, and sections in quotes behind them, that a source names."""
    wrong = []
    for path, text in sources.items():
        for page, section in re.findall(r"\b(docs/[\w-]+\.md)\b(?:,(?:\s|//|#)+\\?\"([^\"\\\n]+)\\?\")?", text):
            if page not in all_pages:
                wrong.append(f"{path}: there is no {page}")
            elif section and not re.search(rf"(?m)^#+ {re.escape(section)}$", all_pages[page]):
                wrong.append(f"{path}: {page} has no section {section!r}")
    return wrong


def commands_of(text):
    """(is it in a fence?, the command) of each that a page prints, with lines that go on joined."""
    found = []
    for block in re.finditer(r"(?ms)^```(?:sh|bash)[^\n]*\n(.*?)^```$", text):
        found += [(True, line) for line in block[1].replace("\\\n", " ").splitlines() if line and not line.startswith("#")]
    bare = FENCE.sub("", text).replace("\\\n", " ")
    words = r"freshet|build/|bench/|curl|python3|tests/|podman|sudo|\./|cmake|node|aws|echo|npm|receipt="
    return found + [(False, line[4:]) for line in bare.splitlines() if re.match(rf" {{4}}(?:{words})", line)]


def not_run(all_pages, run_by, not_run_commands, test_text):
    """`test_text` gives the text of a test's file."""
    wrong, used = [], set()
    for path, text in all_pages.items():
        for fenced, command in commands_of(text):
            tests = [test for what, test in run_by.get(path, {}).items() if (fenced if what == "fenced" else re.match(what, command))]
            reasons = [each for each in not_run_commands if command.startswith(each)]
            used.update(reasons)
            if not tests and not reasons:
                wrong.append(f"{path}: no test runs: {command}")
            wrong += [f"{test} does not name {path}" for test in tests if pathlib.PurePosixPath(path).name not in test_text(test)]
    wrong += [f"no page prints a command that begins with {each!r}" for each in not_run_commands if each not in used]
    return sorted(set(wrong))


def fragments(all_pages):
    """Sentences that begin with "Of" or "Whoever" are fragments, or have to be read twice."""
    return [f"{path}:{line}: a sentence that begins with {word[1]!r}: say what it is about first"
            for path, text in all_pages.items() if path not in WITH_DATES
            for word, line in found_in(r"(?:^|(?<=[.!?:|*] )|(?<=\n))(?:[-*] )?\*{0,2}(Of(?! course)|Whoever) ", text)]


OPENS_BADLY = re.compile(r"(Of(?! course)|What|Whatever|Whether|Who|Whom|Whose|Whoever|So (?:many|much|long|far|few|often))\b")


def comments_of(path, text):
    """(line, first line) of each comment: a block of whole lines counts once; so does one behind code, or a docstring."""
    found, open_block = [], False
    whole, behind = ((r"\s*#(?!!) ?(.*)", r".*\S\s{2,}# (.*)") if path.endswith(".py") else (r"\s*//[/!]?<? ?(.*)", r".*\S\s+// (.*)"))
    for number, line in enumerate(text.splitlines(), 1):
        comment = re.fullmatch(whole, line)
        opening = None if comment and open_block else comment
        if not comment:
            opening = re.fullmatch(behind, line) or (re.match(r'\s*[rf]?"""(.+)', line) if path.endswith(".py") else None)
        if opening:
            found.append((number, opening[1]))
        open_block = comment is not None
    return found


def fragments_in_comments(sources):
    return [f"{path}:{line}: a comment that opens with {word[1]!r}: put the subject first"
            for path, text in sources.items()
            for line, comment in comments_of(path, text) if (word := OPENS_BADLY.match(comment))]


class Samples(unittest.TestCase):
    """The rules find what they are for."""

    def test_links(self):
        sample = {"a.md": "# A\n[b](docs/b.md#the-one) [c](docs/c.md) [d](docs/b.md#no)\n`[x](none.md)`\n```\n[y](none.md)\n```\n",
                  "docs/b.md": "# `The` one\n## Twice\n## Twice\n[a](../a.md#a) [t](#twice-1)\n```\n1\n2\n```\n[u](#twice-2) [h](https://x/y.md)\n"}
        self.assertEqual(dead_links(sample, lambda path: path in sample),
                         ["a.md:2: docs/c.md: there is no file docs/c.md", "a.md:2: docs/b.md#no: docs/b.md has no heading for #no",
                          "docs/b.md:9: #twice-2: docs/b.md has no heading for #twice-2"])

    def test_words(self):
        self.assertEqual(too_long({"a": "one two three", "b": "one"}, {"a": 2, "b": 2}), ["a: 3 words, at most 2 are allowed"])

    def test_dates(self):
        sample = {"a": "As of 2026-11-22, or on 3 March 2026.\n`2026-11-22` and /2015-03-31/x\n    date 2026-01-01\n", "b": "2026-11-22"}
        self.assertEqual([line.split(": ")[:2] for line in dates(sample, {"b"})], [["a:1", "2026-11-22"], ["a:1", "3 March 2026"], ["a:2", "2015-03-31"]])

    def test_index(self):
        self.assertEqual(not_in_index({"docs/README.md": "[a](a.md#x)", "docs/a.md": "", "docs/b.md": "", "README.md": ""}),
                         ["docs/b.md: docs/README.md has no link to it"])

    def test_names(self):
        sources = {"a.cc": "// docs/a.md, \"One\".\n\"docs/a.md, \\\"Two\\\"\"\n// (docs/b.md).", "b.py": "docs/a.md, \"no\nSection\""}
        self.assertEqual(stale_names(sources, {"docs/a.md": "# One\n"}), ["a.cc: docs/a.md has no section 'Two'", "a.cc: there is no docs/b.md"])

    def test_commands(self):
        sample = {"a.md": "```sh daemon\nfreshet a \\\n b\n```\n    freshet c\n    table: x\n", "b.md": "    sudo d\n    freshet e\n", "CHANGELOG.md": ""}
        self.assertEqual(not_run(sample, {"a.md": {"fenced": "a.py", "freshet c": "c.py"}}, {"sudo ": "", "never": ""},
                                 {"a.py": "of a.md", "c.py": "of none"}.get),
                         ["b.md: no test runs: freshet e", "c.py does not name a.md", "no page prints a command that begins with 'never'"])

    def test_fragments(self):
        self.assertEqual(len(fragments({"a": "It is. Of these two.\nOf one. Of course\n- Of three\nIt is Of no harm. Whoever asks\n"})), 4)


    def test_comments(self):
        sources = {"a/b.cc": "// Of these.\n// What goes on.\nint a;  // Whether it is.\nint b;  // It is. Of two.\n// Of course.\n  // So many.\n",
                   "a/c.py": 'x = 1  # Who?\n# Fine.\n"""What it does."""\n'}
        self.assertEqual([line.split(": ")[0] for line in fragments_in_comments(sources)], ["a/b.cc:1", "a/b.cc:3", "a/c.py:1", "a/c.py:3"])


class Pages(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.pages = pages()
        assert len(cls.pages) > 20, "the pages were not found"

    def sources(self, *suffixes):
        folders = ("app", "base", "bench", "config", "functions", "runtime", "streams", "tables", "tests", "wire")
        files = [path for folder in folders for path in (ROOT / folder).rglob("*")
                 if path.suffix in suffixes and "node_modules" not in path.parts]
        self.assertGreater(len(files), 500)
        here = pathlib.Path(__file__).resolve()
        return {str(path.relative_to(ROOT)): path.read_text(errors="replace") for path in files if path != here}

    def none(self, wrong):
        self.assertEqual([], wrong, "\n" + "\n".join(wrong))

    def test_links_lead_somewhere(self):
        self.none(dead_links(self.pages, lambda path: (ROOT / path).exists()))

    def test_short(self):
        self.none(too_long(self.pages, MOST_WORDS))

    def test_dates_are_where_figures_are(self):
        self.none(dates(self.pages, WITH_DATES))

    def test_index_has_every_page(self):
        self.none(not_in_index(self.pages))

    def test_sources_name_what_is_there(self):
        sources = self.sources(".cc", ".h", ".py", ".yaml", ".sh", ".conf", ".txt", ".json", ".service")
        self.none(stale_names(sources, self.pages))

    def test_comments_put_the_subject_first(self):
        self.none(fragments_in_comments(self.sources(".cc", ".h", ".py")))

    def test_every_command_is_run(self):
        without = ("CHANGELOG.md", "bench/RESULTS.md")
        self.none(not_run({path: text for path, text in self.pages.items() if path not in without}, RUN_BY, NOT_RUN,
                          lambda test: (ROOT / test).read_text()))

    def test_no_fragments(self):
        self.none(fragments(self.pages))


if __name__ == "__main__":
    unittest.main(argv=sys.argv, verbosity=1)
