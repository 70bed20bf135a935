"""The tables of bench/table.py in bench/RESULTS.md: one for each section, between two marks, each with the machine, date,
commit and command of its run. A run replaces the tables of the sections that it measured, and leaves the others.
"""
import datetime
import os
import pathlib
import re
import subprocess

BEGIN, END = "<!-- bench/table.py begins -->", "<!-- bench/table.py ends -->"
NONE_YET = "No run has been written here yet."


def figure(number):
    """Four digits, but whole numbers whole, and three after the point of a fraction: 0.713, 9.999, 17,871."""
    digits = 3 if abs(number) < 1 else max(0, 4 - len(str(int(abs(number)))))
    text = f"{number:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def table_of(section, rows, facts):
    """`facts`: machine, date, commit, command. The spread is the least and the largest figure of the single runs."""
    lines = [f"### {section}", "", f"{facts['date']}, commit {facts['commit']}, {facts['machine']}:", "",
             f"    {facts['command']}", "", "| | median | spread | runs | wanted | |", "|---|---|---|---|---|---|"]
    for row in rows:
        samples = row["samples"]
        spread = f"{figure(min(samples))} to {figure(max(samples))}" if len(samples) > 1 else ""
        cells = (row["what"], row["reached"], spread, str(len(samples) or ""), row["wanted"], "reached" if row["good"] else "missed")
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return re.sub(r"\|  (?=\|)", "| ", "\n".join(lines))


def replaced(text, tables, order):
    """`text` with the new tables, by section; sections stand in `order`. ValueError if it does not have the two marks."""
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise ValueError(f"one line {BEGIN} and, after it, one line {END} are needed")
    before, rest = text.split(BEGIN)
    old, after = rest.split(END)
    kept = {block.split("\n", 1)[0]: "### " + block.strip() for block in re.split(r"(?m)^### ", old)[1:]}
    all_tables = {**kept, **tables}
    blocks = [all_tables[section] for section in order if section in all_tables] or [NONE_YET]
    return before + BEGIN + "\n\n" + "\n\n".join(blocks) + "\n\n" + END + after


def machine():
    """The processor and how many there are, the memory, the kernel."""
    model = re.search(r"^model name\s*:\s*(.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    memory = int(re.search(r"^MemTotal:\s*(\d+)", pathlib.Path("/proc/meminfo").read_text(), re.M)[1]) / (1 << 20)
    name = re.sub(r"\s+", " ", model[1]) if model else os.uname().machine
    return f"{len(os.sched_getaffinity(0))} processors ({name}), {memory:.0f} GiB, Linux {os.uname().release.split('-')[0]}"


def facts_of(root, command):
    """The facts of a run that ends now."""
    def git(*argv):
        return subprocess.run(["git", "-C", root, *argv], capture_output=True, text=True).stdout.strip()
    changed = " with changes" if git("status", "--porcelain", "--untracked-files=no") else ""
    return {"machine": machine(), "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d at %H:%M UTC"),
            "commit": (git("rev-parse", "--short", "HEAD") or "unknown") + changed, "command": command}
