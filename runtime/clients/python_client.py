"""Freshet's runtime client for python3* functions.

It loads the handler that _HANDLER names (MODULE.FUNCTION, from LAMBDA_TASK_ROOT) and works off one event after the
other from the Runtime API at AWS_LAMBDA_RUNTIME_API. It gets its own text on standard input, so there is no file of it.
Where the official client is installed (awslambdaric) it starts that instead.
"""
import importlib
import importlib.util
import json
import logging
import os
import runpy
import socket
import sys
import time
import traceback

MAX_RESPONSE_BYTES = 6 * 1024 * 1024
OWN_FILE = "freshet/python_client.py"


class Api:
    """The Runtime API over one kept connection, which is all that a process has."""

    def __init__(self, address):
        self.address = address
        host, port = address.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.received = b""

    def _request(self, method, path, body=b"", error_type=None):
        head = f"{method} /2018-06-01/runtime/{path} HTTP/1.1\r\nHost: {self.address}\r\n"
        if error_type:
            error_type = "".join(c if " " <= c <= "~" else "?" for c in error_type)
            head += f"Lambda-Runtime-Function-Error-Type: {error_type}\r\n"
        if method == "POST":
            head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        return head.encode() + b"\r\n" + body

    def _more(self):
        part = self.socket.recv(262144)
        if not part:
            raise SystemExit("the Runtime API has closed the connection")
        self.received += part

    def _answer(self):
        while True:
            while b"\r\n\r\n" not in self.received:
                self._more()
            head, self.received = self.received.split(b"\r\n\r\n", 1)
            lines = head.decode("latin-1").split("\r\n")
            status = int(lines[0].split(" ")[1])
            if status >= 200:
                break
        headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        length = int(headers.get("content-length", 0))
        while len(self.received) < length:
            self._more()
        body, self.received = self.received[:length], self.received[length:]
        return status, headers, body

    def next(self, answer=b""):
        """Sends what answers the last event, if there is one, and with it the call for the next: one way less."""
        self.socket.sendall(answer + self._request("GET", "invocation/next"))
        if answer:
            self._answer()
        status, headers, body = self._answer()
        if status != 200:
            raise SystemExit(f"the Runtime API answered {status}: {body.decode(errors='replace')}")
        return headers, body

    def response(self, request_id, body):
        return self._request("POST", f"invocation/{request_id}/response", body)

    def error(self, request_id, document):
        return self._request("POST", f"invocation/{request_id}/error", encode(document), document["errorType"])

    def init_error(self, document):
        self.socket.sendall(self._request("POST", "init/error", encode(document), document["errorType"]))
        self._answer()


class Encoder(json.JSONEncoder):
    def default(self, value):
        if type(value).__name__ == "Decimal":
            return float(value)
        return super().default(value)


def encode(value):
    """Half characters, which no JSON text may hold, become question marks."""
    return json.dumps(value, cls=Encoder, ensure_ascii=False).encode("utf-8", "replace")


class ClientError(Exception):
    """An error of the client itself, with the error's type."""

    def __init__(self, error_type, message):
        super().__init__(message)
        self.error_type = error_type


def message_of(error):
    """str(error). That is code of the function, which may fail, too."""
    try:
        return str.__str__(str(error))  # The result may be of a class with more such code.
    except Exception as second:  # pylint: disable=broad-except
        return f"<str() of the {type(error).__name__} raised {type(second).__name__}>"


def frames_of(error):
    """Where it was raised; frames of this client are left out."""
    try:
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != OWN_FILE]
        return traceback.format_list(frame for frame in frames if not frame.filename.startswith("<frozen importlib"))
    except Exception:  # pylint: disable=broad-except
        return []  # It reads files of the function, whatever is in them.


def error_document(error, request_id=None):
    """As the service makes it."""
    document = {
        "errorMessage": message_of(error),
        "errorType": error.error_type if isinstance(error, ClientError) else type(error).__name__,
        "stackTrace": frames_of(error),
    }
    if request_id:
        document["requestId"] = request_id
    text = f"[ERROR] {document['errorType']}: {document['errorMessage']}\n"
    if document["stackTrace"]:
        text += "Traceback (most recent call last):\n" + "".join(document["stackTrace"])
    show(text)
    return document


def show(text):
    """To the log. What a function has made of its output must not keep its error from the caller."""
    try:
        print(text.encode("utf-8", "backslashreplace").decode(), end="", flush=True)
    except Exception:  # pylint: disable=broad-except
        pass


