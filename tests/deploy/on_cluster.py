"""Runs the overlays of deploy/ in a Kubernetes of real parts, as they stand but for the image: a game that
is played and watched while its pod is deleted, replaced and drained; settings that make no sense;
certificates and tokens that are replaced; every way between pods that is let through, and others that are
cut; a fleet that is scaled and loses pods.

    python on_cluster.py FOLDER REFEREE BACKEND [STEP...]

FOLDER is where tests/deploy/cluster was built, BACKEND the program of tests/interop/go. It needs root.
"""
import base64
import json
import os
import random
import re
import subprocess
import sys
import time

import chess

from cluster import HERE, ROOT, SPACE, Authority, Cluster, Failed, hold, run, until

DATA = ROOT / "tests/data/deploy"
NAMES = ["referee", "referee.referee", "referee.referee.svc", "referee-workers", "localhost"]
# The game: how many plies, how long is thought before each, and how much later than that an action may come
# where it has to be sent again: the greatest wait of the backend (2 s), that of its connection (1 s), and one.
PLIES, PACE, SLACK = 260, 0.25, 4.0
AWAY = 15 # seconds without a node for the pod
NODES_OF_START_7 = "3195901860"


def image_files(program):
    """Returns what an image needs of the machine to run a program."""
    said = run("ldd", program)
    libraries = set(re.findall(r"(/\S+)", said))
    files = {library: library for library in libraries if not library.endswith(":")}
    return {**files, str(program): "/usr/bin/referee"}


def set_up(cluster):
    """Images, definitions, volumes, secrets and namespaces."""
    for tag in ("a", "b"):
        cluster.image(f"registry.local/referee:{tag}", "/usr/bin/referee", image_files(cluster.referee))
    cluster.image("registry.local/backend:1", "/backend", {cluster.backend: "/backend"})
    for file in definitions():
        cluster.k("apply", "--server-side", "-f", file)
    folders = [cluster.work / "volumes" / name for name in ("data", "backups")]
    for folder in folders:
        run("rm", "-rf", folder)
        folder.mkdir(parents=True)
    cluster.apply(
        {
            "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "provisioner": "kubernetes.io/no-provisioner",
            "metadata": {"name": "local", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
            "volumeBindingMode": "WaitForFirstConsumer",
        },
        *(volume(folder, size) for folder, size in zip(folders, ("10Gi", "40Gi"))),
        *(namespace(name, labels) for name, labels in SPACES.items()),
    )
    cluster.k("apply", "-k", ROOT / "deploy/namespace")
    authority = Authority(cluster.work)
    cluster.secret("referee-operator", {"token": os.urandom(24).hex()})
    cluster.secret("referee-tls", authority.certificate(NAMES))
    return authority


def definitions():
    """Returns the files with the definitions of kinds that are not of Kubernetes itself."""
    return os.environ["REFEREE_DEFINITIONS"].split()


SPACES = {
    "platform": {"referee-client": "true", "pod-security.kubernetes.io/enforce": "restricted"},
    "stranger": {"pod-security.kubernetes.io/enforce": "restricted"},
    "monitoring": {},
    "keda": {},
}


def namespace(name, labels):
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def volume(folder, size):
    node = {"key": "kubernetes.io/hostname", "operator": "In", "values": ["node-1"]}
    return {
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": folder.name},
        "spec": {
            "capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"], "storageClassName": "local",
            "persistentVolumeReclaimPolicy": "Retain", "local": {"path": str(folder)},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [node]}]}},
        },
    }


def client_pod(name, space, labels, container, volumes=()):
    """Returns a pod that the standard `restricted` lets in."""
    box = {
        **container, "name": "main", "imagePullPolicy": "Never",
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    context = {"runAsNonRoot": True, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}}
    return {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": space, "labels": labels},
        "spec": {
            "restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "securityContext": context,
            "automountServiceAccountToken": False, "containers": [box], "volumes": list(volumes),
        },
    }


