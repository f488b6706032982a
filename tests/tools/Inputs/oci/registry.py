# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""registry.py WORK FILE [DEVICE...]: a bundle pushed into Debian's docker-registry and pulled from it, whole and for devices;
with and without a password; to and from skopeo. Bytes are counted by the registry's own log.

    registry.py WORK --table FILE DEVICE...     only the table of bytes, for bench/results"""
import base64
import ctypes
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

# secret, by bcrypt
PASSWORDS = "user:$2b$04$ddSNGp6Jsblzquy/IwhTYekfMl7/.1PL2UuWeeNEFwk2ZyfyJp18e\n"


def end_with_parent():
    """Also where this test is killed."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class DockerRegistry:
    """On a port that is free; ends with the block."""

    def __init__(self, work, name, password=False):
        self.work = os.path.join(work, name)
        os.makedirs(self.work)
        config = {"version": 0.1, "log": {"level": "info"}, "storage": {"filesystem": {"rootdirectory": self.path("data")}},
                  "http": {"addr": "127.0.0.1:0"}}
        if password:
            with open(self.path("passwords"), "w", encoding="utf-8") as file:
                file.write(PASSWORDS)
            config["auth"] = {"htpasswd": {"realm": "test", "path": self.path("passwords")}}
        with open(self.path("config.yml"), "w", encoding="utf-8") as file:
            json.dump(config, file)

    def path(self, name):
        return os.path.join(self.work, name)

    def log(self):
        with open(self.path("log"), encoding="utf-8", errors="replace") as file:
            return file.read()

    def __enter__(self):
        with open(self.path("log"), "wb") as log:
            self.process = subprocess.Popen(["docker-registry", "serve", self.path("config.yml")], stdout=log,
                                            stderr=subprocess.STDOUT, preexec_fn=end_with_parent)
        for _ in range(1000):
            found = re.search(r"listening on 127\.0\.0\.1:(\d+)", self.log())
            if found:
                self.host = "127.0.0.1:" + found[1]
                return self
            if self.process.poll() is not None:
                break
            time.sleep(0.02)
        self.__exit__()
        sys.exit("docker-registry does not start: " + self.log()[-1000:])

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def sent(self, since=0):
        """(manifests' bytes, blobs' bytes) of the answers to GET, by lines of the log from a place on."""
        sums = {"manifests": 0, "blobs": 0}
        time.sleep(0.05)
        for kind, code, size in re.findall(r'"GET /v2/\S+/(manifests|blobs)/\S+ HTTP/1.1" (\d+) (\d+)', self.log()[since:]):
            sums[kind] += int(size) if code in ("200", "206") else 0
        return sums["manifests"], sums["blobs"]


def run(*words, code=0, **environment):
    done = subprocess.run(words, capture_output=True, text=True, errors="replace", check=False,
                          env=dict(os.environ, **environment))
    if done.returncode != code:
        sys.exit(f"{' '.join(words)}: exit code {done.returncode}, expected {code}: {done.stderr}{done.stdout}")
    return done.stdout + done.stderr


def same(one, other):
    with open(one, "rb") as first, open(other, "rb") as second:
        if first.read() != second.read():
            sys.exit(f"{one} and {other} differ")


def table(registry, work, path, devices):
    """What is moved for each device, and for all."""
    reference = registry.host + "/kernels/all:1"
    run("kdl", "push", path, reference)
    print(f"{'FOR':12} {'IMAGES':>8} {'MANIFEST':>9} {'IMAGES (bytes)':>15} {'MOVED':>9} {'OF ALL':>7}")
    rows = {}
    for device in ["all", *devices]:
        since, out = len(registry.log()), os.path.join(work, "part")
        said = run("kdl", "pull", reference, "-o", out, *([f"--for={device}"] if device != "all" else []))
        images, count, bytes_said = re.search(r": (\d+) of (\d+) images, (\d+) of", said).groups()
        manifest, blobs = registry.sent(since)
        if blobs != int(bytes_said):
            sys.exit(f"{device}: {blobs} bytes moved, {bytes_said} said")
        rows[device] = blobs
        share = (manifest + blobs) / (rows["all"] + manifest)
        print(f"{device:12} {images + '/' + count:>8} {manifest:9} {blobs:15} {manifest + blobs:9} {share:7.1%}")
        if device == "all":
            same(path, out)
    return rows