class Fields:
    """An object with one attribute for each of `names`, None where `values` has none."""

    def __init__(self, names, values):
        for name in names:
            setattr(self, name, values.get(name))


def client_context(headers):
    """The caller's description of itself, as the service shows it; or None."""
    if "lambda-runtime-client-context" not in headers:
        return None
    context = Fields(("custom", "env", "client"), json.loads(headers["lambda-runtime-client-context"]))
    if isinstance(context.client, dict):
        context.client = Fields(("installation_id", "app_title", "app_version_name", "app_version_code",
                                 "app_package_name"), context.client)
    return context


def identity(headers):
    """The caller's Cognito identity: there is no Cognito here, unless the header has one."""
    given = json.loads(headers.get("lambda-runtime-cognito-identity", "{}"))
    return Fields(("cognito_identity_id", "cognito_identity_pool_id"),
                  {"cognito_identity_id": given.get("cognitoIdentityId"),
                   "cognito_identity_pool_id": given.get("cognitoIdentityPoolId")})


class Context:
    """The context of an invocation, for the handler."""

    def __init__(self, headers):
        self.aws_request_id = headers["lambda-runtime-aws-request-id"]
        self.invoked_function_arn = headers["lambda-runtime-invoked-function-arn"]
        self.function_name = os.environ["AWS_LAMBDA_FUNCTION_NAME"]
        self.function_version = os.environ["AWS_LAMBDA_FUNCTION_VERSION"]
        self.memory_limit_in_mb = os.environ["AWS_LAMBDA_FUNCTION_MEMORY_SIZE"]
        self.log_group_name = os.environ["AWS_LAMBDA_LOG_GROUP_NAME"]
        self.log_stream_name = os.environ["AWS_LAMBDA_LOG_STREAM_NAME"]
        self.client_context = client_context(headers)
        self.identity = identity(headers)
        self._deadline = int(headers["lambda-runtime-deadline-ms"])

    def get_remaining_time_in_millis(self):
        return max(self._deadline - int(time.time() * 1000), 0)

    def log(self, message):
        sys.stdout.write(str(message))

    def __repr__(self):
        return f"LambdaContext([aws_request_id={self.aws_request_id},function_name={self.function_name}])"


class RequestIds(logging.Filter):
    current = ""

    def filter(self, record):
        record.aws_request_id = RequestIds.current
        return True


def set_up_logging():
    """The root logger writes to standard output, as functions expect."""
    handler = logging.StreamHandler(sys.stdout)
    form = logging.Formatter("[%(levelname)s]\t%(asctime)s.%(msecs)03dZ\t%(aws_request_id)s\t%(message)s",
                             "%Y-%m-%dT%H:%M:%S")
    form.converter = time.gmtime
    handler.setFormatter(form)
    handler.addFilter(RequestIds())
    logging.getLogger().addHandler(handler)


class EndpointFinder:
    """botocore before 1.31 does not look at AWS_ENDPOINT_URL: when it is imported, it learns to."""

    def find_spec(self, name, path=None, target=None):
        if name != "botocore.session":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def exec_module(module):
                load(module)
                teach_endpoints(module)

            spec.loader.exec_module = exec_module
        return spec


def teach_endpoints(module):
    version = [int(part) for part in sys.modules["botocore"].__version__.split(".")[:2]]
    if version >= [1, 31]:
        return
    create_client = module.Session.create_client
    names = {"dynamodbstreams": "DYNAMODB_STREAMS"}

    def create_client_there(self, service_name, region_name=None, api_version=None, use_ssl=True, verify=None,
                            endpoint_url=None, *rest, **named):
        if endpoint_url is None:
            service = names.get(service_name, service_name.upper().replace("-", "_"))
            endpoint_url = os.environ.get("AWS_ENDPOINT_URL_" + service) or os.environ.get("AWS_ENDPOINT_URL")
        return create_client(self, service_name, region_name, api_version, use_ssl, verify, endpoint_url, *rest,
                             **named)

    module.Session.create_client = create_client_there


def start_official(handler):
    """Becomes `python3 -m awslambdaric HANDLER` if that is installed and wanted; comes back if not."""
    wanted = os.environ.get("FRESHET_RUNTIME_CLIENT", "auto")
    if wanted == "own":
        return
    if importlib.util.find_spec("awslambdaric") is None:
        if wanted == "auto":
            return
        raise ClientError("Runtime.ClientNotFound", f"FRESHET_RUNTIME_CLIENT is {wanted}, but there is no awslambdaric in "
                          f"{os.environ['LAMBDA_TASK_ROOT']} or the interpreter's own folders")
    sys.argv = ["awslambdaric", handler]
    try:
        runpy.run_module("awslambdaric", run_name="__main__", alter_sys=True)
    except Exception as error:
        raise ClientError("Runtime.ClientNotStarted", "awslambdaric has failed (FRESHET_RUNTIME_CLIENT=own does without "
                          "it): " + message_of(error)) from error
    sys.exit(0)