def step_apply(cluster):
    """The smaller overlay is ready in seconds, and what is not allowed is not let in."""
    overlay = cluster.overlay("single", "a")
    begun = time.monotonic()
    cluster.k("apply", "-k", overlay)
    until("the server is ready", 60, lambda: cluster.is_ready("referee-0"))
    took = time.monotonic() - begun
    print(f"    ready {took:.1f} s after kubectl apply -k")
    everything = cluster.k("apply", "--dry-run=server", "-k", HERE / "everything")
    hold("prometheusrule.monitoring.coreos.com/referee" in everything, "the API server validates all kinds")
    root = client_pod("root", SPACE, {}, {"image": "registry.local/pause:1"})
    root["spec"]["securityContext"]["runAsUser"] = 0
    root["spec"]["securityContext"]["runAsNonRoot"] = False
    refused = subprocess.run(
        [*cluster.inside, cluster.kubectl_path, f"--kubeconfig={cluster.folder}/kubeconfig", "apply", "-f", "-"],
        input=json.dumps(root), capture_output=True, text=True,
    )
    hold(refused.returncode and "violates PodSecurity" in refused.stderr, "a pod of root is let in")
    cluster.platform = cluster.token("platform", "club")
    copies(cluster)


def copies(cluster):
    """The nightly copy is made by its own job, and is sound."""
    cluster.k("create", "job", "-n", SPACE, "--from=cronjob/referee-backup", "now")
    cluster.k("wait", "-n", SPACE, "--for=condition=complete", "job/now", "--timeout=60s")
    made = list((cluster.work / "volumes/backups").glob("referee-*.db"))
    hold(len(made) == 1, f"one copy is made: {made}")
    run(cluster.referee, "store", "verify", made[0])


def long_game():
    """Returns the moves of a legal game that does not end by itself."""
    chance = random.Random(19)
    board, moves, seen = chess.Board(), [], set()
    while len(moves) < PLIES:
        legal = [move for move in board.legal_moves]
        chance.shuffle(legal)
        for move in legal:
            board.push(move)
            dull = board.is_game_over(claim_draw=False) or board._transposition_key() in seen
            keeps = len(board.piece_map()) > 10 and board.halfmove_clock < 70
            if not dull and keeps:
                break
            board.pop()
        else:
            raise Failed("the game that is to be played ends")
        seen.add(board._transposition_key())
        moves.append(board.peek().uci())
    return moves


def script():
    """Returns the game in the form that the backend reads: with a move that is refused, and a resignation."""
    actions = [{"seat": "SEAT_WHITE", "makeMove": {"move": "Nd5"}}]
    for ply, move in enumerate(long_game()):
        actions.append({"seat": "SEAT_WHITE" if ply % 2 == 0 else "SEAT_BLACK", "makeMove": {"move": move}})
    actions.append({"seat": "SEAT_WHITE", "resign": {}})
    clock = {"timeControl": {"pgn": "3600"}}
    return {"id": "long", "game": {"ruleProfile": {"name": "fide_online"}, "clockSettings": clock}, "actions": actions}


def start_backend(cluster):
    """Lets a backend play in a pod of the platform, by the name of the service."""
    game = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "game", "namespace": "platform"}}
    game["data"] = {"games": json.dumps(script()) + "\n"}
    cluster.apply(game)
    files = {"ca.crt": (cluster.work / "ca.crt").read_text(), "token": cluster.platform}
    cluster.secret("club", files, "platform")
    container = {
        "image": "registry.local/backend:1",
        "args": ["dns:///referee.referee.svc:50051", "/game/games", "club"],
        "env": [
            {"name": "REFEREE_CA", "value": "/club/ca.crt"},
            {"name": "REFEREE_TOKEN_FILE", "value": "/club/token"},
            {"name": "PACE", "value": f"{int(PACE * 1000)}ms"},
        ],
        "volumeMounts": [{"name": "game", "mountPath": "/game"}, {"name": "club", "mountPath": "/club"}],
    }
    volumes = [
        {"name": "game", "configMap": {"name": "game"}},
        {"name": "club", "secret": {"secretName": "club"}},
    ]
    cluster.apply(client_pod("backend", "platform", {}, container, volumes))


def game(cluster):
    return cluster.call("referee.v1.GameService/GetGame", {"name": "games/club-long"}, cluster.platform)["game"]


def some_moves(cluster):
    """Waits until the game goes on, and returns how far it is."""
    def sequence():
        try:
            return int(game(cluster).get("sequence", 0))
        except Failed:
            return 0
    before = until("the game is there", 60, sequence)
    return until("the game goes on", 60, lambda: sequence() >= before + 4 and sequence())


