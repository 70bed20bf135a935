#!/usr/bin/env python3
"""The packages of ./package.sh, installed into clean systems and used as the README and docs/operations.md say.

The systems are made by debootstrap (kept in build/package/systems) and entered by chroot, each daemon in a network of its
own, so that it has the port 7070. That needs root and a mirror of Debian: without them the test is SKIPPED, and says so.
"""
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/faults"))
from printed import blocks_of, sections_of  # noqa: E402
PACKAGES = ROOT / "build/package"
SYSTEMS = PACKAGES / "systems"
MOST_SECONDS_TO_FIRST_SUCCESS = 60  # From the installation on, with a machine that others use, too.
MOST_PROGRAM, MOST_INSTALLED = 12 << 20, 13 << 20
SKIPPED = 77


def run(argv, **options):
    options.setdefault("timeout", 600)
    return subprocess.run([str(a) for a in argv], capture_output=True, text=True, **options)


def done(argv, **options):
    result = run(argv, **options)
    assert result.returncode == 0, f"{argv}: {result.returncode}\n{result.stdout[-3000:]}\n{result.stderr[-3000:]}"
    return result.stdout


def one(pattern):
    found = sorted(PACKAGES.glob(pattern))
    assert len(found) == 1, f"{pattern}: {found}; ./package.sh makes it"
    return found[0]


def mirror():
    """Where this machine has its own packages from."""
    uris = done(["apt-get", "indextargets", "--format", "$(REPO_URI) $(CODENAME) $(COMPONENT)", "Created-By: Packages"])
    for line in uris.splitlines():
        uri, codename, component = line.split(" ")
        if codename == "bookworm" and component == "main":
            return uri
    return None


def why_not():
    if os.geteuid() != 0:
        return "only root can make a system"
    for program in ("debootstrap", "unshare", "ip", "readelf", "objdump"):
        if not shutil.which(program):
            return f"{program} is not installed"
    if run(["unshare", "--net", "--pid", "--fork", "true"]).returncode != 0:
        return "unshare may not make a network here"
    if not mirror():
        return "apt knows no mirror of Debian 12 (apt-get update)"
    return None


def base_system(release):
    base = SYSTEMS / release
    if not base.exists():
        part = SYSTEMS / f"{release}.part"
        shutil.rmtree(part, ignore_errors=True)
        part.parent.mkdir(parents=True, exist_ok=True)
        made = run(["debootstrap", "--variant=minbase", release, part, mirror()], timeout=800)
        if made.returncode != 0:
            raise unittest.SkipTest(f"debootstrap cannot make {release}: {made.stdout[-500:]}")
        part.rename(base)
    return base


class System:
    """A clean system of a release, thrown away at the end."""

    def __init__(self, release):
        base = base_system(release)
        self.folder = tempfile.TemporaryDirectory(prefix=f"freshet-{release}-")
        self.root = pathlib.Path(self.folder.name) / "root"
        done(["cp", "-a", "--reflink=auto", base, self.root])
        shutil.copy("/etc/resolv.conf", self.root / "etc/resolv.conf")
        for file in pathlib.Path("/etc/apt/apt.conf.d").glob("*proxy*"):
            shutil.copy(file, self.root / "etc/apt/apt.conf.d")

    def close(self):
        self.folder.cleanup()

    def inside(self, command, *more):
        # Processes of its own: what the command leaves running ends with it.
        argv = ["unshare", "--pid", "--fork", "--kill-child", f"--mount-proc={self.root}/proc", *more, "bash", "-c",
                f"{command}", "bash", self.root]
        result = run(argv)
        assert result.returncode == 0, f"{command}: {result.returncode}\n{result.stdout[-4000:]}\n{result.stderr[-4000:]}"
        return result

    def sh(self, script):
        return self.inside(f'exec chroot "$1" sh -euc {shlex.quote(script)}')

    def install(self, *packages):
        self.sh("export DEBIAN_FRONTEND=noninteractive; apt-get update -qq; "
                f"apt-get install -y -qq --no-install-recommends {' '.join(packages)}")

    def session(self, script):
        """Runs a bash script in a network of its own, where nothing else listens."""
        return self.inside(f'ip link set lo up; exec chroot "$1" bash -euo pipefail -c {shlex.quote(script)}', "--net").stdout