def warn_of_another_version():
    """A function may ask for python3.9 where only another Python is there."""
    wanted = os.environ.get("AWS_EXECUTION_ENV", "").partition("AWS_Lambda_")[2]
    here = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    if wanted not in ("", "python3", here):
        print(f"WARNING: Runtime {wanted} is not on PATH; this function runs on {here} ({sys.executable})", file=sys.stderr)


def keep_trace_in_one_place():
    """Each invocation has a trace id of its own in the environment, and the C library never gives back what a variable
    once held (setenv(3)). putenv(3) of one buffer, written anew each time, takes no more memory than that buffer.
    os.environ sets variables by os.putenv.
    """
    try:
        import ctypes
        libc = ctypes.CDLL(None)
    except (ImportError, OSError):
        return
    put = os.putenv
    place = ctypes.create_string_buffer(2048)
    # The environment is read until the very end of the process, when Python has taken its objects apart.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(place))

    def putenv(name, value):
        text = b"_X_AMZN_TRACE_ID=" + os.fsencode(value) + b"\0"
        if os.fsencode(name) != b"_X_AMZN_TRACE_ID" or b"\0" in text[:-1] or len(text) > len(place):
            put(name, value)
            return
        ctypes.memmove(place, text, len(text))
        libc.putenv(place)

    os.putenv = putenv


def load_handler(name):
    module_name, dot, function_name = name.rpartition(".")
    if not dot:
        raise ClientError("Runtime.MalformedHandlerName", f"Bad handler '{name}': it is MODULE.FUNCTION")
    try:
        module = importlib.import_module(module_name.replace("/", "."))
    except ImportError as error:
        raise ClientError("Runtime.ImportModuleError",
                          f"Unable to import module '{module_name}': {message_of(error)}") from error
    except SyntaxError as error:
        raise ClientError("Runtime.UserCodeSyntaxError",
                          f"Syntax error in module '{module_name}': {message_of(error)}") from error
    handler = getattr(module, function_name, None)
    if handler is None:
        raise ClientError("Runtime.HandlerNotFound", f"Handler '{function_name}' missing on module '{module_name}'")
    return handler


def invoke(api, handler, headers, body):
    """The bytes that answer this event."""
    request_id = RequestIds.current = headers["lambda-runtime-aws-request-id"]
    if "lambda-runtime-trace-id" in headers:
        os.environ["_X_AMZN_TRACE_ID"] = headers["lambda-runtime-trace-id"]
    else:
        os.environ.pop("_X_AMZN_TRACE_ID", None)
    try:
        result = handler(json.loads(body), Context(headers))
        try:
            text = encode(result)
        except (TypeError, ValueError) as error:
            raise ClientError("Runtime.MarshalError", "Unable to marshal response: " + message_of(error)) from error
        if len(text) > MAX_RESPONSE_BYTES:
            raise ClientError("Function.ResponseSizeTooLarge", f"Response payload size ({len(text)} bytes) exceeded "
                              f"maximum allowed payload size ({MAX_RESPONSE_BYTES} bytes)")
        answer = api.response(request_id, text)
    except Exception as error:  # pylint: disable=broad-except
        answer = api.error(request_id, error_document(error, request_id))
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:  # pylint: disable=broad-except
            pass  # The function has closed it, or put something else in its place.
    return answer


def main():
    sys.path[0] = os.environ["LAMBDA_TASK_ROOT"]
    sys.stdout.reconfigure(line_buffering=True)
    warn_of_another_version()
    sys.meta_path.insert(0, EndpointFinder())
    keep_trace_in_one_place()
    problem = None
    try:
        start_official(os.environ["_HANDLER"])
    except ClientError as error:
        problem = error
    set_up_logging()
    api = Api(os.environ["AWS_LAMBDA_RUNTIME_API"])
    try:
        if problem:
            raise problem
        handler = load_handler(os.environ["_HANDLER"])
    except Exception as error:  # pylint: disable=broad-except
        api.init_error(error_document(error))
        sys.exit(1)
    answer = b""
    while True:
        headers, body = api.next(answer)
        answer = invoke(api, handler, headers, body)


main()
