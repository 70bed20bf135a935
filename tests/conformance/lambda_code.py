"""Archives of functions for the tests of the Lambda API."""
import io
import warnings
import zipfile

ROLE = "arn:aws:iam::000000000000:role/any"


def archive(**files):
    """A ZIP archive of text files; `bootstrap` may be executed."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for name, text in files.items():
            entry = zipfile.ZipInfo(name.replace("__", "/") + ("" if name == "bootstrap" else ".py"))
            entry.external_attr = (0o755 if name == "bootstrap" else 0o644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            made.writestr(entry, text)
    return out.getvalue()


def answering(value):
    return archive(app=f"import helper.tools\ndef handler(event, context):\n    return [{value!r}, helper.tools.twice(event)]\n",
                   helper__tools="def twice(event):\n    return event['n'] * 2\n")


def twice(name):
    """An archive that names the same file twice."""
    out = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(out, "w") as made:
        warnings.simplefilter("ignore")
        made.writestr(name, "1")
        made.writestr(name, "2")
    return out.getvalue()