def step_game(cluster):
    """A game goes on while its pod is deleted, rolled to another version, and moved from its node."""
    start_backend(cluster)
    some_moves(cluster)
    old = cluster.uid("referee-0")
    cluster.k("delete", "pod", "referee-0", "-n", SPACE, "--wait=false")
    cluster.new_pod("referee-0", old)
    some_moves(cluster)
    old = cluster.uid("referee-0")
    print("    " + roll(cluster, cluster.overlay("single", "b")).splitlines()[-1])
    hold(cluster.uid("referee-0") != old, "another version is another pod")
    image = cluster.pod("referee-0")["spec"]["containers"][0]["image"]
    hold(image == "registry.local/referee:b", f"{image} runs")
    some_moves(cluster)
    old = cluster.uid("referee-0")
    cluster.k("drain", "node-1", "--pod-selector=app.kubernetes.io/component=server", "--timeout=60s")
    until("the pod waits for a node", 30, lambda: (cluster.pod("referee-0") or {}).get("status", {}).get("phase") == "Pending")
    time.sleep(AWAY)
    cluster.k("uncordon", "node-1")
    cluster.new_pod("referee-0", old)
    some_moves(cluster)
    check_game(cluster)


def roll(cluster, overlay, check=True):
    """Rolls an overlay out with the script for that."""
    kubectl = [*cluster.inside, str(cluster.kubectl_path), f"--kubeconfig={cluster.folder}/kubeconfig"]
    environment = {**os.environ, "KUBECTL": " ".join(kubectl)}
    ran = subprocess.run(
        [sys.executable, ROOT / "deploy/roll", overlay, "--timeout", "60"],
        env=environment, capture_output=True, text=True,
    )
    hold(not check or ran.returncode == 0, ran.stdout + ran.stderr)
    return ran.stdout if check else (ran.returncode, ran.stderr)


def check_game(cluster):
    """Nothing that was acknowledged is lost, nothing is twice, and nobody paid for the time away."""
    until("the backend ends", 240, lambda: cluster.pod("backend", "platform")["status"]["phase"] in ("Succeeded", "Failed"))
    said = cluster.k("logs", "backend", "-n", "platform")
    hold(cluster.pod("backend", "platform")["status"]["phase"] == "Succeeded", f"the backend failed: {said}")
    lines = [json.loads(line) for line in said.splitlines()]
    hold(lines[0] == {"code": "INVALID_ARGUMENT", "reason": "INVALID_FIELD", "fields": ["game_id"]}, said)
    told, heard = lines[1], lines[2]["heard"]
    hold(told["termination"] == "TERMINATION_RESIGNATION" and told["repeated"], said)
    hold(told["turned_down"] == ["REASON_ILLEGAL_MOVE"], f"refused: {told['turned_down']}")
    events = record(cluster)
    sequences = [int(event["sequence"]) for event in events]
    hold(sequences == list(range(1, len(sequences) + 1)), "the record has a gap")
    hold(told["sequences"] == sequences and heard["games/club-long"] == sequences, "a watcher missed an event")
    moves = [event["action"]["makeMove"]["move"] for event in events if "makeMove" in event.get("action", {})]
    played = len(moves)
    hold(played == PLIES, f"{played} moves of {PLIES} are on record")
    lines = [line for event in events for line in event.get("ledger", [])]
    charged = [seconds(line.get("charged")) for line in lines if line["cause"] == "LEDGER_CAUSE_MOVE"]
    hold(max(charged) < PACE + SLACK, f"{max(charged):.1f} s were charged for a move")
    down = [line for line in lines if line["cause"] == "LEDGER_CAUSE_DOWN_TIME"]
    hold(len(down) >= 3, f"{len(down)} times away are on record")
    print(f"    {played} moves, at most {max(charged):.2f} s charged for one; {len(down)} times away")


def seconds(text):
    return float(text.rstrip("s")) if text else 0.0