# Waits for the daemon, or says why it ended.
UNTIL_READY = """until freshet stats >/dev/null 2>&1; do
  kill -0 $daemon 2>/dev/null || { cat /tmp/daemon.log; exit 1; }
  sleep 0.05
done
"""


# As the fixture's first lines say.
BURST = ("freshet replay streams/fixtures/burst.jsonl --expect streams/fixtures/burst.expected.jsonl "
         + " ".join(f"--set ProcessTasksFunction.{setting}" for setting in ("TASK_RUNNER=fake", "CONCURRENCY=2", "FAKE_MS=1000")))


def commands_of(page, heading):
    section = (ROOT / page).read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return [line[4:] for line in section.splitlines() if line.startswith("    ")]


class Debian(unittest.TestCase):
    """The Debian package."""

    @classmethod
    def setUpClass(cls):
        cls.system = System("bookworm")
        cls.addClassCleanup(cls.system.close)
        cls.deb = one("freshet_*.deb")
        shutil.copy(cls.deb, cls.system.root / "tmp")
        cls.system.install(f"/tmp/{cls.deb.name}", "python3")

    def test_it_is_small_and_whole(self):
        size = sum(1024 * ((file.lstat().st_size + 1023) // 1024) for file in map(self.path, self.files()) if file.is_file())
        self.assertLessEqual(size, MOST_INSTALLED)
        self.assertLessEqual(self.path("/usr/bin/freshet").stat().st_size, MOST_PROGRAM)
        self.assertNotIn(".symtab", done(["readelf", "-SW", self.path("/usr/bin/freshet")]))
        self.assertEqual(self.system.sh("dpkg -V freshet").stdout, "")
        for file in ("/usr/share/man/man1/freshet-put.1.gz", "/usr/share/bash-completion/completions/freshet",
                     "/usr/share/zsh/vendor-completions/_freshet", "/usr/share/fish/vendor_completions.d/freshet.fish",
                     "/usr/share/doc/freshet/copyright", "/usr/share/doc/freshet/LICENSE", "/usr/share/doc/freshet/changelog.gz",
                     "/usr/share/doc/freshet/docs/operations.md", "/usr/share/freshet/config/alerts.yaml",
                     "/usr/share/freshet/config/grafana/freshet.json", "/etc/freshet/freshet.conf", "/etc/freshet/template.yaml"):
            self.assertIn(file, self.files())
        self.assertEqual(self.system.sh("dpkg-query -W -f '${Conffiles}' freshet").stdout.count("/etc/freshet/"), 2)

    def path(self, file):
        return self.system.root / file.lstrip("/")

    def files(self):
        return self.system.sh("dpkg -L freshet").stdout.split()

    def test_versions_agree(self):
        version = re.search(r"project\(freshet VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
        self.assertEqual(self.system.sh("dpkg-query -W -f '${Version}' freshet").stdout, version)
        self.assertEqual(self.system.sh("freshet --version").stdout, version + "\n")
        self.assertRegex((ROOT / "CHANGELOG.md").read_text(), rf"(?m)^## \[{re.escape(version)}\]")

    def service(self):
        """The command of the unit, as systemd would start it."""
        unit = self.path("/lib/systemd/system/freshet.service").read_text()
        command = re.search(r"^ExecStart=(.*)$", unit, re.M).group(1)
        return command.replace("${CREDENTIALS_DIRECTORY}", "/etc/freshet").replace("%S", "/var/lib")

    def test_the_first_minute(self):
        commands = commands_of("docs/operations.md", "Install")
        for command in ("freshet put", "freshet stats", "freshet list"):
            self.assertTrue(any(line.startswith(command) for line in commands), command)
        client = "\n".join(line for line in commands if line.startswith("freshet "))
        handler = next(line for line in commands if "handler.py" in line)
        runner = re.search(r"'(parameter = TaskRunner=\S+)'", "\n".join(commands)).group(1)
        said = self.session_of(f"""
            echo '{runner}' >> /etc/freshet/freshet.conf
            {self.service()} >/tmp/daemon.log 2>&1 & daemon=$!
            {handler} >/tmp/handler.log 2>&1 & handler=$!
            {UNTIL_READY}
            {client}
            until freshet list --state SUCCESS --json | grep -q delivered; do sleep 0.05; done
            freshet stats
            echo METRIC; python3 -c 'import urllib.request
            print(urllib.request.urlopen("http://127.0.0.1:7070/metrics").read().decode())' | grep '^freshet_build_info'
            kill $handler; kill $daemon; wait $daemon
            """)
        self.assertRegex(said, r"SUCCESS\s+1\b")
        self.assertRegex(said, r'freshet_build_info\{version="[\d.]+"\} 1')

    def session_of(self, script):
        return self.system.session(re.sub(r"(?m)^ {12}", "", script))

    def test_first_success(self):
        """From installing the package to the first SUCCESS, with README's first commands as they are printed."""
        system = System("bookworm")
        self.addCleanup(system.close)
        system.install("python3")
        shutil.copy(self.deb, system.root / "tmp")
        begun = time.monotonic()
        system.install(f"/tmp/{self.deb.name}")
        first = dict(sections_of((ROOT / "README.md").read_text()))[""]
        script = "cd /root\n"
        for language, words, code, _ in blocks_of(first):
            if language != "sh":
                continue
            if words == ["daemon"]:
                script += f"({code}) > /tmp/said.log 2>&1 &\n"
                script += "until freshet stats --queue emails >/dev/null 2>&1; do sleep 0.05; done\n"
            elif words == ["until"]:
                script += f"until {code.strip()} | grep SUCCESS; do sleep 0.05; done\n"
            else:
                script += code
        self.assertIn("ada@example.com", system.session(script))
        self.assertLess(time.monotonic() - begun, MOST_SECONDS_TO_FIRST_SUCCESS)

    def test_the_demo(self):
        demo = next(line for line in commands_of("README.md", "Install") if "freshet demo" in line)
        said = self.system.session(demo + " --seconds 20 --against bullmq 2>&1")
        self.assertIn("(adds up)", said)
        # The rivals' scripts come with the package, what they need does not.
        self.assertIn("bullmq needs what is not installed: apt-get install redis-server nodejs npm", said)

    def test_what_ships_is_found_from_anywhere(self):
        said = self.session_of("""
            cd /
            BURST
            freshet ordered replay streams/fixtures/ordered-ratings.jsonl --expect streams/fixtures/ordered-ratings.expected.jsonl \
              --definition streams/fixtures/ordered-ratings.json
            for options in config/lifo.yaml config/lifo-sample.yaml "--priority-queue config/priority-queue.json" \
              "--filtered-queue config/filtered-queue.json" "--ordered-writes config/ordered-writes.json"; do
              freshet run $options --data :memory: --ready-file /tmp/ready >/tmp/daemon.log 2>&1 & daemon=$!
              until [ -s /tmp/ready ]; do kill -0 $daemon || { cat /tmp/daemon.log; exit 1; }; sleep 0.05; done
              kill $daemon; wait $daemon; rm -f /tmp/ready; echo "SERVED $options"
            done
            """.replace("BURST", BURST))
        self.assertEqual(said.count("SERVED"), 5, said)

    def test_completions_and_pages(self):
        said = self.system.sh("bash -c '. /usr/share/bash-completion/completions/freshet; complete -p freshet'; "
                              "zcat /usr/share/man/man1/freshet-run.1.gz | head -3").stdout
        self.assertIn("complete -F _freshet freshet", said)
        self.assertIn(".TH FRESHET", said)

    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd is not installed")
    def test_the_unit(self):
        # The unit's program has to be there: it is looked for on this machine, so it is named by its place here.
        unit = self.path("/lib/systemd/system/freshet.service").read_text()
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "freshet.service"
            file.write_text(unit.replace("ExecStart=/usr/bin/freshet", f"ExecStart={self.path('/usr/bin/freshet')}"))
            verified = run(["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", file])
            self.assertEqual((verified.returncode, verified.stderr), (0, ""))
            security = done(["systemd-analyze", "security", "--offline=true", "--no-pager", file])
        exposure = float(re.search(r"Overall exposure level for freshet.service: ([\d.]+)", security).group(1))
        self.assertLessEqual(exposure, 1.9)
        self.assertNotIn("/usr/local", unit)

    def test_z_purge_leaves_only_the_data(self):
        self.system.sh("mkdir -p /var/lib/freshet; touch /var/lib/freshet/LOCK")
        files = [file for file in self.files() if self.path(file).is_file()]
        said = self.system.sh("DEBIAN_FRONTEND=noninteractive apt-get purge -y -qq freshet")
        self.assertIn("still in /var/lib/freshet", said.stdout + said.stderr)
        self.assertEqual([file for file in files if self.path(file).exists()], [])
        self.assertFalse(self.path("/etc/freshet").exists())
        self.assertTrue(self.path("/var/lib/freshet/LOCK").exists())


class Archive(unittest.TestCase):
    """The archive, whose program runs on systems of other versions."""

    def setUp(self):
        if not list(PACKAGES.glob("freshet-*.tar.gz")):
            print("SKIPPED: the archive's tests: ./package.sh archive could not make it here", file=sys.stderr)
            self.skipTest("there is no archive")

    def program(self, folder):
        done(["tar", "-C", folder, "--strip-components=1", "-xzf", one("freshet-*.tar.gz")])
        return pathlib.Path(folder) / "bin/freshet"

    def test_what_it_needs_of_a_system(self):
        with tempfile.TemporaryDirectory() as folder:
            program = self.program(folder)
            needed = re.findall(r"\(NEEDED\).*\[(.*)\]", done(["readelf", "-dW", program]))
            symbols = done(["objdump", "-T", program])
            self.assertIn("GCC Runtime Library Exception",
                          (pathlib.Path(folder) / "share/doc/freshet/licences/libgcc-12-dev").read_text().replace("\n", " "))
        self.assertLessEqual(set(needed), {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2", "libssl.so.3", "libcrypto.so.3", "libz.so.1"})
        self.assertNotIn("GLIBCXX_", symbols)
        versions = {tuple(map(int, v.split("."))) for v in re.findall(r"GLIBC_([\d.]+)", symbols)}
        # Debian 12 has 2.36, Ubuntu 24.04 2.39, Debian 13 2.41. All have OpenSSL 3.
        self.assertLessEqual(max(versions), (2, 36))
        self.assertLessEqual(set(re.findall(r"OPENSSL_([\d.]+)", symbols)), {"3.0.0"})

    def check(self, release, *packages):
        system = System(release)
        self.addCleanup(system.close)
        system.install(*packages)
        self.program(system.root / "usr/local")
        said = system.session(r"""
cd /
freshet run config/lifo.yaml --data /var/lib/freshet >/tmp/daemon.log 2>&1 & daemon=$!
""" + UNTIL_READY + r"""
freshet put '{"event": "delivered", "parcel": "FR1"}' --ttl 600
freshet stats
""" + BURST + """
kill $daemon; wait $daemon
""")
        self.assertRegex(said, r"PENDING\s+1\b")

    def test_debian_12(self):
        self.check("bookworm", "libssl3", "zlib1g", "ca-certificates")

    def test_debian_13(self):
        self.check("trixie", "libssl3t64", "zlib1g", "ca-certificates")


class Container(unittest.TestCase):
    """The steps of the Containerfile's second stage, in a system: no container tool is needed."""

    def test_the_second_stage(self):
        text = (ROOT / "Containerfile").read_text().replace("\\\n", " ")
        build, runtime = re.split(r"(?m)^FROM ", text)[1:]
        self.assertRegex(build, r"(?m)^RUN .*\./package\.sh deb")
        system = System("bookworm")
        self.addCleanup(system.close)
        settings = {}
        for line in runtime.splitlines()[1:]:
            word, _, rest = line.partition(" ")
            if word == "COPY":
                source, target = rest.removeprefix("--from=build ").split()
                self.assertTrue(source.startswith("/freshet/build/package/"), source)
                shutil.copy(one(source.removeprefix("/freshet/build/package/")), system.root / target.lstrip("/"))
            elif word == "RUN":
                system.sh(rest)
            elif word and not word.startswith("#"):
                settings[word] = rest
        command = json.loads(settings["ENTRYPOINT"]) + json.loads(settings["CMD"])
        user = settings["USER"]
        said = system.session(f"setpriv --reuid={user} --regid={user} --clear-groups {shlex.join(command)} >/tmp/daemon.log 2>&1 & daemon=$!\n" + UNTIL_READY +
                              "freshet put '{}'\nfreshet stats\nkill $daemon\nwait $daemon")
        self.assertRegex(said, r"PENDING\s+1\b")


if __name__ == "__main__":
    if reason := why_not():
        print(f"SKIPPED: package.install: {reason}")
        sys.exit(SKIPPED)
    print("SKIPPED: package.install on Ubuntu 24.04: its archive is not among Debian's mirrors; the symbol versions speak for it",
          file=sys.stderr)
    unittest.main()
