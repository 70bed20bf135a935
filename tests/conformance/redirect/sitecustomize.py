"""On PYTHONPATH: every client of a program that names no endpoint speaks to AWS_ENDPOINT_URL. Debian's boto3 1.26 does not
know that variable yet; programs stay as they are."""
import os

import botocore.session

_create = botocore.session.Session.create_client


def create_client(self, *positional, **named):
    # For both boto3.client and boto3.resource; the latter passes an explicit None.
    if len(positional) < 6 and named.get("endpoint_url") is None and os.environ.get("AWS_ENDPOINT_URL"):
        named["endpoint_url"] = os.environ["AWS_ENDPOINT_URL"]
    return _create(self, *positional, **named)


botocore.session.Session.create_client = create_client