def record(cluster):
    """Returns every event of the game."""
    events, token = [], ""
    while True:
        request = {"parent": "games/club-long", "pageSize": 200, "pageToken": token}
        page = cluster.call("referee.v1.GameService/ListGameEvents", request, cluster.platform)
        events += page.get("events", [])
        token = page.get("nextPageToken")
        if not token:
            return events


def step_settings(cluster):
    """Settings that make no sense never run, and the old pod serves on."""
    old = cluster.uid("referee-0")
    wrong = cluster.overlay("single", "b", ["REFEREE_DRAIN_TIMEOUT_SECONDS=soon"])
    code, said = roll(cluster, wrong, check=False)
    hold(code == 1 and "--drain-timeout-seconds" in said, f"{code}: {said}")
    hold(cluster.uid("referee-0") == old and cluster.is_ready("referee-0"), "the old pod does not serve")
    game(cluster)
    # What is missing is found out as well, and not only what is misspelt.
    wrong = cluster.overlay("single", "b", ["REFEREE_TLS_KEY=/run/secrets/tls/none"])
    code, said = roll(cluster, wrong, check=False)
    hold(code == 1 and "/run/secrets/tls/none" in said, f"{code}: {said}")
    hold(cluster.uid("referee-0") == old and cluster.is_ready("referee-0"), "the old pod does not serve")


def serial(cluster):
    """Returns the number of the certificate that the service shows."""
    address = f"{cluster.address('referee')}:50051"
    shown = subprocess.run(
        [*cluster.inside, "openssl", "s_client", "-connect", address, "-alpn", "h2"],
        input="", capture_output=True, text=True, timeout=20,
    ).stdout
    ran = subprocess.run(["openssl", "x509", "-noout", "-serial"], input=shown, capture_output=True, text=True)
    return ran.stdout.strip()


def step_certificates(cluster):
    """A certificate is replaced in the secret, and counts without a restart; a wrong one changes nothing."""
    old, shown = cluster.uid("referee-0"), serial(cluster)
    hold(shown, "no certificate is shown")
    files = cluster.authority.certificate(NAMES)
    cluster.secret("referee-tls", files)
    now = until("the new certificate is shown", 90, lambda: serial(cluster) not in ("", shown) and serial(cluster))
    other = cluster.authority.certificate(NAMES)
    cluster.secret("referee-tls", {**other, "tls.key": files["tls.key"]})
    until("the wrong key is noticed", 90, lambda: metric(cluster, "referee_reload_failed") == 1)
    hold(serial(cluster) == now, "a certificate without its key is shown")
    game(cluster)
    cluster.secret("referee-tls", other)
    until("it is mended", 90, lambda: metric(cluster, "referee_reload_failed") == 0)
    hold(serial(cluster) != now, "the certificate that was mended is shown")
    pod = cluster.pod("referee-0")
    hold(cluster.uid("referee-0") == old and not pod["status"]["containerStatuses"][0]["restartCount"], "the pod began again")


def metric(cluster, name):
    said = cluster.fetch("/metrics")
    return float(next(line for line in said.splitlines() if line.startswith(name)).split()[-1])


# Tries ways from within a pod: a line for each, with 1 where it is let through.
PROBE = """
import json, socket, struct, sys
for host, port, kind in json.load(sys.stdin):
    try:
        if kind == "dns":
            asked = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            asked.settimeout(1.5)
            name = b"".join(bytes([len(part)]) + part.encode() for part in "kubernetes.default.svc.cluster.local".split("."))
            asked.sendto(struct.pack(">6H", 7, 256, 1, 0, 0, 0) + name + b"\\0\\0\\1\\0\\1", (host, port))
            asked.recv(512)
        else:
            socket.create_connection((host, port), 1.5).close()
        print(1)
    except OSError:
        print(0)
"""


