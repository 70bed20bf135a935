#!/usr/bin/env python3
"""HTTPS: real clients against a daemon with a certificate. Needs the daemon's binary (FRESHET_BINARY) and openssl."""
import json
import os
import pathlib
import shutil
import ssl
import subprocess
import sys
import tempfile
import unittest
import urllib.request

import boto3
import botocore.config
import botocore.exceptions

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import endpoint  # noqa: E402

HERE = pathlib.Path(__file__).parent
DIRECTORY = tempfile.TemporaryDirectory(prefix="freshet-tls-")
CERTIFICATE, KEY = (str(pathlib.Path(DIRECTORY.name) / name) for name in ("server.crt", "server.key"))
BINARY = os.environ.get("FRESHET_BINARY", str(endpoint.ROOT / "build" / "release" / "freshet"))
SERVER = endpoint.Endpoint("--tls-cert", CERTIFICATE, "--tls-key", KEY)


def setUpModule():
    if not shutil.which("openssl"):
        raise unittest.SkipTest("openssl is not installed")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                    "-subj", "/CN=freshet conformance", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
                    "-out", CERTIFICATE, "-keyout", KEY], check=True, capture_output=True)
    os.chmod(KEY, 0o600)
    SERVER.__enter__()


def tearDownModule():
    if SERVER.process:
        SERVER.__exit__()
    DIRECTORY.cleanup()


