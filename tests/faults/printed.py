"""Runs the code blocks of a page as they are printed.

The word behind the fence says what becomes of a block:

    ```sh                 a shell runs it to its end; it must succeed
    ```sh daemon          it runs in the background; the page goes on once it has printed a line
    ```sh until           it runs again and again until it succeeds, and prints what the page says
    ```python FILE        it is saved as FILE; so are js, yaml and json
    ```text               what the block before it prints: `…` stands for anything

Ports that a page names are replaced by free ones, the same everywhere on the page; FRESHET_URL and FRESHET_LISTEN say so
to the commands that do not name any. /usr/share/freshet is where the sources are.
"""
import os
import pathlib
import re
import signal
import socket
import subprocess
import time

from daemon import SLOWER

SOURCES = pathlib.Path(__file__).resolve().parents[2]
PATIENCE = 90 * SLOWER
PORTS = re.compile(r"(?<![\d.])(7070|8000|8001)(?![\d.])")
FENCE = re.compile(r"^```(\S*)[ \t]*([^\n]*)\n(.*?)^```$", re.M | re.S)
SAVED = ("python", "js", "yaml", "json")


class Wrong(AssertionError):
    """A block does not do what its page says."""


def blocks_of(text):
    """(language, words, code, line) of each block."""
    return [(block[1], block[2].split(), block[3], text.count("\n", 0, block.start()) + 1) for block in FENCE.finditer(text)]


def sections_of(text, level="## "):
    """The text before the first heading and each section, by heading."""
    parts = re.split(rf"^{level}(.*)$", text, flags=re.M)
    return [("", parts[0])] + list(zip(parts[1::2], parts[2::2]))


def pattern_of(output):
    """The output may have more lines around the printed ones; lines are compared without blanks at their ends."""
    lines = [r"[^\n]*".join(map(re.escape, line.rstrip().split("…"))) for line in output.rstrip("\n").split("\n")]
    return re.compile("^" + "\n".join(lines) + "$", re.M)


class Page:
    """A page that is being followed in a folder, with what it has left running."""

    def __init__(self, folder, binary):
        self.folder, self.running, self.ports, self.held = pathlib.Path(folder), [], {}, []
        bin_folder = self.folder / ".bin"
        bin_folder.mkdir(parents=True)
        (bin_folder / "freshet").symlink_to(pathlib.Path(binary).resolve())
        self.shell_state = self.folder / ".shell"
        self.environment = dict(os.environ, PATH=f"{bin_folder}:{os.environ['PATH']}", PYTHONUNBUFFERED="1")
        where = f"127.0.0.1:{self.port_for('7070')}"
        self.environment.update(FRESHET_URL=f"http://{where}", FRESHET_LISTEN=where)

    def port_for(self, printed):
        if printed not in self.ports:
            with socket.create_server(("127.0.0.1", 0)) as free:
                self.ports[printed] = str(free.getsockname()[1])
        return self.ports[printed]

    def own(self, text):
        """The text with this page's ports, and with the files that ship where the sources have them."""
        return PORTS.sub(lambda port: self.port_for(port[1]), text).replace("/usr/share/freshet/", f"{SOURCES}/")

    def follow(self, text):
        blocks = blocks_of(text)
        for (language, words, code, line), after in zip(blocks, [*blocks[1:], None]):
            code = self.own(code)
            expected = after and after[0] == "text" and pattern_of(self.own(after[2]))
            try:
                self.carry_out(language, words, code, expected or None)
            except (Wrong, OSError, subprocess.TimeoutExpired) as error:
                raise Wrong(f"line {line}: {code}\n{error}\n{self.said()}") from error

    def carry_out(self, language, words, code, expected):
        if language in SAVED and len(words) == 1:
            file = self.folder / words[0]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(code)
        elif language == "sh" and not words:
            self.check(self.run(code), expected)
        elif language == "sh" and words == ["daemon"]:
            self.start(code, expected)
        elif language == "sh" and words == ["until"]:
            self.repeat(code, expected)
        elif language != "text":
            raise Wrong(f"'```{language} {' '.join(words)}' is not known: see tests/faults/printed.py")

    def run(self, code):
        """Exported variables and the shell's folder stay for the next block."""
        state = f"[ -f {self.shell_state} ] && . {self.shell_state}\n"
        keep = f"\n{{ export -p; echo cd \"$(pwd)\"; }} > {self.shell_state}\n"
        return subprocess.run(["bash", "-c", f"{state}set -eu -o pipefail\n{code}{keep}"], cwd=self.folder, env=self.environment,
                              capture_output=True, text=True, timeout=PATIENCE)

    @staticmethod
    def check(run, expected):
        if run.returncode != 0:
            raise Wrong(f"status {run.returncode}\n{run.stdout}{run.stderr}")
        if expected and not expected.search("\n".join(line.rstrip() for line in run.stdout.splitlines())):
            raise Wrong(f"it printed\n{run.stdout}{run.stderr}\nand not\n{expected.pattern}")

    def repeat(self, code, expected):
        end = time.monotonic() + PATIENCE
        while True:
            try:
                return self.check(self.run(code), expected)
            except Wrong:
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)

    def start(self, code, expected):
        log = self.folder / f".background-{len(self.running)}"
        state = f"[ -f {self.shell_state} ] && . {self.shell_state}\n"
        with open(log, "wb") as out:
            process = subprocess.Popen(["bash", "-c", state + code], cwd=self.folder, env=self.environment, stdout=out,
                                       stderr=subprocess.STDOUT, start_new_session=True)
        self.running.append((process, log))
        end = time.monotonic() + PATIENCE
        while True:
            said = "\n".join(line.rstrip() for line in log.read_text(errors="replace").splitlines())
            if expected.search(said) if expected else "\n" in log.read_text(errors="replace"):
                return
            if process.poll() is not None:
                raise Wrong(f"it ended with {process.returncode}: {said}")
            if time.monotonic() > end:
                raise Wrong(f"it printed\n{said}\nand not\n{expected.pattern if expected else 'a line'}")
            time.sleep(0.02)

    def said(self):
        return "\n".join(f"--- {log.name}\n{log.read_text(errors='replace')[-2000:]}" for _, log in self.running)

    def close(self):
        for process, _ in reversed(self.running):
            for kind in (signal.SIGTERM, signal.SIGKILL):
                try:
                    os.killpg(process.pid, kind)
                    process.wait(40)
                    break
                except ProcessLookupError:
                    break
                except subprocess.TimeoutExpired:
                    continue
