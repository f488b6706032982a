# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tls.py LAYOUT WORK: a registry with a certificate of our own making: taken where it is trusted, refused where not; nothing of
it goes on without TLS."""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(__file__))
from server import Registry  # noqa: E402


def main(layout, work):
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    certificate = os.path.join(work, "both.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", certificate, "-out",
                    os.path.join(work, "cert.pem"), "-days", "2", "-subj", "/CN=localhost", "-addext",
                    "subjectAltName=DNS:localhost"], check=True, capture_output=True)
    with open(certificate, "a", encoding="utf-8") as both, open(os.path.join(work, "cert.pem"), encoding="utf-8") as cert:
        both.write(cert.read())
    plain = Registry(layout, {})
    secure = Registry(layout, {
        "plain": lambda r: r.is_blob and r.answer(307, headers={"Location": f"http://{plain.host}{r.path}"}),
        "login": lambda r: r.answer(401, headers={"WWW-Authenticate": f'Bearer realm="http://{plain.host}/token"'}),
        "upper": lambda r: r.is_blob and r.answer(307, headers={"Location": f"HTTP://{plain.host}{r.path}"}),
        "login-upper": lambda r: r.answer(401, headers={"WWW-Authenticate": f'Bearer realm="hTTp://{plain.host}/token"'}),
    }, certificate)
    failures = 0

    def pull(name, code, words, trusted=True, scheme="https://", option=None):
        nonlocal failures
        environment = dict(os.environ, KDL_CACHE_DIR=os.path.join(work, "cache"), KDL_REGISTRY_TIMEOUT="10", DOCKER_CONFIG=work)
        environment.pop("SSL_CERT_FILE", None)
        if trusted:
            environment["SSL_CERT_FILE"] = os.path.join(work, "cert.pem")
        done = subprocess.run(["kdl", "pull", f"{scheme}{secure.host}/{name}/x:1", "-o", os.path.join(work, "out")] +
                              ([option] if option else []), env=environment, capture_output=True, text=True, check=False)
        if done.returncode != code or words not in done.stderr:
            failures += 1
            print(f"{name}: exit code {done.returncode}: {done.stderr}{done.stdout}")

    pull("good", 0, "")
    pull("good", 1, "certificate", trusted=False)
    pull("good", 1, f"kdl pull: error: http://{secure.host}/v2/good/x/manifests/1: ", scheme="")
    pull("plain", 1, "expected https, as the registry itself has it")
    pull("upper", 1, "expected https, as the registry itself has it")
    pull("login", 1, "token service: found http://")
    pull("login-upper", 1, "token service: found http://")
    secure.stop()
    plain.stop()
    print(f"TLS: {failures} failures; {len(plain.requests)} requests without it")
    return failures != 0 or len(plain.requests) != 0


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])))
