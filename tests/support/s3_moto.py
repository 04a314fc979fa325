"""An object store that speaks S3: moto, behind a check of every request as real servers make it.

    s3_moto.py [COMMAND [ARGUMENTS…]]    (scripts/s3-server runs it)

moto believes any signature. So each request is looked at first: its hash, its date, its region, who signed it, and whether
botocore, which others wrote, finds the same signature. Keys are refused as MinIO refuses them. The server lives in this
process, and COMMAND dies with it: neither outlives the other.
"""
import ctypes
import datetime
import hashlib
import hmac
import io
import logging
import os
import re
import signal
import subprocess
import sys
import threading
import urllib.parse
import xml.sax.saxutils

from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import make_server
from werkzeug.test import Client

REGION = "us-east-1"
ACCESS_KEY = "REHEARSETESTKEY"
SECRET_KEY = "a/secret+of-the-tests/0123456789"
BUCKET = "rehearse"
MAX_SKEW = 15 * 60  # s, as Amazon has it
PR_SET_PDEATHSIG = 1

STATUS = {400: "400 Bad Request", 403: "403 Forbidden"}


class Refused(Exception):
    """A request that no server would take: status, code, message."""


def signed_headers(environ, names):
    """Those that the signature is said to cover."""
    headers = {}
    for name in names:
        variable = name.upper().replace("-", "_")
        value = environ.get(f"HTTP_{variable}", environ.get(variable))
        if value is None:
            raise Refused(403, "SignatureDoesNotMatch", f"the signed header {name} is not there")
        headers[name] = value
    return headers


def check_coverage(environ, names):
    """The host and all that begins with x-amz- must be signed."""
    sent = {name[5:].lower().replace("_", "-") for name in environ if name.startswith("HTTP_")}
    for name in sent:
        if (name == "host" or name.startswith("x-amz-")) and name not in names:
            raise Refused(403, "AccessDenied", f"There were headers present in the request which were not signed: {name}")


def expected_signature(environ, headers, timestamp):
    """What botocore signs this request with. Path and query are read and encoded anew, as a server does it."""
    path, _, query = environ["RAW_URI"].partition("?")
    path = urllib.parse.quote(urllib.parse.unquote_to_bytes(path), safe="/-_.~")
    params = dict(urllib.parse.parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query)))
    request = AWSRequest(method=environ["REQUEST_METHOD"], url=f"http://{environ['HTTP_HOST']}{path}", headers=headers,
                         params=params)
    request.context["timestamp"] = timestamp
    signer = S3SigV4Auth(Credentials(ACCESS_KEY, SECRET_KEY), "s3", REGION)
    canonical = signer.canonical_request(request)
    return signer.signature(signer.string_to_sign(request, canonical), request)


def check_signature(environ, body):
    found = re.fullmatch(r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/s3/aws4_request, "
                         r"SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})", environ.get("HTTP_AUTHORIZATION", ""))
    if not found:
        raise Refused(403, "AccessDenied", "no signature of version 4")
    access_key, day, region, names, signature = found.groups()
    timestamp = environ.get("HTTP_X_AMZ_DATE", "")
    if access_key != ACCESS_KEY:
        raise Refused(403, "InvalidAccessKeyId", "The AWS Access Key Id you provided does not exist in our records.")
    if region != REGION:
        raise Refused(400, "AuthorizationHeaderMalformed",
                      f"The authorization header is malformed; the region '{region}' is wrong; expecting '{REGION}'")
    if not re.fullmatch(r"\d{8}T\d{6}Z", timestamp) or not timestamp.startswith(day):
        raise Refused(403, "AccessDenied", "no date, or another one than is signed")
    sent = datetime.datetime.strptime(timestamp, "%Y%m%dT%H%M%S%z")
    if abs((datetime.datetime.now(datetime.timezone.utc) - sent).total_seconds()) > MAX_SKEW:
        raise Refused(403, "RequestTimeTooSkewed", "The difference between the request time and the current time is too "
                                                   "large.")
    if environ.get("HTTP_X_AMZ_CONTENT_SHA256") != hashlib.sha256(body).hexdigest():
        raise Refused(400, "XAmzContentSHA256Mismatch", "The provided 'x-amz-content-sha256' header does not match what "
                                                        "was computed.")
    names = names.split(";")
    check_coverage(environ, names)
    if not hmac.compare_digest(expected_signature(environ, signed_headers(environ, names), timestamp), signature):
        raise Refused(403, "SignatureDoesNotMatch", "The request signature we calculated does not match the signature you "
                                                    "provided.")


def check_key(environ):
    """Of the path, with its bucket or without: no part of it is empty, "." or ".."."""
    path = urllib.parse.unquote(environ["RAW_URI"].partition("?")[0])
    parts = path.removeprefix("/").split("/")
    if any(part in ("", ".", "..") for part in parts[:-1]) or parts[-1] in (".", ".."):
        raise Refused(400, "XMinioInvalidObjectName", "Object name contains unsupported characters.")


class Front:
    """The check, then moto, one request after the other."""

    def __init__(self, inner):
        self.inner = inner
        self.lock = threading.Lock()

    def __call__(self, environ, start_response):
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        environ["wsgi.input"] = io.BytesIO(body)
        try:
            check_signature(environ, body)
            check_key(environ)
        except Refused as refused:
            return self.refuse(environ, start_response, *refused.args)
        with self.lock:
            return list(self.inner(environ, start_response))

    @staticmethod
    def refuse(environ, start_response, status, code, message):
        text = xml.sax.saxutils.escape(message)
        body = f'<?xml version="1.0"?><Error><Code>{code}</Code><Message>{text}</Message></Error>'.encode()
        start_response(STATUS[status], [("Content-Type", "application/xml"), ("Content-Length", str(len(body)))])
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [body]


class Handler(MotoRequestHandler):
    disable_nagle_algorithm = True  # an answer is written in pieces


def die_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def run(command, environment):
    """COMMAND's status, as a shell has it."""
    others = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    child = subprocess.Popen(command, env=others | environment, preexec_fn=die_with_parent)

    def pass_on(number, _):
        child.send_signal(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, pass_on)
    status = child.wait()
    return status if status >= 0 else 128 - status


def main():
    logging.getLogger("werkzeug").disabled = True
    store = DomainDispatcherApplication(create_backend_app)
    made = Client(store).put(f"/{BUCKET}")
    if made.status_code != 200:
        sys.exit(f"s3-server: no bucket can be made: {made.text}")
    server = make_server("127.0.0.1", 0, Front(store), threaded=True, request_handler=Handler)
    environment = {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.port}",
        "AWS_REGION": REGION,
        "AWS_ACCESS_KEY_ID": ACCESS_KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
        "REHEARSE_S3_BUCKET": BUCKET,
    }
    serving = threading.Thread(target=server.serve_forever, daemon=True)
    serving.start()
    if len(sys.argv) > 1:
        status = run(sys.argv[1:], environment)
        sys.stdout.flush()
        os._exit(status)  # whatever the threads of requests still do
    for name, value in environment.items():
        print(f"export {name}={value}")
    sys.stdout.flush()
    try:
        serving.join()
    except KeyboardInterrupt:
        os._exit(130)


main()
