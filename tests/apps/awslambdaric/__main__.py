"""python3 -m awslambdaric MODULE.FUNCTION, in the function's folder."""
import http.client
import importlib
import json
import os
import sys
import types

AGENT = {"User-Agent": "aws-lambda-python/3.11-stand-in", "Content-Type": "application/json"}


class Api:
    def __init__(self):
        self.connection = http.client.HTTPConnection(os.environ["AWS_LAMBDA_RUNTIME_API"])

    def call(self, method, path, document=None, headers=None):
        body = None if document is None else json.dumps(document)
        self.connection.request(method, "/2018-06-01/runtime/" + path, body, {**AGENT, **(headers or {})})
        answer = self.connection.getresponse()
        return answer.headers, answer.read()


def said(headers):
    given = headers.get("Lambda-Runtime-Client-Context")
    if given is None:
        return None
    given = json.loads(given)
    client = types.SimpleNamespace(app_title=given.get("client", {}).get("app_title"))
    return types.SimpleNamespace(custom=given.get("custom"), env=given.get("env"), client=client)


def context_of(headers):
    nobody = types.SimpleNamespace(cognito_identity_id=None, cognito_identity_pool_id=None)
    return types.SimpleNamespace(aws_request_id=headers["Lambda-Runtime-Aws-Request-Id"], client_context=said(headers),
                                 invoked_function_arn=headers["Lambda-Runtime-Invoked-Function-Arn"], identity=nobody)


def failure(error, error_type=None):
    return {"errorMessage": str(error), "errorType": error_type or type(error).__name__, "stackTrace": []}


def main(arguments):
    api = Api()
    sys.path.insert(0, os.getcwd())
    module, _, name = arguments[1].rpartition(".")
    try:
        handler = getattr(importlib.import_module(module), name)
    except ImportError as error:
        document = failure(f"Unable to import module '{module}': {error}", "Runtime.ImportModuleError")
        api.call("POST", "init/error", document, {"Lambda-Runtime-Function-Error-Type": document["errorType"]})
        sys.exit(1)
    while True:
        headers, event = api.call("GET", "invocation/next")
        os.environ["_X_AMZN_TRACE_ID"] = headers.get("Lambda-Runtime-Trace-Id", "")
        path = f"invocation/{headers['Lambda-Runtime-Aws-Request-Id']}/"
        try:
            result = handler(json.loads(event), context_of(headers))
        except Exception as error:  # pylint: disable=broad-except
            api.call("POST", path + "error", failure(error))
        else:
            api.call("POST", path + "response", result)
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv)
