#!/usr/bin/env python3
"""The tables that bench/table.py --markdown writes into bench/RESULTS.md."""
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
sys.dont_write_bytecode = True

import results_table  # noqa: E402

FACTS = {"machine": "2 processors (X), 8 GiB, Linux 6.1", "date": "2026-11-26 at 01:00 UTC", "commit": "abc1234", "command": "bench/table.py --only store"}
ROWS = [{"what": "a | b", "reached": "0.71 x", "wanted": ">= 0.7 x", "good": True, "samples": [0.7126, 0.61, 0.7349]},
        {"what": "turns", "reached": "12 ms", "wanted": "<= 10 ms", "good": False, "samples": []}]


class Tables(unittest.TestCase):
    def test_figures_have_four_digits(self):
        self.assertEqual([results_table.figure(number) for number in (0.71264, 1.5, 17870.8, 123.456, 0, 72000.0, 9.999)],
                         ["0.713", "1.5", "17,871", "123.5", "0", "72,000", "9.999"])

    def test_a_table_says_machine_date_commit_command_median_and_spread(self):
        self.assertEqual(results_table.table_of("store", ROWS, FACTS), "\n".join((
            "### store", "", "2026-11-26 at 01:00 UTC, commit abc1234, 2 processors (X), 8 GiB, Linux 6.1:", "",
            "    bench/table.py --only store", "", "| | median | spread | runs | wanted | |", "|---|---|---|---|---|---|",
            "| a \\| b | 0.71 x | 0.61 to 0.735 | 3 | >= 0.7 x | reached |", "| turns | 12 ms | | | <= 10 ms | missed |")))

    def test_a_run_replaces_its_sections_and_leaves_the_others(self):
        page = f"# Results\n\n{results_table.BEGIN}\n\n{results_table.NONE_YET}\n\n{results_table.END}\n\n## More\n\n### store\n"
        order = ("store", "memory", "turns")
        first = results_table.replaced(page, {"turns": results_table.table_of("turns", ROWS, FACTS)}, order)
        self.assertNotIn(results_table.NONE_YET, first)
        both = results_table.replaced(first, {"store": results_table.table_of("store", ROWS, FACTS)}, order)
        self.assertLess(both.index("### store"), both.index("### turns"))
        self.assertTrue(both.startswith("# Results\n\n") and both.endswith("\n\n## More\n\n### store\n"))
        again = results_table.replaced(both, {"store": results_table.table_of("store", ROWS[:1], {**FACTS, "commit": "def5678"})}, order)
        self.assertEqual((again.count("abc1234"), again.count("def5678"), again.count("### turns")), (1, 1, 1))
        self.assertEqual(results_table.replaced(again, {}, order), again)

    def test_a_page_without_the_marks_is_refused(self):
        for page in ("", results_table.BEGIN, results_table.END + results_table.BEGIN, results_table.BEGIN * 2 + results_table.END):
            with self.assertRaises(ValueError):
                results_table.replaced(page, {}, ())

    def test_the_page_has_the_marks_and_no_table_that_was_written_by_hand(self):
        page = (ROOT / "bench/RESULTS.md").read_text()
        order = re.findall(r'"(\w+)"', re.search(r"SECTIONS = \((.*?)\)", (ROOT / "bench/table.py").read_text(), re.S)[1])
        self.assertIn("rivals", order)
        self.assertEqual(results_table.replaced(page, {}, order), page)

    def test_the_facts_of_this_machine(self):
        facts = results_table.facts_of(ROOT, "command")
        self.assertRegex(facts["machine"], r"^\d+ processors \(.+\), \d+ GiB, Linux \d")
        self.assertRegex(facts["date"], r"^20\d\d-\d\d-\d\d at \d\d:\d\d UTC$")
        self.assertRegex(facts["commit"], r"^([0-9a-f]{7,}|unknown)")


if __name__ == "__main__":
    unittest.main(verbosity=1)