def step_paths(cluster):
    """Every way that the policies let through works, and each other one is cut."""
    rows = [json.loads(line) for line in (DATA / "paths.jsonl").read_text().splitlines()]
    sources = {json.dumps(row["from"], sort_keys=True): row["from"] for row in rows}
    pods = {}
    for number, (key, source) in enumerate(sources.items()):
        if "pod" in source:
            pods[key] = source["pod"], source["namespace"]
            continue
        name = f"from-{number}"
        pod = client_pod(name, source["namespace"], source["labels"], {"image": "registry.local/pause:1"})
        cluster.apply(pod)
        pods[key] = name, source["namespace"]
    for name, space in pods.values():
        until(f"{space}/{name} is ready", 30, lambda: cluster.is_ready(name, space))
    inside = {key: cluster.netns(*pod) for key, pod in pods.items()}
    targets = {row["to"]: target(cluster, row["to"]) for row in rows}

    def wrong():
        found = []
        for key in sources:
            mine = [row for row in rows if json.dumps(row["from"], sort_keys=True) == key]
            asked = json.dumps([targets[row["to"]] for row in mine])
            said = run("nsenter", "-t", inside[key], "-n", sys.executable, "-c", PROBE, given=asked)
            for row, line in zip(mine, said.split()):
                if bool(int(line)) != row["passes"]:
                    found.append(f"{row['from']} to {row['to']}: {'is let through' if int(line) else 'is cut'}")
        return found

    found = wrong()
    for _ in range(5):
        if not found:
            break
        time.sleep(2) # policies are brought to the node by and by
        found = wrong()
    for name, space in pods.values():
        if name.startswith("from-"):
            cluster.k("delete", "pod", name, "-n", space, "--wait=false")
    hold(not found, "\n".join(found))
    cut = sum(not row["passes"] for row in rows)
    print(f"    {len(rows) - cut} ways are let through, {cut} are cut")


def target(cluster, text):
    """Returns the address, the port and the kind that a name of the table stands for."""
    what, _, port = text.rpartition(":")
    if what == "dns":
        return cluster.address("kube-dns", "kube-system"), int(port), "dns"
    if what == "kubernetes":
        return cluster.address("kubernetes", "default"), int(port), "tcp"
    if what == "node":
        return "10.255.0.1", int(port), "tcp"
    if what == "server":
        return cluster.pod("referee-0")["status"]["podIP"], int(port), "tcp"
    return cluster.address(what), int(port), "tcp"


def wanted_threads(cluster):
    """Asks what an autoscaler asks."""
    return json.loads(cluster.fetch("/scale"))["perft_wanted_threads"]


def workers(cluster):
    found = cluster.get("pods", "-n", SPACE, "-l", "app.kubernetes.io/component=worker")["items"]
    return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]


def running(cluster):
    ready = lambda pod: any(each["type"] == "Ready" and each["status"] == "True" for each in pod["status"].get("conditions", []))
    return [pod["metadata"]["name"] for pod in workers(cluster) if ready(pod)]


def job(cluster, name):
    return cluster.call("referee.v1.PerftService/GetPerftJob", {"name": f"perftJobs/{name}"}, cluster.platform)["perftJob"]


def create_job(cluster, name, depth):
    request = {"requestId": name, "perftJobId": name, "perftJob": {"depth": depth}}
    cluster.call("referee.v1.PerftService/CreatePerftJob", request, cluster.platform)


def step_fleet(cluster):
    """A job is counted exactly by a fleet that grows from nothing, loses pods, and shrinks again."""
    cluster.secret("referee-worker", {"token": cluster.token("worker", "fleet")})
    cluster.k("apply", "-k", cluster.overlay("workers", "b"))
    cluster.k("scale", "deployment/referee-worker", "-n", SPACE, "--replicas=0")
    cluster.k("rollout", "status", "statefulset/referee", "-n", SPACE, "--timeout=60s")
    until("no worker is there", 60, lambda: not workers(cluster))
    hold(wanted_threads(cluster) == 0, "threads are wanted without a job")
    create_job(cluster, "start", 7)
    wanted = until("threads are wanted, though no worker is there", 60, lambda: wanted_threads(cluster))
    cluster.k("scale", "deployment/referee-worker", "-n", SPACE, "--replicas=3")
    until("three workers are there", 60, lambda: len(running(cluster)) == 3)
    until("something is counted", 120, lambda: float(job(cluster, "start").get("progress", {}).get("tasksDone", 0)) > 0)
    for _ in range(2):
        victim = random.choice(running(cluster))
        cluster.k("delete", "pod", victim, "-n", SPACE, "--grace-period=0", "--force")
        time.sleep(3)
    done = until("the job is over", 300, lambda: (lambda found: found["state"] in ("STATE_SUCCEEDED", "STATE_FAILED") and found)(job(cluster, "start")))
    hold(done["state"] == "STATE_SUCCEEDED" and done["nodes"] == NODES_OF_START_7, f"{done}")
    until("nothing is wanted any more", 60, lambda: wanted_threads(cluster) == 0)
    print(f"    {done['nodes']} paths, counted by three pods of which two were killed; {wanted} threads were wanted")


