"""The cluster of tests/deploy/cluster, as the tests drive it: kubectl, images, secrets, and looks from within
pods.
"""
import base64
import json
import os
import pathlib
import secrets
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
NETNS = "/run/netns/referee-cluster"
SPACE = "referee"
# How often a call is made that does not reach the server.
CALLS_MAX = 12


class Failed(Exception):
    """A promise that does not hold."""


def hold(is_so, text):
    """Fails the test where something is not so."""
    if not is_so:
        raise Failed(text)


def run(*command, given=None, check=True, **options):
    """Runs a command and returns what it wrote."""
    command = [str(word) for word in command]
    ran = subprocess.run(command, input=given, capture_output=True, text=True, **options)
    if check and ran.returncode:
        raise Failed(f"{' '.join(command)[:400]}: {ran.stdout[-2000:]}{ran.stderr[-2000:]}")
    return ran.stdout


def until(what, seconds, ask):
    """Asks again and again until the answer is not false, and returns it."""
    end = time.monotonic() + seconds
    while True:
        found = ask()
        if found:
            return found
        if time.monotonic() > end:
            raise Failed(f"not within {seconds} s: {what}")
        time.sleep(0.3)


class Cluster:
    """A cluster that runs."""

    def __init__(self, folder, referee, backend):
        self.folder = pathlib.Path(folder).resolve()
        self.referee, self.backend = pathlib.Path(referee), pathlib.Path(backend)
        self.work = self.folder / "work"
        self.work.mkdir(exist_ok=True)
        self.kubectl_path = self.folder / "bin/kubectl"
        self.inside = ["nsenter", f"--net={NETNS}"]

    def start(self):
        run(HERE / "cluster/up", self.folder)

    def stop(self):
        run(HERE / "cluster/down", self.folder, check=False)

    def k(self, *arguments, **options):
        """Runs kubectl."""
        kubeconfig = f"--kubeconfig={self.folder}/kubeconfig"
        return run(*self.inside, self.kubectl_path, kubeconfig, *arguments, **options)

    def get(self, *arguments):
        return json.loads(self.k("get", "-o", "json", *arguments))

    def apply(self, *objects):
        told = {"apiVersion": "v1", "kind": "List", "items": objects}
        return self.k("apply", "-f", "-", given=json.dumps(told))

    def image(self, name, entry, files):
        """Makes an image of files and brings it to the node."""
        tar = self.work / "image.tar"
        files = [f"{source}={target}" for source, target in files.items()]
        run(sys.executable, HERE / "cluster/mkimage.py", tar, name, entry, *files)
        self.load(tar)
        tar.unlink()

    def load(self, tar):
        run("ctr", "-a", self.folder / "run/containerd.sock", "-n", "k8s.io", "images", "import", tar)

    def secret(self, name, files, space=SPACE):
        """Creates or replaces a secret."""
        data = {key: base64.b64encode(value.encode()).decode() for key, value in files.items()}
        metadata = {"name": name, "namespace": space}
        self.apply({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data})

    def pod(self, name, space=SPACE):
        found = self.k("get", "pod", name, "-n", space, "-o", "json", "--ignore-not-found")
        return json.loads(found) if found else None

    def is_ready(self, name, space=SPACE):
        pod = self.pod(name, space)
        conditions = pod["status"].get("conditions", []) if pod else []
        return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)

    def uid(self, name, space=SPACE):
        pod = self.pod(name, space)
        return pod and pod["metadata"]["uid"]

    def new_pod(self, name, old, seconds=60, space=SPACE):
        """Waits until another pod of this name is ready."""
        until(f"a new {name} is ready", seconds, lambda: self.uid(name, space) not in (None, old) and self.is_ready(name, space))

    def in_server(self, *arguments):
        """Runs the program in the pod of the server."""
        return self.k("exec", "referee-0", "-n", SPACE, "--", "/usr/bin/referee", *arguments)

    def token(self, role, principal):
        """Issues a token, as an operator does."""
        said = self.in_server(
            "token", "issue", "--role", role, "--principal", principal,
            "--server", "https://localhost:50051", "--ca", "/run/secrets/tls/ca.crt",
            "--token-file", "/run/secrets/operator/token",
        )
        return next(word for word in said.split() if word.startswith("rfr_"))

    def call(self, method, request, token, address=None):
        """Calls the server through its service, from the node. A call that does not reach it is repeated,
        which is safe for all that are made here."""
        address = address or f"{self.address('referee')}:50051"
        command = [
            *self.inside, os.environ.get("REFEREE_GRPCURL", "grpcurl"), "-cacert", self.work / "ca.crt",
            "-authority", "referee.referee.svc", "-connect-timeout", "3", "-max-time", "10",
            "-H", f"authorization: Bearer {token}", "-d", json.dumps(request), address, method,
        ]
        for _ in range(CALLS_MAX):
            ran = subprocess.run([str(word) for word in command], capture_output=True, text=True)
            if ran.returncode == 0:
                return json.loads(ran.stdout) if ran.stdout.strip() else {}
            if "Failed to dial" not in ran.stderr and "Unavailable" not in ran.stderr:
                break
            time.sleep(0.5)
        raise Failed(f"{method}: {ran.stderr}")

    def fetch(self, path):
        """Asks the admin listener of the server, from the node."""
        url = f"http://{self.pod('referee-0')['status']['podIP']}:9464{path}"
        code = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=5).read().decode())"
        return run(*self.inside, sys.executable, "-c", code, url)

    def address(self, service, space=SPACE):
        return self.get("service", service, "-n", space)["spec"]["clusterIP"]

    def netns(self, name, space):
        """Returns the number of a process within the network of a pod."""
        ctr = ["ctr", "-a", self.folder / "run/containerd.sock", "-n", "k8s.io"]
        filters = f'labels."io.kubernetes.pod.name"=={name},labels."io.kubernetes.pod.namespace"=={space}'
        found = set(run(*ctr, "containers", "ls", "-q", filters).split())
        tasks = [line.split() for line in run(*ctr, "tasks", "ls").splitlines()[1:]]
        return next(line[1] for line in tasks if line[0] in found and line[2] == "RUNNING")

    def overlay(self, name, tag, settings=(), patches=()):
        """Writes an overlay of deploy/ down with another image, and returns its folder."""
        folder = self.work / f"{name}-{tag}-{secrets.token_hex(3)}"
        folder.mkdir()
        base = os.path.relpath(ROOT / "deploy/overlays" / name, folder)
        told = {
            "apiVersion": "kustomize.config.k8s.io/v1beta1",
            "kind": "Kustomization",
            "resources": [base],
            "images": [{"name": "registry.example.org/referee", "newName": "registry.local/referee", "newTag": tag}],
            "patches": list(patches),
        }
        if settings:
            told["configMapGenerator"] = [{
                "name": "referee-settings", "namespace": SPACE, "behavior": "merge", "literals": list(settings),
            }]
        (folder / "kustomization.yaml").write_text(json.dumps(told))
        return folder


class Authority:
    """An authority that signs certificates for the server."""

    def __init__(self, folder):
        self.folder = folder
        run(
            "openssl", "req", "-x509", "-newkey", "ed25519", "-noenc", "-keyout", folder / "ca.key",
            "-out", folder / "ca.crt", "-days", "30", "-subj", "/CN=authority",
            "-addext", "basicConstraints=critical,CA:TRUE",
        )

    def certificate(self, names):
        """Returns the files of a certificate for names, as cert-manager writes them."""
        folder = self.folder
        run(
            "openssl", "req", "-x509", "-newkey", "ed25519", "-noenc", "-keyout", folder / "tls.key",
            "-out", folder / "tls.crt", "-days", "20", "-subj", "/CN=referee",
            "-CA", folder / "ca.crt", "-CAkey", folder / "ca.key",
            "-addext", "basicConstraints=critical,CA:FALSE",
            "-addext", "subjectAltName=" + ",".join(f"DNS:{name}" for name in names),
        )
        return {name: (folder / name).read_text() for name in ("tls.crt", "tls.key", "ca.crt")}