def with_password(work, path):
    with DockerRegistry(work, "locked", password=True) as registry:
        config = os.path.join(work, "docker")
        os.makedirs(config)
        with open(os.path.join(config, "config.json"), "w", encoding="utf-8") as file:
            json.dump({"auths": {registry.host: {"auth": base64.b64encode(b"user:secret").decode()}}}, file)
        reference, out = registry.host + "/locked:1", os.path.join(work, "unlocked")
        said = run("kdl", "push", path, reference, code=1, DOCKER_CONFIG=work)
        if "HTTP status 401" not in said or "docker login" not in said:
            sys.exit("without a password: " + said)
        run("kdl", "push", path, reference, DOCKER_CONFIG=config)
        run("kdl", "pull", reference, "-o", out, DOCKER_CONFIG=config)
        same(path, out)
        with open(os.path.join(config, "config.json"), "w", encoding="utf-8") as file:
            json.dump({"auths": {registry.host: {"auth": base64.b64encode(b"user:wrong").decode()}}}, file)
        said = run("kdl", "pull", reference, "-o", out, code=1, DOCKER_CONFIG=config)
        if "the credentials of config.json do not allow it" not in said:
            sys.exit("with a wrong password: " + said)
    print("with a password: pushed and pulled; without: refused")


def with_skopeo(registry, work, path):
    quiet = ("skopeo", "copy", "-q", "--insecure-policy", "--src-tls-verify=false", "--dest-tls-verify=false")
    out, layout = os.path.join(work, "copied"), os.path.join(work, "layout")
    run("kdl", "push", path, registry.host + "/ours:1")
    run(*quiet, f"docker://{registry.host}/ours:1", f"oci:{layout}:1")
    run("kdl", "pull", f"oci:{layout}:1", "-o", out)
    same(path, out)
    run(*quiet, f"oci:{layout}:1", f"docker://{registry.host}/theirs:1")
    run("kdl", "pull", registry.host + "/theirs:1", "-o", out)
    same(path, out)
    print("skopeo: copied from the registry and into it, unchanged")


def main(work, words):
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    os.environ["KDL_CACHE_DIR"] = os.path.join(work, "cache")
    os.environ["DOCKER_CONFIG"] = work
    is_table = words[0] == "--table"
    path, devices = words[is_table], words[is_table + 1:]
    with DockerRegistry(work, "open") as registry:
        rows = table(registry, work, path, devices)
        if is_table:
            return 0
        digest = run("kdl", "push", path, registry.host + "/kernels/all").strip()
        again = run("kdl", "push", path, registry.host + "/kernels/all").strip()
        run("kdl", "pull", digest, "-o", os.path.join(work, "pinned"))
        same(path, os.path.join(work, "pinned"))
        since = len(registry.log())
        run("kdl", "pull", registry.host + "/kernels/all:1", f"--for={devices[0]}", "-n", "-o", os.path.join(work, "dry"))
        said = run("kdl", "pull", registry.host + "/kernels/none:1", code=3)
        pinned = digest.rsplit(":", 1)[0] + ":" + "0" * 64
        wrong = run("kdl", "pull", pinned, code=3)
        if digest != again or registry.sent(since)[1] or "404" not in said or "404" not in wrong:
            sys.exit(f"{digest}, {again}, {registry.sent(since)}, {said}, {wrong}")
        if shutil.which("skopeo"):
            with_skopeo(registry, work, path)
    with_password(work, path)
    left = [name for _, _, names in os.walk(os.environ["KDL_CACHE_DIR"]) for name in names if name != "lock"]
    print(f"left in the cache: {len(left)} files")
    return bool(left) or not all(0 < bytes_moved < rows["all"] for device, bytes_moved in rows.items() if device != "all")


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(sys.argv[1]), sys.argv[2:]))