class Secure(unittest.TestCase):
    def client(self, verify):
        made = boto3.session.Session().client(
            "dynamodb", endpoint_url=SERVER.url, region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="x",
            verify=verify, config=botocore.config.Config(retries={"max_attempts": 0}))
        self.addCleanup(made.close)
        return made

    def test_a_key_that_everybody_may_read_is_reported(self):
        self.assertNotIn("OPTION_WARNING", pathlib.Path(SERVER.log.name).read_text())
        loose = pathlib.Path(DIRECTORY.name) / "loose.key"
        shutil.copy(KEY, loose)
        for mode, told in ((0o644, True), (0o640, False), (0o602, True)):
            loose.chmod(mode)
            with endpoint.Endpoint("--tls-cert", CERTIFICATE, "--tls-key", str(loose)) as other:
                warnings = [line for line in pathlib.Path(other.log.name).read_text().splitlines() if "OPTION_WARNING" in line]
            self.assertEqual([str(loose) in line for line in warnings], [True] if told else [], oct(mode))

    def test_boto3(self):
        self.assertTrue(SERVER.url.startswith("https://127.0.0.1:"), SERVER.url)
        client = self.client(CERTIFICATE)
        client.create_table(TableName="Secure", BillingMode="PAY_PER_REQUEST",
                            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
                            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}])
        item = {"pk": {"S": "a"}, "text": {"S": "x" * 300_000}}
        client.put_item(TableName="Secure", Item=item)
        for _ in range(20):
            self.assertEqual(client.get_item(TableName="Secure", Key={"pk": {"S": "a"}})["Item"], item)
        client.delete_table(TableName="Secure")
        with self.assertRaises(botocore.exceptions.SSLError):
            self.client(True).list_tables()

    def test_versions(self):
        for version, served in ((ssl.TLSVersion.TLSv1_2, True), (ssl.TLSVersion.TLSv1_3, True), (ssl.TLSVersion.TLSv1_1, False)):
            context = ssl.create_default_context(cafile=CERTIFICATE)
            context.set_ciphers("DEFAULT:@SECLEVEL=0")
            context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
            context.maximum_version = version
            try:
                with urllib.request.urlopen(SERVER.url + "/healthz", context=context, timeout=60) as answer:
                    self.assertEqual((answer.read(), served), (b"ok\n", True))
            except urllib.error.URLError as error:
                self.assertFalse(served, error)

    @unittest.skipUnless(shutil.which("aws"), "the aws CLI is not installed")
    def test_aws_cli(self):
        done = subprocess.run(["aws", "--endpoint-url", SERVER.url, "--ca-bundle", CERTIFICATE, "--output", "json", "dynamodb",
                               "list-tables"], capture_output=True, text=True, env=endpoint.environment(SERVER.url), timeout=120)
        self.assertIn("TableNames", json.loads(done.stdout or "{}"), done.stderr)

    @unittest.skipUnless((pathlib.Path(os.environ.get("FRESHET_NODE_MODULES", "")) / "node_modules/@aws-sdk").is_dir(),
                         "the AWS SDK for JavaScript is not in FRESHET_NODE_MODULES (./test.sh installs it)")
    def test_javascript(self):
        script = """
            import { DynamoDBClient, ListTablesCommand } from "@aws-sdk/client-dynamodb";
            const client = new DynamoDBClient({ endpoint: process.env.AWS_ENDPOINT_URL, region: "us-east-1" });
            console.log(Array.isArray((await client.send(new ListTablesCommand({}))).TableNames));
            client.destroy();"""
        environment = dict(endpoint.environment(SERVER.url), NODE_EXTRA_CA_CERTS=CERTIFICATE)
        done = subprocess.run(["node", "--input-type=module", "-e", script], capture_output=True, text=True,
                              cwd=os.environ["FRESHET_NODE_MODULES"], env=environment, timeout=120)
        self.assertEqual(done.stdout.strip(), "true", done.stderr)

    @unittest.skipUnless(shutil.which("curl"), "curl is not installed")
    def test_curl(self):
        def curl(*arguments):
            return subprocess.run(["curl", "-sS", "--cacert", CERTIFICATE, *arguments], capture_output=True, text=True, timeout=60)

        self.assertEqual(curl(SERVER.url + "/healthz", "--http2").stdout, "ok\n")  # It asks, and takes HTTP/1.1.
        plain = curl(SERVER.url.replace("https", "http") + "/healthz")
        self.assertIn("this port speaks HTTPS: use https:// in the address", plain.stdout)

    def freshet(self, *arguments):
        return subprocess.run([BINARY, *arguments], capture_output=True, text=True, timeout=60,
                              env={k: v for k, v in os.environ.items() if not k.startswith("FRESHET_")})

    def test_freshets_own_command_line(self):
        command = ("stats", "--url", SERVER.url, "--queue", "Q")
        self.assertIn("there is no queue", self.freshet(*command, "--ca", CERTIFICATE).stderr)
        untrusted = self.freshet(*command).stderr
        self.assertIn("certificate", untrusted)
        self.assertIn("--ca FILE", untrusted)
        self.assertNotIn("Is the daemon running?", untrusted)
        self.assertEqual("freshet: this port speaks HTTPS: use https:// in the address\n",
                         self.freshet("stats", "--url", SERVER.url.replace("https", "http")).stderr)
        self.assertIn("cannot use the certificates", self.freshet(*command, "--ca", "/nothing/here").stderr)

    def test_each_reason_to_refuse_a_certificate_has_its_own_remedy(self):
        folder = pathlib.Path(DIRECTORY.name)

        def openssl(*arguments):
            subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True, cwd=folder)

        key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
        openssl("req", "-x509", *key, "-days", 2, "-subj", "/CN=authority", "-addext", "basicConstraints=critical,CA:TRUE", "-out", "ca.crt",
                "-keyout", "ca.key")
        openssl("req", "-x509", *key, "-days", 2, "-subj", "/CN=other", "-out", "other.crt", "-keyout", "other.key")
        for name, names, days in (("old", "DNS:localhost,IP:127.0.0.1", -1), ("elsewhere", "DNS:queue.example,IP:10.1.2.3", 2),
                                  ("good", "DNS:localhost,IP:127.0.0.1", 2)):
            (folder / f"{name}.ext").write_text(f"subjectAltName={names}\n")
            openssl("req", *key, "-subj", f"/CN={name}", "-out", f"{name}.csr", "-keyout", f"{name}.key")
            openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-set_serial", 7, "-days", days, "-extfile",
                    f"{name}.ext", "-out", f"{name}.crt")
        other_ca = folder / "other.crt"
        for name, ca, said, remedy in (
                ("old", "ca.crt", "its certificate expired on ", "The daemon needs a new one (--tls-cert); or is this machine's clock wrong?"),
                ("elsewhere", "ca.crt", "its certificate is for queue.example, 10.1.2.3, and not for 127.0.0.1", "Write such a name into --url"),
                ("good", "other.crt", f"; none of '{other_ca}' has signed it", "--ca FILE"),
                ("good", "ca.crt", "queue", "")):
            with endpoint.Endpoint("--tls-cert", str(folder / f"{name}.crt"), "--tls-key", str(folder / f"{name}.key")) as other:
                said_so = self.freshet("stats", "--url", other.url, "--queue", "Q", "--ca", str(folder / ca)).stderr
                self.assertIn(said, said_so)
                self.assertIn(remedy, said_so)
                self.assertNotIn("Is the daemon running?", said_so)
                if name == "elsewhere":
                    by_name = self.freshet("stats", "--url", other.url.replace("127.0.0.1", "localhost"), "--ca", str(folder / ca)).stderr
                    self.assertIn("and not for localhost", by_name)

    def test_bad_options(self):
        for options, said in ((("--tls-cert", CERTIFICATE), "belong together"),
                              (("--tls-cert", KEY, "--tls-key", KEY), "cannot use the certificate"),
                              (("--tls-cert", CERTIFICATE, "--tls-key", "/nothing"), "cannot use the private key")):
            done = self.freshet("run", "--data", ":memory:", "--listen", "127.0.0.1:0", *options)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(said, done.stderr)


if __name__ == "__main__":
    unittest.main()
