"""The clients of config/clients.txt: whether ./test.sh has installed them, and how their programs are built and run."""
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILE = ROOT / "config" / "clients.txt"
CLIENTS = ROOT / "build" / "clients"
SKIPPED = 77  # ctest's exit status for a suite that is skipped; it lists such suites by name.
COMPILE_SECONDS = 300
STOP_SECONDS = 20


def pins():
    """(registry, folder, package, version) of each line."""
    return [tuple(line.split()) for line in FILE.read_text().splitlines() if line and not line.startswith("#")]


def folder(registry, place):
    return CLIENTS / f"{place}-{registry}"


def installed(registry, place):
    """True if the folder has the packages that its lines name now."""
    wanted = "".join(f"{package} {version}\n" for of, where, package, version in pins() if (of, where) == (registry, place))
    note = folder(registry, place) / "installed"
    return note.exists() and note.read_text() == wanted


def need(*places, tools=()):
    """Ends the suite as skipped, and says why, if one of the (registry, folder) is not installed or a tool is missing."""
    missing = [f"{registry} {place}" for registry, place in places if not installed(registry, place)]
    missing += [tool for tool in tools if not shutil.which(tool)]
    if missing:
        print(f"SKIPPED: not installed: {', '.join(missing)} (./test.sh installs what can be had)", file=sys.stderr)
        sys.exit(SKIPPED)


def _stale(made, sources):
    return not made.exists() or any(source.stat().st_mtime > made.stat().st_mtime for source in sources)


def java_command(place, name, *options):
    """The command that runs the class `name` of tests/conformance/java/NAME.java with the jars of a folder."""
    jars = folder("maven", place)
    source = ROOT / "tests" / "conformance" / "java" / f"{name}.java"
    classes = jars / "classes"
    if _stale(classes / f"{name}.class", [source]):
        subprocess.run(["javac", "-nowarn", "-cp", f"{jars}/lib/*", "-d", str(classes), str(source)], check=True,
                       timeout=COMPILE_SECONDS)
    # Programs of some seconds: the quick compiler is enough, and one core is left to the daemon.
    return ["java", "-XX:+UseSerialGC", *options, "-cp", f"{classes}:{jars}/lib/*", name]


def go_command(name):
    """The command that runs tests/conformance/go/NAME.go with the modules of the folder `go`."""
    place = folder("go", "go")
    source = ROOT / "tests" / "conformance" / "go" / f"{name}.go"
    made = place / name
    if _stale(made, [source, place / "installed"]):
        (place / name).unlink(missing_ok=True)
        target = place / f"{name}.go"
        shutil.copy(source, target)
        subprocess.run(["go", "build", "-o", str(made), target.name], check=True, cwd=place, timeout=COMPILE_SECONDS)
    return [str(made)]


def python_environment(place, environment=None):
    """The environment in which Debian's Python finds the packages of a folder before its own."""
    return {**(environment or os.environ), "PYTHONPATH": str(folder("pypi", place) / "lib")}


def stop(process):
    """Ends an engine that keeps nothing: it is killed if it does not end by itself."""
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