def step_worker_settings(cluster):
    """A worker that cannot begin never takes the place of one that works."""
    old = running(cluster)
    threads = {"op": "replace", "path": "/spec/template/spec/containers/0/env/3/value", "value": "none"}
    patch = {"target": {"kind": "Deployment"}, "patch": json.dumps([threads])}
    cluster.k("apply", "-k", cluster.overlay("workers", "b", patches=[patch]))
    until("the new pod does not begin", 60, lambda: any(restarts(pod) for pod in workers(cluster)))
    hold(set(running(cluster)) >= set(old), f"{running(cluster)} are left of {old}")
    cluster.k("apply", "-k", cluster.overlay("workers", "b"))
    cluster.k("rollout", "status", "deployment/referee-worker", "-n", SPACE, "--timeout=60s")


def restarts(pod):
    return sum(one["restartCount"] for one in pod["status"].get("containerStatuses", []))


def step_tokens(cluster):
    """A token is replaced in its secret and the old one revoked, and the fleet counts on."""
    listed = cluster.call("referee.v1.TokenService/ListTokens", {}, operator(cluster))["tokens"]
    old = [one["name"] for one in listed if one["principal"] == "fleet"]
    pods = {pod["metadata"]["uid"] for pod in workers(cluster)}
    cluster.secret("referee-worker", {"token": cluster.token("worker", "fleet")})
    time.sleep(15) # the kubelet brings it within its period, and a worker reads the file again
    for name in old:
        cluster.call("referee.v1.TokenService/RevokeToken", {"name": name}, operator(cluster))
    time.sleep(6) # a server remembers for five seconds whose a token is
    create_job(cluster, "after", 5)
    done = until("the job is over", 120, lambda: (lambda found: found["state"] == "STATE_SUCCEEDED" and found)(job(cluster, "after")))
    hold(done["nodes"] == "4865609", f"{done}")
    hold({pod["metadata"]["uid"] for pod in workers(cluster)} == pods, "workers began again")
    cluster.k("scale", "deployment/referee-worker", "-n", SPACE, "--replicas=0")
    until("the fleet is gone", 60, lambda: not workers(cluster))


def operator(cluster):
    found = cluster.get("secret", "referee-operator", "-n", SPACE)["data"]["token"]
    return base64.b64decode(found).decode()


STEPS = {
    "apply": step_apply, "game": step_game, "settings": step_settings, "certificates": step_certificates,
    "fleet": step_fleet, "paths": step_paths, "worker-settings": step_worker_settings, "tokens": step_tokens,
}


def show(cluster):
    """Writes what helps to find out why a step failed."""
    for command in (
        ["get", "pods,pvc", "-A"], ["get", "events", "-n", SPACE],
        ["logs", "referee-0", "-n", SPACE, "--tail=40"],
        ["logs", "referee-0", "-n", SPACE, "--previous", "--tail=20"],
        ["logs", "backend", "-n", "platform", "--tail=5"], ["logs", "job/now", "-n", SPACE, "--tail=5"],
    ):
        try:
            print(cluster.k(*command, check=False)[-6000:], file=sys.stderr)
        except Failed as error:
            print(error, file=sys.stderr)


def main(folder, referee, backend, *steps):
    cluster = Cluster(folder, referee, backend)
    begun = time.monotonic()
    cluster.start()
    try:
        cluster.authority = set_up(cluster)
        print(f"  the cluster is up ({time.monotonic() - begun:.0f} s)", flush=True)
        for name in steps or STEPS:
            at = time.monotonic()
            STEPS[name](cluster)
            print(f"  {name}: {STEPS[name].__doc__.splitlines()[0]} ({time.monotonic() - at:.0f} s)", flush=True)
    except Failed as error:
        show(cluster)
        sys.exit(f"on_cluster: {error}")
    finally:
        if "KEEP" not in os.environ:
            cluster.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
