#!/usr/bin/env python3
"""The sources of one folder: which headers they may include, how they may name what is theirs alone, and which tests they have.

config/build/folders.txt gives each folder the folders whose headers it may include. Sources of one folder are compiled
together (config/build/units.cmake), so names in their unnamed namespaces must differ. Each rule is a function over text;
it is first held against samples, so that we know that it can fail.
"""
import collections
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = "config/build/folders.txt"
PRODUCT = ("base", "tables", "streams", "runtime", "functions", "wire", "app")


# Parameters between which a call cannot decide.
ALIKE = {each: "text" for each in ("std::string", "const std::string&", "std::string_view", "const char*")}
ALIKE |= {each: "number" for each in ("int", "int64_t", "uint64_t", "int32_t", "uint32_t", "size_t", "double")}


def read_table(text):
    rows = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    return {row[0]: set(row[1:]) for row in rows}


def folder_of(path):
    return path.rpartition("/")[0]


def wrong_includes(table, path, text, used=None):
    """Includes of a source that the table does not give to its folder. `used` collects those that it does."""
    folder, wrong = folder_of(path), []
    if folder not in table:
        return [f"{path}: {TABLE} has no line for {folder}"]
    for number, line in enumerate(text.splitlines(), 1):
        include = re.match(r'\s*#\s*include\s*"([^"]+)"', line)
        to = include and folder_of(include[1])
        if not include or to == folder:
            continue
        if to not in table[folder]:
            wrong.append(f"{path}:{number}: {folder} must not include {include[1]}: {TABLE} does not give it {to}")
        elif used is not None:
            used[folder].add(to)
    return wrong


def circles(table):
    """The folders that include each other, perhaps through others."""
    reach = {folder: set(to) for folder, to in table.items()}
    for through in table:
        for folder in table:
            if through in reach[folder]:
                reach[folder] |= reach.get(through, set())
    return sorted(folder for folder in table if folder in reach[folder])


