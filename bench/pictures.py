#!/usr/bin/env python3
"""Makes the pictures of docs/overload.md from pages of the overload lab: docs/pictures/*.svg.

    bench/pictures.py [--binary build/release/freshet]

A picture is a plot of the lab's page without what a page needs beside it: no other policies to switch on, colours written out.
"""
import argparse
import pathlib
import re
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
COLOURS = {"c0": "#d55e00", "c1": "#0072b2", "c2": "#56b4e9", "c3": "#cc79a7", "c4": "#009e73", "possible": "#1a1a1a"}
COMMON = ["--scale", "16x100ms", "--service", "exponential", "--deadline", "10", "--seeds", "5", "--policy",
          "fifo,fifo-ttl,fifo-codel,lifo-ttl,freshet,clairvoyant"]
LOADS = ["--load", "0.5,0.8,1,1.2,1.5,2,3,5,10", "--seconds", "30"]
STEP = ["--shape", "step", "--load", "3", "--seconds", "60"]
# Name of the file: options of the lab, and which of its page's plots it is.
PICTURES = {"goodput": (LOADS, 0), "waits": (LOADS, 2), "step": (STEP, 0)}


def page_of(binary, options, folder):
    page = pathlib.Path(folder) / "page.html"
    subprocess.run([binary, "bench", "overload", *options, *COMMON, "--html", page], check=True, stdout=subprocess.DEVNULL)
    return page.read_text()


def look_of(classes):
    """The attributes that stand for the classes of the page's style."""
    colour = next((COLOURS[name] for name in classes if name in COLOURS), "#1a1a1a")
    if "grid" in classes:
        return 'stroke="#e3e3e3"'
    if "shade" in classes:
        return 'fill="#f1f1f1"'
    if "line" in classes:
        dashes = ' stroke-dasharray="5 4"' if "possible" in classes else ""
        return f'fill="none" stroke="{colour}" stroke-width="{6 if "ours" in classes else 2}" stroke-linejoin="round"{dashes}'
    if "leader" in classes:
        return f'fill="none" stroke="{colour}" stroke-width="1.5"'
    weight = ' font-weight="bold"' if "ours" in classes else ""
    return f'fill="{"#5c5c5c" if "quiet" in classes else "#1a1a1a"}"{weight}'


def picture_of(page, number):
    body = re.findall(r'<svg class="wide".*?</svg>', page, re.S)[number]
    body = re.sub(r'<(\w+)[^>]*class="[^"]*\bhidden\b[^"]*"[^>]*?(?:/>|>[^<]*</\1>)\n?', "", body)
    width, height = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', body).groups()
    # The page leaves room at the right for the names of the policies that can be switched on.
    shown = float(width) / 1.285
    body = re.sub(r"<svg[^>]*>\n?", f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {shown:g} {height}" font-size="14" '
                  f'font-family="system-ui, sans-serif">\n<rect width="100%" height="100%" fill="#fff"/>\n', body, count=1)
    body = re.sub(r'class="([^"]*)"', lambda match: look_of(match[1].split()), body)
    return re.sub(r'<text(?![^>]*fill=)', '<text fill="#1a1a1a"', body) + "\n"


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--binary", default=str(ROOT / "build/release/freshet"))
    options.add_argument("--to", type=pathlib.Path, default=ROOT / "docs/pictures")
    options = options.parse_args()
    options.to.mkdir(exist_ok=True)
    pages = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, (choice, number) in PICTURES.items():
            key = tuple(choice)
            pages[key] = pages.get(key) or page_of(options.binary, choice, folder)
            (options.to / f"{name}.svg").write_text(picture_of(pages[key], number))
            print(f"{options.to / name}.svg")


if __name__ == "__main__":
    main()
