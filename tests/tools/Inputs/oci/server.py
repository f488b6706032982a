# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A registry for tests, on the loopback, which serves one layout and can lie: the first part of a repository's name says how.
What it was asked is in `requests`: (method, path, headers, bytes sent)."""
import hashlib
import http.server
import json
import os
import socket
import ssl
import threading
import time


class Registry(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, layout, lies, certificate=None):
        super().__init__(("127.0.0.1", 0), Handler)
        self.lies = lies
        self.requests = []
        self.counts = {}
        self.lock = threading.Lock()
        self.stopping = False
        self.blobs = {}
        self.taken = {}
        if layout:
            folder = os.path.join(layout, "blobs", "sha256")
            for name in os.listdir(folder):
                with open(os.path.join(folder, name), "rb") as file:
                    self.blobs["sha256:" + name] = file.read()
            with open(os.path.join(layout, "index.json"), encoding="utf-8") as file:
                self.digest = json.load(file)["manifests"][0]["digest"]
            self.manifest = self.blobs[self.digest]
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.socket = context.wrap_socket(self.socket, server_side=True)
        self.host = f"localhost:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    def handle_error(self, request, client_address):
        pass

    def stop(self):
        self.stopping = True
        self.shutdown()
        self.server_close()

    def times(self, key):
        """How often something was asked for, this time included."""
        with self.lock:
            self.counts[key] = self.counts.get(key, 0) + 1
            return self.counts[key]

    def asked(self, name):
        return [entry for entry in list(self.requests) if entry[1].startswith(f"/v2/{name}/")]

    def sent(self, name):
        """Bytes of blobs, of a repository."""
        return sum(entry[3] for entry in self.asked(name) if "/blobs/" in entry[1])


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def handle_any(self):
        server = self.server
        self.entry = [self.command, self.path, dict(self.headers), 0]
        server.requests.append(self.entry)
        parts = self.path.split("?")[0].split("/")
        lie = server.lies.get(parts[2] if len(parts) > 2 and parts[1] == "v2" else parts[1], None)
        try:
            if lie and lie(self):
                return
            self.serve()
        except (BrokenPipeError, ConnectionResetError, ssl.SSLError):
            self.close_connection = True

    do_GET = do_HEAD = do_PUT = do_POST = handle_any

    # What the lies are made of.

    def answer(self, code, body=b"", headers=None, length=True):
        self.send_response(code)
        headers = dict(headers or {})
        if length and "Content-Length" not in headers:
            headers["Content-Length"] = str(len(body))
        for key, value in headers.items():
            self.send_header(key, value)
        self.end_headers()
        if self.command != "HEAD":
            self.put(body)
        return True

    def put(self, data):
        self.wfile.write(data)
        self.wfile.flush()
        self.entry[3] += len(data)

    def cut(self):
        """The connection ends here."""
        self.close_connection = True
        self.wfile.flush()
        self.connection.shutdown(socket.SHUT_WR)
        return True

    def reset(self):
        """The same, and what is on its way may be lost."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.connection.close()
        self.close_connection = True
        return True

    def drip(self, data, pause=0.2):
        for at in range(len(data)):
            if self.server.stopping:
                break
            self.put(data[at:at + 1])
            time.sleep(pause)
        return True

    def endless(self, piece):
        while not self.server.stopping:
            self.put(piece)

    def chunk(self, data):
        self.put(b"%x\r\n%s\r\n" % (len(data), data))

    @property
    def is_manifest(self):
        return "/manifests/" in self.path

    @property
    def is_blob(self):
        return "/blobs/" in self.path

    @property
    def content(self):
        return self.server.manifest if self.is_manifest else self.server.blobs[self.path.rsplit("/", 1)[1]]

    def from_range(self):
        words = self.headers.get("Range", "")
        return int(words[len("bytes="):-1]) if words.startswith("bytes=") else 0

    def take(self):
        """What is pushed: blobs under their digest, and manifests by what they are called."""
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        if self.command == "POST":
            return self.answer(202, headers={"Location": self.path + "one?state=x"})
        self.entry[3] += len(body)
        digest = "sha256:" + hashlib.sha256(body).hexdigest()
        if "digest=" in self.path and digest.replace(":", "%3A") not in self.path:
            return self.answer(400)
        self.server.taken[digest] = body
        return self.answer(201, headers={"Docker-Content-Digest": digest})

    def serve(self):
        """The truth."""
        if self.command in ("POST", "PUT"):
            return self.take()
        if self.command not in ("GET", "HEAD") or not (self.is_manifest or self.is_blob):
            return self.answer(404)
        if self.is_blob and self.path.rsplit("/", 1)[1] not in self.server.blobs:
            return self.answer(404)
        begin = self.from_range() if self.is_blob else 0
        headers = {"Docker-Content-Digest": self.server.digest} if self.is_manifest else {}
        if begin:
            headers["Content-Range"] = f"bytes {begin}-{len(self.content) - 1}/{len(self.content)}"
        return self.answer(206 if begin else 200, self.content[begin:], headers)
