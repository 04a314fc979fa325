#!/usr/bin/env python3
"""An object store that fails as it is told to, by the first part of an object's key: "status-503-2/name" answers the
first two requests for it with 503. It knows nothing of signatures; prints its port.

    s3_faults.py SECRET

Every object has 300001 bytes, those of tests/storage/ways.h, until one is put. The object "requests" is a list of the
requests so far, one a line. An object "after/KEY" is answered once the object KEY has been asked for.
"""
import collections
import hashlib
import http.server
import itertools
import re
import socket
import struct
import sys
import threading
import urllib.parse

SIZE = 300001
MASK = (1 << 64) - 1


def byte_at(offset):
    x = offset * 0x9E3779B97F4A7C15 & MASK
    return (x >> 56 ^ x >> 29) & 0xFF


CONTENT = bytes(map(byte_at, range(SIZE)))
SECRET = sys.argv[1]
objects = {}
etags = {}  # of objects that came in parts
uploads = {}
upload_numbers = itertools.count()
requests = []
asked = collections.Counter()
lock = threading.Condition()  # of all of these: requests come on several threads


def error_xml(code, message="as it was told to"):
    return f'<?xml version="1.0"?><Error><Code>{code}</Code><Message>{message}</Message></Error>'.encode()


CODES = {400: "InvalidRequest", 403: "AccessDenied", 404: "NoSuchKey", 429: "TooManyRequests", 500: "InternalError",
         503: "SlowDown"}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if "Content_Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def reset(self):
        """Ends the connection without a goodbye."""
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()

    def fails(self, fault, times):
        """Does this request get the fault that the key asks for?"""
        with lock:
            asked[self.key] += 1
            self.turn = asked[self.key]
            lock.notify_all()
        if self.turn > times:
            return False
        status = re.fullmatch(r"status(\d+)", fault)
        if status:
            code = CODES.get(int(status[1]), "Other")
            self.answer(int(status[1]), error_xml(code))
        elif fault == "html":
            self.answer(502, b"<html><body>Bad <br> gateway & more")
        elif fault == "secret":
            self.answer(403, error_xml("AccessDenied", f"you are {SECRET}, I know"))
        elif fault == "reset":
            self.reset()
        elif fault == "stall":
            asked_range = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
            first, last = map(int, asked_range.groups()) if asked_range else (0, SIZE - 1)
            headers = {"Content_Length": str(last + 1 - first), "Content_Range": f"bytes {first}-{last}/{SIZE}"}
            self.answer(206, CONTENT[first : first + 5], **headers)
            self.wfile.flush()
            self.rfile.read(1)  # until the client gives up
            self.close_connection = True
        else:
            return False
        return True

    def prepare(self):
        """False: the request has been answered."""
        url = urllib.parse.urlsplit(self.path)
        self.key = urllib.parse.unquote(url.path).partition("/")[2].partition("/")[2]
        self.query = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        self.body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with lock:
            requests.append(f"{self.command} {self.path}")
            self.number = len(requests)
        self.fault, _, times = self.key.partition("/")[0].partition("-")
        return not self.fails(self.fault, int(times or 0))

    def do_GET(self):
        if not self.prepare():
            return
        if "list-type" in self.query:
            self.list()
            return
        content = "\n".join(requests).encode() if self.key == "requests" else objects.get(self.key, CONTENT)
        etag = etags.get(self.key, f'"{hashlib.md5(content).hexdigest()}"')
        if self.fault == "replaced":  # each request finds another object, also where several come at the same time
            etag = f'"{self.number}"'
        if self.fault == "after":
            with lock:
                lock.wait_for(lambda: asked[self.key.partition("/")[2]] > 0)
        asked_range = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if not asked_range or self.fault == "norange":
            self.answer(200, content, ETag=etag)
            return
        first, last = map(int, asked_range.groups())
        if first >= len(content):
            self.answer(416, error_xml("InvalidRange"), Content_Range=f"bytes */{len(content)}")
            return
        last = min(last, len(content) - 1)
        self.send_range(content, first, last, etag)

    do_HEAD = do_GET

    def send_range(self, content, first, last, etag):
        part = content[first : last + 1]
        headers = {"ETag": etag, "Content_Range": f"bytes {first}-{last}/{len(content)}"}
        if self.fault == "cut":
            times = int(self.key.partition("/")[0].partition("-")[2] or 0)
            if self.turn <= times:
                self.answer(206, part[: len(part) // 2], Content_Length=str(len(part)), **headers)
                self.close_connection = True
                return
        if self.fault == "fewer":
            part = part[:-1]
        if self.fault == "more":
            part += b"more"
        if self.fault == "other":
            headers["Content_Range"] = f"bytes {first + 1}-{last + 1}/{len(content)}"
        self.answer(206, part, **headers)

    def list(self):
        prefix = self.query["prefix"]
        if prefix == "broken/":
            self.answer(200, b"<ListBucketResult><Contents><Key>broken/a</Key>")
        elif prefix == "document/":
            self.answer(200, b'<!DOCTYPE a [<!ENTITY b "c">]><ListBucketResult/>')
        elif prefix == "foreign/":
            self.answer(200, b"<ListBucketResult><Contents><Key>elsewhere/a</Key><Size>1</Size></Contents>"
                             b"</ListBucketResult>")
        elif prefix == "forever/":
            self.answer(200, b"<ListBucketResult><IsTruncated>true</IsTruncated>"
                             b"<NextContinuationToken>same</NextContinuationToken></ListBucketResult>")
        else:
            self.answer(200, b"<ListBucketResult/>")

    def do_PUT(self):
        if not self.prepare():
            return
        if "uploadId" in self.query:
            number = int(self.query["partNumber"])
            if self.fault == "badpart" and number == 2:
                self.answer(400, error_xml("InvalidPart"))
                return
            uploads[self.query["uploadId"]][number] = self.body
        else:
            objects[self.key] = self.body
        self.answer(200, ETag=f'"{hashlib.md5(self.body).hexdigest()}"')

    def do_POST(self):
        if not self.prepare():
            return
        if "uploads" in self.query:
            with lock:
                upload = f"upload+{next(upload_numbers)}"
                uploads[upload] = {}
            self.answer(200, f"<InitiateMultipartUploadResult><UploadId>{upload}</UploadId>"
                             "</InitiateMultipartUploadResult>".encode())
            return
        self.complete(self.query["uploadId"])

    def complete(self, upload):
        if upload not in uploads:
            self.answer(404, error_xml("NoSuchUpload"))
            return
        asked["complete", upload] += 1
        if self.fault == "latererror" and asked["complete", upload] == 1:
            self.answer(200, error_xml("InternalError"))
            return
        if self.fault == "nevercomplete":
            self.answer(200, error_xml("InvalidPartOrder"))
            return
        parts = uploads.pop(upload)
        if self.fault == "vanished":
            self.reset()
            return
        parts = [parts[number] for number in sorted(parts)]
        objects[self.key] = b"".join(parts)
        sums = hashlib.md5(b"".join(hashlib.md5(part).digest() for part in parts))
        etags[self.key] = f'"{sums.hexdigest()}-{len(parts)}"'
        if self.fault == "lost":
            self.reset()
            return
        self.answer(200, b"<CompleteMultipartUploadResult/>")

    def do_DELETE(self):
        if not self.prepare():
            return
        uploads.pop(self.query.get("uploadId"), None)
        self.answer(204)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # a connection that is refused, or waits for its turn, would be another fault

    def handle_error(self, *_):
        pass


server = Server(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_address[1], flush=True)
sys.stdin.read()  # ends with the test, whichever way that ends