def code_only(text):
    """The text with comments, literals and preprocessor lines blanked out, line breaks kept."""
    blank = lambda match: re.sub(r"[^\n]", " ", match[0])
    text = re.sub(r'R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'|//[^\n]*|/\*.*?\*/', blank, text, flags=re.S)
    return re.sub(r"(?m)^[ \t]*#(?:.*\\\n)*.*$", blank, text)


def name_of(head):
    """The names that a declaration declares, so that two that clash are equal (a function for each number of parameters that it takes), and
    the declaration if its repetition does no harm."""
    head = re.sub(r"^template <.*?> (?=\w)", "", " ".join(head.split()))
    if re.match(r"TEST|TYPED_TEST|INSTANTIATE_|FRESHET_|using namespace |using [\w:]+$|static_assert", head) or not head:
        return None
    alias = re.match(r"(?:using|namespace) (\w+) ?= ?(.*)", head)
    if alias:
        return [alias[1]], head
    kind = re.match(r"(?:class|struct|enum class|enum|union) (\w+)(?: final)?(?: :.*)?$", head)
    if kind:
        return [kind[1]], None
    head = re.split(r"(?<![=!<>])=(?!=)", head)[0] if "(" not in head.split("=")[0] else head
    constant = re.search(r"\b(k[A-Z]\w*)\(", head)
    if constant:
        return [constant[1]], None
    function = re.search(r"(\w+)\s*\(([^()]*(?:\([^()]*\)[^()]*)*)\)", head)
    if function:
        parameters = function[2].split(",")
        types = [re.sub(r"\s+\w+$", "", each.split("=")[0].strip()) for each in parameters]
        types = [ALIKE.get(each, each) for each in types]
        needed = next((place for place, each in enumerate(parameters) if "=" in each), len(types))
        return [f"{function[1]}({','.join(types[:count])})" for count in range(needed, len(types) + 1)], None
    variable = re.search(r"(\w+)(?:\[.*\])?\s*$", head)
    return ([variable[1]], None) if variable else None


def local_names(text):
    """(name, line, text of an alias) of each name in an unnamed namespace."""
    code = code_only(text)
    found, open_, begin = [], [], 0
    for mark in re.finditer(r"[{};]", code):
        head = code[begin:mark.start()]
        if head.count("(") > head.count(")"):  # A parameter's default.
            continue
        local = "unnamed" in open_ and "body" not in open_
        scope = re.search(r"\bnamespace(\s+[\w:]+)?\s*$", head) if mark[0] == "{" else None
        named = name_of(head) if local and not scope and mark[0] != "}" else None
        if named:
            line = code.count("\n", 0, begin + len(head) - len(head.lstrip())) + 1
            found += [(name, line, named[1]) for name in named[0]]
        if mark[0] == "{":
            open_.append("body" if not scope else "named" if scope[1] else "unnamed")
        elif mark[0] == "}" and open_:
            open_.pop()
        begin = mark.end()
    return found


def names_twice(sources):
    """`sources`: path and text of every source of one folder."""
    seen, wrong = collections.defaultdict(list), []
    for path, text in sorted(sources.items()):
        for name, line, alias in local_names(text):
            others = [place for place, same in seen[name] if place.partition(":")[0] != path and (alias is None or same != alias)]
            if others:
                wrong.append(f"{path}:{line}: {name} stands in {others[0]}, too: sources of one folder are compiled together")
            seen[name].append((f"{path}:{line}", alias))
    return wrong


def policies_without_test(headers, tests):
    """Names of policies for which no test is named."""
    return [policy for policy in headers if not any(re.match(policy + r"(_\w+)?_test$", test) for test in tests)]


class Samples(unittest.TestCase):
    """The rules find what they are for."""

    TABLE = read_table("# comment\nbase\na/x base\na/y base a/x\n")

    def test_includes(self):
        self.assertEqual(wrong_includes(self.TABLE, "a/y/f.cc", '#include "a/y/f.h"\n#include "a/x/g.h"\n#include <map>\n#include "base/b.h"\n'), [])
        self.assertEqual(wrong_includes(self.TABLE, "a/x/f.cc", '\n #  include "a/y/g.h"\n'),
                         ["a/x/f.cc:2: a/x must not include a/y/g.h: config/build/folders.txt does not give it a/y"])
        self.assertEqual(len(wrong_includes(self.TABLE, "base/b.cc", '#include "g.h"\n#include "a/x/g.h"\n')), 2)
        self.assertEqual(wrong_includes(self.TABLE, "a/z/f.cc", ""), ["a/z/f.cc: config/build/folders.txt has no line for a/z"])

    def test_names_with_defaults(self):
        self.assertEqual([name for name, _, _ in local_names("namespace {\nint of(int a, T b = {}) { }\nconst Time kNow(seconds(1));\n}")],
                         ["of(number)", "of(number,T)", "kNow"])

    def test_circles(self):
        self.assertEqual(circles(self.TABLE), [])
        self.assertEqual(circles(read_table("a b\nb c\nc a\nd a\n")), ["a", "b", "c"])

    def test_names(self):
        one = """namespace n {
namespace {
constexpr int kA{1};  // { kComment
using T = int;
namespace io = boost::io;
struct S { int member; int f(int); };
template <class T>
int twice(const T& a, int b = 2) {
  int local = 0;
  return "}"[0] + local;
}
const std::map<int, int> kMap = {{1, 2}};
}  // namespace
int not_local(int) { return 0; }
}
"""
        self.assertEqual([name for name, _, _ in local_names(one)], ["kA", "T", "io", "S", "twice(const T&)", "twice(const T&,number)", "kMap"])
        self.assertEqual(names_twice({"a.cc": one, "b.cc": "int kA; namespace { using T = int; int twice(std::string x) { } }"}), [])
        self.assertEqual(len(names_twice({"a.cc": "namespace { int of(std::string_view a) { } }", "b.cc": "namespace { int of(const std::string& b) { } }"})), 1)
        self.assertEqual([line.split(" ")[:2] for line in names_twice(
            {"a.cc": one, "b.cc": "namespace {\nusing T = long;\nclass S final : public X {\n};\nint twice(const T& other, int) { }\ndouble kA = 1;\n}"})],
            [["b.cc:2:", "T"], ["b.cc:3:", "S"], ["b.cc:5:", "twice(const"], ["b.cc:6:", "kA"]])


    def test_policies(self):
        self.assertEqual(policies_without_test(["rate", "lane", "lanes"], ["rate_restart_test", "lanes_test"]), ["lane"])


class Folders(unittest.TestCase):
    maxDiff = None

    def sources(self, folders, endings):
        found = [path for folder in folders for path in sorted((ROOT / folder).rglob("*")) if path.suffix in endings]
        self.assertGreater(len(found), 100)
        return {str(path.relative_to(ROOT)): path.read_text() for path in found}

    def none(self, wrong):
        self.assertEqual([], wrong, "\n" + "\n".join(wrong))

    def test_includes(self):
        table, used, wrong = read_table((ROOT / TABLE).read_text()), collections.defaultdict(set), []
        for path, text in self.sources(PRODUCT, (".h", ".cc", ".in")).items():
            if "#include" in text:
                wrong += wrong_includes(table, path, text, used)
        wrong += [f"{TABLE}: {folder} includes nothing of {to} any more: take it out of the line"
                  for folder, may in table.items() for to in sorted(may - used[folder]) if (ROOT / folder).exists() and (ROOT / to).exists()]
        self.none(wrong)

    def test_a_planted_include_between_siblings_is_found(self):
        table = read_table((ROOT / TABLE).read_text())
        planted = '#include "tables/engine/embedded.h"\n'
        self.assertTrue((ROOT / "tables/engine/embedded.h").exists())
        source = (ROOT / "tables/log/recovery.cc").read_text()
        self.assertEqual(wrong_includes(table, "tables/log/recovery.cc", source), [])
        self.assertEqual(len(wrong_includes(table, "tables/log/recovery.cc", planted + source)), 1)

    def test_names_of_one_folder_differ(self):
        folders, wrong = collections.defaultdict(dict), []
        for path, text in self.sources(PRODUCT + ("tests",), (".cc",)).items():
            if not path.startswith("tests/fuzz/"):
                folders[folder_of(path)][path] = text
        for sources in folders.values():
            wrong += names_twice(sources)
        self.none(wrong)

    def test_each_policy_of_a_queue_has_its_test(self):
        policies = [path.stem for path in sorted((ROOT / "functions/queue/policy").glob("*.h"))]
        self.assertGreater(len(policies), 20)
        tests = [path.stem for path in (ROOT / "tests/functions/policy").glob("*.cc")]
        values = ["limit_hints"]  # Has nothing to test.
        self.assertEqual(policies_without_test(policies, tests), values)


if __name__ == "__main__":
    unittest.main(argv=sys.argv, verbosity=1)
