# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""faults.py LAYOUT WORK [NAME...]: kdl pull from, and kdl push to, registries that lie, break off, stall and redirect. LAYOUT holds one bundle;
each case says what the pull must say, or that it must succeed, and how many bytes of images it may move."""
import base64
import concurrent.futures
import functools
import hashlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(__file__))
from server import Registry  # noqa: E402

USER = base64.b64encode(b"user:secret").decode()
TOKEN = "a.token_of-the/service+1="


class Case:
    """A lie, and what comes of it. `says` is what the error must say; None: the pull succeeds."""

    def __init__(self, lie, says=None, code=1, **options):
        self.lie, self.says, self.code = lie, says, code
        self.options = options


# Lies: functions of a request, true where they have answered it.

def blobs(lie):
    return lambda r: r.is_blob and lie(r)


def manifests(lie):
    return lambda r: r.is_manifest and lie(r)


def half(r):
    """Breaks off in the middle, the first time."""
    if r.server.times(r.path) > 1:
        return False
    r.send_response(200)
    r.send_header("Content-Length", str(len(r.content)))
    r.end_headers()
    r.put(r.content[:len(r.content) // 2])
    return r.cut()


def ends_early(r):
    """A body in chunks that ends well, too early."""
    r.send_response(200)
    r.send_header("Transfer-Encoding", "chunked")
    r.end_headers()
    r.chunk(r.content[:len(r.content) // 2])
    r.put(b"0\r\n\r\n")
    return True


def endless_body(r):
    r.send_response(200)
    r.send_header("Transfer-Encoding", "chunked")
    r.end_headers()
    while not r.server.stopping:
        r.chunk(b"x" * 65536)
    return True


def endless_headers(r):
    r.put(b"HTTP/1.1 200 OK\r\n")
    return r.endless(b"X-More: " + b"y" * 1000 + b"\r\n")


def long_header(r):
    r.put(b"HTTP/1.1 200 OK\r\nX-More: ")
    return r.endless(b"y" * 65536)


def flipped(r):
    data = bytearray(r.content)
    data[len(data) // 2] ^= 1
    return r.answer(200, bytes(data[r.from_range():]))


def other_length(by):
    return lambda r: r.answer(200, r.content, {"Content-Length": str(len(r.content) + by)})


def dripped(r):
    r.send_response(200)
    r.send_header("Content-Length", str(len(r.content)))
    r.end_headers()
    return r.drip(r.content)


def flowing(r):
    """The headers of the answer never end, and come steadily."""
    r.put(b"HTTP/1.1 200 OK\r\n")
    while not r.server.stopping:
        r.put(b"X: y\r\n")
        time.sleep(0.05)
    return True


def slow_halves(r):
    """Each answer brings a byte more, after a while, and breaks off."""
    at = r.from_range()
    r.send_response(206 if at else 200)
    if at:
        r.send_header("Content-Range", f"bytes {at}-{len(r.content) - 1}/{len(r.content)}")
    r.send_header("Content-Length", str(len(r.content) - at))
    r.end_headers()
    r.put(r.content[at:at + 1])
    time.sleep(0.4)
    return r.cut()


def stalled(r):
    while not r.server.stopping:
        time.sleep(0.02)
    return True


def redirect(to, code=307):
    return lambda r: r.answer(code, headers={"Location": to(r) if callable(to) else to})


def loop(r):
    return r.answer(307, headers={"Location": r.path + "x"})


def wrong_range(r):
    if not r.from_range():
        return half(r)
    return r.answer(206, r.content, {"Content-Range": f"bytes 0-{len(r.content) - 1}/{len(r.content)}"})


def wrong_range_always(r):
    if r.from_range():
        return wrong_range(r)
    r.server.counts.pop(r.path, None)
    return half(r)


def no_ranges(r):
    return half(r) or r.answer(200, r.content)


def not_satisfiable(r):
    return half(r) or (r.from_range() and r.answer(416))


def failing(times, code=503):
    return lambda r: r.server.times(r.path) <= times and r.answer(code)


def manifest_of(change):
    """The manifest changed, and nothing said of its digest."""
    def lie(r):
        manifest = json.loads(r.server.manifest)
        change(manifest)
        return r.answer(200, json.dumps(manifest).encode())
    return manifests(lie)


def many_layers(r):
    r.send_response(200)
    r.send_header("Transfer-Encoding", "chunked")
    r.end_headers()
    layer = json.dumps({k: v for k, v in json.loads(r.server.manifest)["layers"][0].items() if k != "annotations"})
    r.chunk(b'{"layers": [' + layer.encode())
    for _ in range(1000):
        r.chunk((("," + layer) * 1000).encode())
    r.chunk(b"]}")
    r.put(b"0\r\n\r\n")
    return True


# Logging in.

def basic(r):
    if r.headers.get("Authorization") == "Basic " + USER:
        return False
    return r.answer(401, b'{"errors": [{"code": "UNAUTHORIZED", "message": "authentication required"}]}',
                    {"WWW-Authenticate": 'Basic realm="registry"'})


def bearer(realm=None, needs_user=True, challenge=None, forever=False):
    def lie(r):
        if not forever and r.headers.get("Authorization") == "Bearer " + TOKEN:
            return False
        service = realm or f"http://{r.server.host}/token-{'user' if needs_user else 'any'}"
        return r.answer(401, headers={"WWW-Authenticate": challenge or
                                      f'Bearer realm="{service}",service="the registry",scope="repository:x:pull"'})
    return lie


def token_service(r):
    if "needs" in r.path or ("user" in r.path and r.headers.get("Authorization") != "Basic " + USER):
        return r.answer(401)
    if "service=the%20registry&scope=repository%3Ax%3Apull" not in r.path:
        return r.answer(400)
    return r.answer(200, json.dumps({"expires_in": 60, "token": TOKEN}).encode())


def token_is(body):
    return lambda r: r.answer(200, body)


def elsewhere(other):
    return lambda r: r.answer(307, headers={"Location": f"http://{other.host}{r.path}"})


def cases(other):
    big = "0" * 300000
    first = json.loads(other.manifest)["layers"][0]["size"]
    return {
        "good": Case(None, most=1.0),
        # Broken off, and gone on.
        "breaks-off": Case(blobs(half), most=1.0),
        "resets": Case(blobs(lambda r: half(r) and r.reset()), most=1.6),
        "knows-no-ranges": Case(blobs(no_ranges), most=1.6),
        "another-range": Case(blobs(wrong_range), most=2.5),
        "another-range-always": Case(blobs(wrong_range_always), "Content-Range: found 0, expected bytes from"),
        "range-not-satisfiable": Case(blobs(not_satisfiable), most=1.6),
        "fails-twice": Case(blobs(failing(2)), most=1.0),
        "fails-always": Case(blobs(failing(99)), "found HTTP status 503"),
        "too-many-requests": Case(blobs(failing(1, 429)), most=1.0),
        "redirected": Case(elsewhere(other), most=0.1),
        # Lies about blobs.
        "wrong-digest": Case(blobs(flipped), "found bytes with the digest sha256:"),
        "truncated": Case(blobs(ends_early), f"found {first // 2} bytes, expected {first}"),
        "endless": Case(blobs(endless_body), "bytes, expected as many, as the manifest says"),
        "length-too-large": Case(blobs(other_length(1)), "Content-Length: found"),
        "length-too-small": Case(blobs(other_length(-1)), "Content-Length: found"),
        "drips": Case(blobs(dripped), "KDL_REGISTRY_TIMEOUT allows more"),
        "stalls": Case(blobs(stalled), "KDL_REGISTRY_TIMEOUT allows more"),
        # As fast as is asked for, without an end; and each blob in time, but not all.
        "flows": Case(blobs(flowing), "within 2 s: KDL_REGISTRY_DEADLINE allows more", seconds=60, deadline=2),
        "breaks-off-slowly": Case(blobs(slow_halves), "within 2 s: KDL_REGISTRY_DEADLINE allows more", seconds=60, deadline=2),
        "no-blob": Case(blobs(lambda r: r.answer(404)), "found HTTP status 404", code=3),
        # Redirects.
        "loops": Case(manifests(loop), "found more than 10 redirects"),
        "loops-blob": Case(blobs(loop), "found more than 10 redirects"),
        "to-plain-host": Case(blobs(redirect("http://registry.invalid/x")), "--plain-http allows it"),
        "to-plain-upper": Case(blobs(redirect("HTTP://registry.invalid/x")), "--plain-http allows it"),
        "to-signed": Case(blobs(redirect("http://localhost:1/x?signature=secret")), "error: http://localhost:1/x: "),
        "to-signed-plain": Case(blobs(redirect("http://registry.invalid/x?signature=secret")), "found http://registry.invalid/x, expected"),
        "to-signed-loop": Case(blobs(lambda r: r.answer(307, headers={"Location": r.path.split("?")[0] + "x?signature=secret"})),
                               "found more than 10 redirects"),
        "to-file": Case(blobs(redirect("file:///etc/passwd")), "found the address \"file:///etc/passwd\""),
        "to-nowhere": Case(blobs(redirect("")), "found a redirect without an address"),
        "to-user": Case(blobs(redirect("http://user:secret@localhost/x")), "found a redirect without an address"),
        # Manifests.
        "manifest-endless": Case(manifests(endless_body), "found a manifest of more than 4194304 bytes"),
        "manifest-large": Case(manifests(lambda r: r.answer(200, b"", {"Content-Length": "1000000000000"})),
                               "found a manifest of 1000000000000 bytes"),
        "manifest-drips": Case(manifests(dripped), "KDL_REGISTRY_TIMEOUT allows more"),
        "manifest-stalls": Case(manifests(stalled), "KDL_REGISTRY_TIMEOUT allows more"),
        "million-layers": Case(manifests(many_layers), "found a manifest of more than 4194304 bytes"),
        "headers-endless": Case(manifests(endless_headers), "found headers of more than 65536 bytes"),
        "header-long": Case(manifests(long_header), "found a header that is too long, expected headers of at most 65536 bytes"),
        "manifest-digest": Case(manifests(lambda r: r.answer(200, r.content + b" ", {"Docker-Content-Digest": r.server.digest})),
                                "which the registry itself says"),
        "manifest-pinned": Case(manifests(lambda r: r.answer(200, r.content + b" ")), "which the reference says", pinned=True),
        "manifest-empty": Case(manifests(lambda r: r.answer(200, b"")), "found the end"),
        "manifest-no-json": Case(manifests(lambda r: r.answer(200, b"<html>")), "found '<'"),
        "manifest-error": Case(manifests(lambda r: r.answer(500, b"x" * 3000000)), "found HTTP status 500"),
        "manifest-message": Case(manifests(lambda r: r.answer(
            404, b'{"errors": [{"code": "X", "message": "no \\u001b[31msuch thing", "detail": {}}]}')),
            "found HTTP status 404 (no \\x1b[31msuch thing)", code=3),
        "digest-leads-out": Case(manifest_of(lambda m: m["layers"][0].update(digest="sha256:../../../../evil")),
                                 "expected sha256: and 64 hexadecimal digits"),
        "title-leads-out": Case(manifest_of(lambda m: m["layers"][0]["annotations"].update(
            {"org.opencontainers.image.title": "../../evil"})), most=1.0),
        "larger-than-allowed": Case(manifest_of(lambda m: m["layers"][0].update(size=10**18)),
                                    "KDL_REGISTRY_LIMIT allows more"),
        # Logging in.
        "basic": Case(manifests(basic), config=True, most=1.0),
        "basic-nobody": Case(basic, "HTTP status 401 (authentication required), expected it: `docker login`"),
        "bearer": Case(bearer(), config=True, most=1.0),
        "bearer-nobody": Case(bearer(), "a token of the service that it names: found HTTP status 401"),
        "bearer-anybody": Case(bearer(needs_user=False), most=1.0),
        "bearer-forever": Case(bearer(forever=True), "HTTP status 401", config=True),
        "bearer-plain": Case(bearer(realm="http://auth.invalid/token"), "token service: found http://auth.invalid/token"),
        "bearer-plain-upper": Case(bearer(realm="HTTP://auth.invalid/token"), "token service: found http://auth.invalid/token",
                                   config=True),
        "bearer-user": Case(bearer(realm="http://a:b@localhost/token"), "token service: found the address", config=True),
        "bearer-upper": Case(lambda r: bearer(realm=f"HTTP://{r.server.host}/token-user")(r), config=True, most=1.0),
        "bearer-no-realm": Case(bearer(challenge="Bearer service=x"), "expected Basic, or Bearer with a realm"),
        "bearer-unknown": Case(bearer(challenge="Negotiate"), "expected Basic, or Bearer with a realm"),
        "token-no-json": Case(None, "found '<'"),
        "token-too-large": Case(None, "found a token of 300013 bytes"),
        "token-two-lines": Case(None, "found no token"),
        # Helpers of the cases above.
        "token-user": Case(token_service, skip=True),
        "token-any": Case(token_service, skip=True),
        "token-html": Case(token_is(b"<html>"), skip=True),
        "token-large": Case(token_is(b'{"token": "' + big.encode() + b'"}'), skip=True),
        "token-lines": Case(token_is(b'{"token": "x\\r\\nHost: y"}'), skip=True),
    }


def absent(lie=None):
    """A registry that has nothing yet, and lies besides."""
    return lambda r: (r.command == "HEAD" and r.answer(404)) or bool(lie and lie(r))


def posts(lie):
    return absent(lambda r: r.command == "POST" and lie(r))


def puts(lie):
    return absent(lambda r: r.command == "PUT" and lie(r))


def drain(r):
    r.rfile.read(int(r.headers.get("Content-Length", "0")))


def pushed(other):
    """Pushes. `blobs` is how many of them are sent to the registry itself."""
    def sent_elsewhere(r):
        return basic(r) if r.command != "POST" else basic(r) or r.answer(202, headers={"Location": f"http://{other.host}{r.path}one"})
    return {
        "good": Case(absent(), blobs=1.0),
        "again": Case(None, blobs=0.0),
        "elsewhere": Case(absent(sent_elsewhere), blobs=0.0, config=True, apart=True),
        "no-location": Case(posts(lambda r: r.answer(202)), "upload: found no Location"),
        "location-is-a-file": Case(posts(lambda r: r.answer(202, headers={"Location": "file:///tmp/x"})), "found the address"),
        "location-is-plain": Case(posts(lambda r: r.answer(202, headers={"Location": "http://registry.invalid/x"})),
                                  "--plain-http allows it"),
        "denied": Case(posts(lambda r: r.answer(403, b'{"errors": [{"code": "DENIED", "message": "not yours"}]}')),
                       "found HTTP status 403 (not yours)"),
        "full": Case(puts(lambda r: drain(r) or r.answer(507)), "upload: found HTTP status 507"),
        "breaks-off": Case(puts(lambda r: r.cut()), "/push-breaks-off/x/blobs/uploads/one: "),
        "stalls": Case(puts(lambda r: drain(r) or stalled(r)), "KDL_REGISTRY_TIMEOUT allows more"),
        "other-digest": Case(puts(lambda r: r.is_manifest and (drain(r) or r.answer(
            201, headers={"Docker-Content-Digest": "sha256:" + "0" * 64}))), "found that the registry keeps the manifest as"),
    }


class Faults:
    """What all cases share: two registries. Each case has a repository, a cache and a folder of its own."""

    def __init__(self, layout, work):
        self.work, self.layout = work, layout
        shutil.rmtree(work, ignore_errors=True)
        os.makedirs(os.path.join(work, "docker"))
        self.other = Registry(layout, {})
        self.cases = cases(self.other)
        self.server = Registry(layout, {name: case.lie for name, case in self.cases.items()})
        self.manifest = json.loads(self.server.manifest)
        self.total = sum(layer["size"] for layer in self.manifest["layers"])
        with open(os.path.join(work, "docker", "config.json"), "w", encoding="utf-8") as file:
            json.dump({"auths": {"elsewhere.org": {"auth": "eDp5"}, self.server.host: {"auth": USER}}}, file)
        for name, place in {"token-no-json": "token-html", "token-too-large": "token-large",
                            "token-two-lines": "token-lines"}.items():
            self.server.lies[name] = bearer(realm=f"http://{self.server.host}/{place}?signature=secret")

    def run(self, names):
        wanted = {name: functools.partial(Pull.as_case, case=case) for name, case in self.cases.items()
                  if not case.options.get("skip")}
        wanted.update({"private": Pull.authorization_stays, "later": Pull.goes_on, "killed": Pull.survives_a_kill,
                       "partial": Pull.mends_a_partial, "many": Pull.many_at_once,
                       "removed": Pull.survives_a_removal,
                       "ended": Pull.leaves_nothing, "push-ended": Pull.leaves_nothing, "expired": Pull.expires})
        pushes = {"push-" + name: functools.partial(Pull.pushes, case=case) for name, case in pushed(self.other).items()}
        for name, case in pushed(self.other).items():
            self.server.lies["push-" + name] = case.lie
        wanted.update(pushes)
        pulls = [(Pull(self, name), how) for name, how in wanted.items() if not names or name in names]
        slow = ("drips", "stalls", "always", "signed", "truncated", "later")  # these wait most, and begin first
        first = sorted(pulls, key=lambda one: not one[0].name.endswith(slow))
        with concurrent.futures.ThreadPoolExecutor(12) as pool:
            for done in [pool.submit(how, pull) for pull, how in first]:
                done.result()
        self.server.stop()
        self.other.stop()
        failures = sum(pull.failures for pull, _ in pulls)
        print(f"{len(pulls)} cases, {failures} failures")
        memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
        if memory > most_memory:
            print(f"a process took {memory} MiB, expected at most {most_memory}")
        return failures != 0 or not pulls or memory > most_memory


class Pull:
    def __init__(self, faults, name):
        self.name, self.server, self.other, self.total = name, faults.server, faults.other, faults.total
        self.layout = faults.layout
        self.manifest, self.docker = faults.manifest, os.path.join(faults.work, "docker")
        self.work = os.path.join(faults.work, name)
        self.cache = os.path.join(self.work, "cache")
        self.out = os.path.join(self.work, "out.offload")
        self.failures = 0
        os.makedirs(self.work)

    def start(self, out=None, config=False, pinned=False, seconds=1, deadline=3600):
        environment = dict(os.environ, KDL_CACHE_DIR=self.cache, KDL_REGISTRY_TIMEOUT=str(seconds), KDL_REGISTRY_DEADLINE=str(deadline),
                           DOCKER_CONFIG=self.docker if config else self.work)
        tag = "@" + self.server.digest if pinned else ":1"
        return subprocess.Popen(["kdl", "pull", f"{self.server.host}/{self.name}/x{tag}", "-o", out or self.out], text=True,
                                errors="replace", env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def pull(self, **options):
        process = self.start(**options)
        _, errors = process.communicate(timeout=100)
        return process.returncode, errors

    def stored(self):
        folder = os.path.join(self.cache, "registry", "blobs", "sha256")
        names = os.listdir(folder) if os.path.isdir(folder) else []
        return {name: os.path.getsize(os.path.join(folder, name)) for name in names}

    def check(self, is_right, what):
        if not is_right:
            self.failures += 1
            print(f"{self.name}: {what}")

    def succeeds(self, most=1.0, out=None, **options):
        code, errors = self.pull(out=out, **options)
        self.check(code == 0, f"exit code {code}: {errors}")
        if code == 0:
            self.check_file(out or self.out)
        moved = self.server.sent(self.name)
        self.check(moved <= most * self.total, f"{moved} bytes moved, of {self.total}")
        self.check(not self.stored(), f"left in the cache: {self.stored()}")

    def check_file(self, path):
        with open(path, "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()
        self.check("sha256:" + digest == self.manifest["annotations"]["vnd.kdl.digest"], "another file than was pushed")

    def as_case(self, case):
        options = {key: case.options[key] for key in ("config", "pinned", "seconds", "deadline") if key in case.options}
        if case.says is None:
            return self.succeeds(case.options["most"], **options)
        code, errors = self.pull(**options)
        left = [name for name in os.listdir(self.work) if name.startswith("out.offload")]
        self.check(code == case.code and case.says in errors and errors.startswith("kdl pull: error: "),
                   f"exit code {code}: {errors}")
        self.check(not left, f"left: {left}")
        self.check(sum(self.stored().values()) <= self.total, f"left in the cache: {self.stored()}")
        self.check(USER not in errors and "secret" not in errors, f"a secret is told: {errors}")

    def pushes(self, case):
        environment = dict(os.environ, KDL_REGISTRY_TIMEOUT="1", TMPDIR=self.work,
                           DOCKER_CONFIG=self.docker if case.options.get("config") else self.work)
        file = os.path.join(self.work, self.manifest["annotations"]["org.opencontainers.image.title"])
        subprocess.run(["kdl", "pull", f"oci:{self.layout}:1", "-o", file], check=True, capture_output=True)
        done = subprocess.run(["kdl", "push", file, f"{self.server.host}/{self.name}/x:1"], env=environment, check=False,
                              capture_output=True, text=True, errors="replace")
        left = [name for name in os.listdir(self.work) if name != os.path.basename(file)]
        self.check(not left, f"left: {left}")
        if case.says is not None:
            return self.check(done.returncode == 1 and case.says in done.stderr and done.stderr.startswith("kdl push: error: "),
                              f"exit code {done.returncode}: {done.stderr}")
        self.check(done.returncode == 0, f"exit code {done.returncode}: {done.stderr}")
        sent = sum(entry[3] for entry in self.server.asked(self.name) if entry[0] == "PUT" and "/blobs/" in entry[1])
        self.check(sent == int(case.options["blobs"] * (self.total + 2)), f"{sent} bytes sent, of {self.total}")
        manifests_sent = [entry for entry in self.server.asked(self.name) if entry[0] == "PUT" and "/manifests/1" in entry[1]]
        self.check(manifests_sent and self.server.digest in self.server.taken, "the manifest was not sent")
        if case.options.get("apart"):
            others = self.other.asked(self.name)
            self.check(sum(entry[3] for entry in others) == self.total + 2, f"{len(others)} requests elsewhere")
            self.check(not any("Authorization" in entry[2] for entry in others), "the other host was told who that is")

    def authorization_stays(self):
        """What logs in goes to the registry alone: not to where it redirects."""
        self.server.lies[self.name] = lambda r: basic(r) or (r.is_blob and elsewhere(self.other)(r))
        self.succeeds(config=True)
        own = [entry for entry in self.server.asked(self.name) if "Authorization" in entry[2]]
        others = self.other.asked(self.name)
        told = [entry for entry in others if "Authorization" in entry[2]]
        self.check(own and others and not told, f"{len(own)} requests, {len(others)} elsewhere, told {told[:1]}")

    def goes_on(self):
        """A pull that failed goes on with the next one; what is there is not asked for again."""
        self.server.lies[self.name] = blobs(lambda r: half(r) or r.answer(503))
        code, errors = self.pull()
        stored = self.stored()
        self.check(code == 1 and any(name.endswith(".partial") for name in stored), f"kept: {stored}: {errors}")
        self.server.lies[self.name] = None
        self.succeeds()

    def survives_a_kill(self):
        """kdl is killed in the middle: its helper ends too, and the next pull goes on."""
        def stall(r):
            r.send_response(200)
            r.send_header("Content-Length", str(len(r.content)))
            r.end_headers()
            r.put(r.content[:-1])
            return stalled(r)
        self.server.lies[self.name] = blobs(stall)
        process = self.start(seconds=60)
        deadline = time.time() + 30
        while not any(self.stored().values()) and time.time() < deadline:
            time.sleep(0.02)
        children = children_of(process.pid)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        while any(map(is_running, children)) and time.time() < deadline:
            time.sleep(0.02)
        self.check(children and not any(map(is_running, children)), f"still running: {children}")
        self.check(sum(self.stored().values()) > 0, "nothing was kept")
        self.server.lies[self.name] = None
        self.succeeds()

    def survives_a_removal(self):
        """The beginning of a blob is removed while another pull waits for it: that one begins anew."""
        self.server.lies[self.name] = blobs(lambda r: self.server.times(self.name) == 1 and stalled(r))
        first = self.start(seconds=60)
        self.wait_for(lambda: self.stored())
        second = self.start(out=self.out + "2", seconds=10)
        self.wait_for(lambda: has_partial(second.pid))
        folder = os.path.join(self.cache, "registry", "blobs", "sha256")
        for name in os.listdir(folder):
            os.unlink(os.path.join(folder, name))
        first.send_signal(signal.SIGKILL)
        first.communicate()
        _, errors = second.communicate(timeout=100)
        self.check(second.returncode == 0, f"exit code {second.returncode}: {errors}")
        self.check(not self.stored(), f"left in the cache: {self.stored()}")

    def leaves_nothing(self):
        """A push, or a pull without a cache, is ended by a signal: its folder goes."""
        is_push = self.name.startswith("push")
        self.server.lies[self.name] = puts(stalled) if is_push else blobs(stalled)
        environment = dict(os.environ, KDL_CACHE="off", KDL_REGISTRY_TIMEOUT="60", TMPDIR=self.work, DOCKER_CONFIG=self.docker)
        place = f"{self.server.host}/{self.name}/x:1"
        file = os.path.join(self.layout + ".file-" + self.name)
        subprocess.run(["kdl", "pull", f"oci:{self.layout}:1", "-o", file], check=True, capture_output=True)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            before = len(self.server.asked(self.name))
            process = subprocess.Popen(["kdl", "push", file, place] if is_push else ["kdl", "pull", place, "-o", self.out],
                                       env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            method = "PUT" if is_push else "GET"
            self.wait_for(lambda: any(entry[0] == method and "/blobs/" in entry[1]
                                      for entry in self.server.asked(self.name)[before:]))
            self.check(os.listdir(self.work), "there was no folder")
            process.send_signal(number)
            process.communicate()
            self.check(process.returncode == -number, f"exit code {process.returncode}, expected {-number}")
            self.check(not os.listdir(self.work), f"left: {os.listdir(self.work)}")

    def expires(self):
        """What was left more than a week ago goes with the next pull, though that fails; what is younger stays."""
        self.server.lies[self.name] = manifests(lambda r: r.answer(404))
        folder = os.path.join(self.cache, "registry", "blobs", "sha256")
        os.makedirs(folder)
        for place in (self.cache, os.path.join(self.cache, "registry")):
            os.chmod(place, 0o700)
        for name, days in {"old": 8, "old.partial": 8, "young": 6}.items():
            with open(os.path.join(folder, name), "wb") as file:
                file.write(b"x")
            os.utime(os.path.join(folder, name), (time.time() - days * 86400,) * 2)
        code, errors = self.pull()
        self.check(code == 3, f"exit code {code}: {errors}")
        self.check(list(self.stored()) == ["young"], f"left in the cache: {self.stored()}")

    def wait_for(self, condition):
        deadline = time.time() + 30
        while not condition() and time.time() < deadline:
            time.sleep(0.02)
        self.check(condition(), "what was waited for did not come")

    def mends_a_partial(self):
        """The beginning that is there is another blob's."""
        layer = self.manifest["layers"][0]
        folder = os.path.join(self.cache, "registry", "blobs", "sha256")
        os.makedirs(folder)
        for place in (self.cache, os.path.join(self.cache, "registry")):
            os.chmod(place, 0o700)
        with open(os.path.join(folder, layer["digest"].split(":")[1] + ".partial"), "wb") as file:
            file.write(b"z" * (layer["size"] // 2))
        self.succeeds(most=1.5)

    def many_at_once(self):
        """Pulls that share a cache: each has its file."""
        paths = [f"{self.out}{number}" for number in range(6)]
        processes = [self.start(out=path, seconds=30) for path in paths]
        for path, process in zip(paths, processes):
            _, errors = process.communicate(timeout=100)
            self.check(process.returncode == 0, f"exit code {process.returncode}: {errors}")
            self.check_file(path)


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as file:
        return file.read().split()


def has_partial(pid):
    """Whether a program that it started has a beginning open."""
    links = []
    for child in children_of(pid):
        try:
            links += [os.readlink(f"/proc/{child}/fd/{name}") for name in os.listdir(f"/proc/{child}/fd")]
        except OSError:
            pass
    return any(link.endswith(".partial") for link in links)


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


if __name__ == "__main__":
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # by lit: what is started here shall not ignore them
        signal.signal(ignored, signal.SIG_DFL)
    most_memory = int(os.environ.get("FAULTS_MEMORY", "100"))
    sys.exit(Faults(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])).run(sys.argv[3:]))
