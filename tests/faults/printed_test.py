#!/usr/bin/env python3
"""The commands of the first pages are run as they are printed: README's first screen, the pages for AWS SDKs and for choosing a
policy, first looks at templates and stream functions, the tutorial, the cookbook."""
import pathlib
import re
import subprocess
import sys

from daemon import ROOT, main
from printed import Page, Wrong, blocks_of, sections_of


def follow(binary, folder, text, links=None):
    """`links` are what the page finds in its folder."""
    page = Page(folder, binary)
    for name, target in (links or {}).items():
        (page.folder / name).symlink_to(target)
    try:
        page.follow(text)
    finally:
        page.close()


def the_runner_sees_what_is_wrong(binary, folder):
    """A page whose command fails, or prints something else, is not passed over."""
    def told(number, text):
        try:
            follow(binary, folder / str(number), text)
        except Wrong as error:
            return str(error)
        raise AssertionError(f"passed: {text}")

    assert "status 3" in told(1, "```sh\nexit 3\n```\n")
    assert "it printed" in told(2, "```sh\necho one\n```\n```text\ntwo\n```\n")
    assert "is not known" in told(3, "```bash\ntrue\n```\n")
    assert "it ended with 1" in told(4, "```sh daemon\nexit 1\n```\n")
    follow(binary, folder / "5", "```python a.py\nprint('on 8000')\n```\n```sh\npython3 a.py; x=1; export y=2\n```\n```text\non …\n```\n"
                                 "```sh\n[ $y = 2 ] && [ -z ${x-} ]\n```\n")


def readme(binary, folder):
    first = dict(sections_of((ROOT / "README.md").read_text()))[""]
    assert len(blocks_of(first)) >= 3, "README begins with the case"
    follow(binary, folder, first)


def aws_sdks(binary, folder):
    text, modules = (ROOT / "docs/aws-sdks.md").read_text(), ROOT / "build/node/node_modules"
    assert len(blocks_of(text)) >= 8
    if not (modules / "@aws-sdk/client-dynamodb").exists():
        print("SKIPPED: the part in JavaScript of docs/aws-sdks.md: ./test.sh installs its SDK", file=sys.stderr)
        text = re.sub(r"```js .*?```\n\n```sh\nnode .*?```", "", text, flags=re.S)
    follow(binary, folder, text, {"config": ROOT / "config", "node_modules": modules})


def choosing(binary, folder):
    """The commands of docs/overload.md and docs/simulate.md. A second of an experiment, and of a recording, shows that the options
    are right."""
    pages = "".join((ROOT / page).read_text() for page in ("docs/overload.md", "docs/simulate.md"))
    commands = list(dict.fromkeys(re.findall(r"(?m)^    freshet (.*)$", pages)))
    experiments = [command for command in commands if command.startswith("bench overload ")]
    assert len(experiments) == 2 and len(commands) >= 13, commands
    for command in experiments:
        short = command.replace("--seconds 30", "--seconds 1 --seeds 1")
        assert short != command, command
        subprocess.run([str(binary), *short.split()], check=True, capture_output=True, timeout=300)
    rest = "\n".join(f"freshet {command}" for command in commands if command not in experiments)
    assert "--seconds 60" in rest, rest
    follow(binary, folder, f"""
```sh daemon
freshet serve emails --exec true --data :memory:
```
```sh
export FRESHET_QUEUE=emails
seq 20 | sed 's/.*/{{"payload": {{"to": "&"}}}}/' > tasks.jsonl
(sleep 0.2; freshet put --file tasks.jsonl) & {rest.replace("--seconds 60", "--seconds 2")}
```
""")


def commands_are_known(binary, folder):
    """Every `freshet …` on a page, in a sentence too, names commands and options that the program has."""
    helps, wrong, seen = {}, [], 0

    def help_of(*words):
        if words not in helps:
            run = subprocess.run([str(binary), *words, "--help"], capture_output=True, text=True, timeout=60)
            helps[words] = run.stdout if run.returncode == 0 else None
        return helps[words]

    for page in [ROOT / "README.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").glob("*.md"))]:
        text = page.read_text()
        code = re.findall(r"`([^`\n]+)`", text) + re.findall(r"(?m)^    (.*)$", text) + [line for block in blocks_of(text) for line in block[2].split("\n")]
        for command in re.findall(r"(?:^|[(\s])(?:build/release/)?freshet ([a-z][^|;&)$\n]*)", "\n".join(code)):
            words = command.split()
            path = words[:2] if words[0] in ("bench", "demo", "priority", "filtered", "ordered") and len(words) > 1 else words[:1]
            path = [word for word in path if re.fullmatch("[a-z-]+", word) and not word.startswith("-")]
            said = help_of(*path) or (len(path) > 1 and help_of(path[0]) or None)
            options = [word.split("=")[0] for word in words if re.fullmatch(r"--[a-z][a-z-]*(=.*)?", word)]
            seen += 1
            if said is None:
                wrong.append(f"{page.name}: there is no command: freshet {command}")
            wrong += [f"{page.name}: {' '.join(path)} has no {option}: freshet {command}" for option in options if said and option not in said]
    assert seen > 150, seen
    assert not wrong, "\n".join(wrong)


def sections(binary, folder):
    """One section of a page each, in a folder with the files that ship."""
    for page, heading in (("docs/templates.md", "A first template"), ("docs/stream-functions.md", "A first look")):
        text = dict(sections_of((ROOT / page).read_text()))[heading]
        assert len(blocks_of(text)) >= 5, page
        follow(binary, folder / pathlib.Path(page).stem, text, {"config": ROOT / "config"})


def tutorial(binary, folder):
    text = (ROOT / "docs/tutorial.md").read_text()
    assert len(blocks_of(text)) > 15
    follow(binary, folder, text)


def cookbook(binary, folder):
    recipes = [(name, text) for name, text in sections_of((ROOT / "docs/cookbook.md").read_text()) if blocks_of(text)]
    assert len(recipes) >= 8
    for number, (name, text) in enumerate(recipes):
        print(f"cookbook: {name}", flush=True)
        follow(binary, folder / str(number), text)


if __name__ == "__main__":
    wanted = sys.argv[sys.argv.index("--only") + 1:] if "--only" in sys.argv else []
    tests = {"runner": the_runner_sees_what_is_wrong, "known": commands_are_known, "readme": readme, "aws_sdks": aws_sdks, "choosing": choosing, "sections": sections, "tutorial": tutorial, "cookbook": cookbook}
    if wanted:
        del sys.argv[sys.argv.index("--only"):]
    main(__doc__, "the pages do what they say", *(test for name, test in tests.items() if not wanted or name in wanted))
