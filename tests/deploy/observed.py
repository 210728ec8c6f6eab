"""Runs Debian's Prometheus beside a referee.

    python observed.py scrape REFEREE GRPCURL     every name in the dashboard and the alerts is in its scrape
    python observed.py compose REFEREE GRPCURL    the server, workers and Prometheus of deploy/compose.yaml,
                                                  by the settings that stand there
"""
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request

import yaml

from cluster import ROOT, Authority, Failed, hold, run, until

MONITORING = ROOT / "deploy/components/monitoring"
METRICS = ROOT / "tests/data/telemetry/metrics.tsv"
COMPOSE = ROOT / "deploy/compose.yaml"
NODES_OF_START_5 = "4865609"


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


class Programs:
    """Processes that end with the test."""

    def __init__(self, folder):
        self.folder, self.running = pathlib.Path(folder), []

    def start(self, name, command, environment=()):
        log = self.folder / f"{name}.log"
        kept = {key: value for key, value in os.environ.items() if not key.startswith("REFEREE_")}
        with open(log, "w") as opened:
            self.running.append(subprocess.Popen(
                [str(word) for word in command], env={**kept, **dict(environment)}, stdout=opened, stderr=opened,
            ))
        return log

    def close(self):
        for process in reversed(self.running):
            process.terminate()
        for process in self.running:
            process.wait(timeout=60)


class Prometheus:
    """A Prometheus that scrapes what its configuration names."""

    def __init__(self, programs, config):
        file = programs.folder / "prometheus.yml"
        file.write_text(yaml.safe_dump(config))
        port = free_port()
        self.address = f"http://127.0.0.1:{port}/api/v1"
        programs.start("prometheus", [
            "prometheus", f"--config.file={file}", f"--storage.tsdb.path={programs.folder}/tsdb",
            f"--web.listen-address=127.0.0.1:{port}", "--log.level=warn",
        ])

    def ask(self, path, **parameters):
        url = f"{self.address}/{path}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            raise Failed(f"{parameters}: {error.read().decode()}") from error
        except OSError:
            return None

    def query(self, text):
        found = self.ask("query", query=text)
        return found and found["result"]

    def wait_until_up(self):
        is_up = lambda: any(one["value"][1] == "1" for one in self.query("up") or [])
        until("Prometheus scrapes the server", 60, is_up)


def expressions():
    """Returns every expression of the alerts and the dashboard, with where it stands."""
    groups = yaml.safe_load((MONITORING / "alerts.yaml").read_text())["spec"]["groups"]
    found = [(rule["alert"], rule["expr"]) for group in groups for rule in group["rules"]]
    for panel in json.loads((MONITORING / "dashboard.json").read_text())["panels"]:
        for target in panel.get("targets", []):
            found.append((panel["title"], target["expr"].replace("$__rate_interval", "1m")))
    return found


def scrape(folder, referee, _grpcurl):
    """Every name of the dashboard, the alerts and the list of metrics is in a scrape, and every expression
    can be asked."""
    programs = Programs(folder)
    try:
        authority = Authority(programs.folder)
        authority.certificate(["localhost"])
        os.chmod(programs.folder / "tls.key", 0o600)
        admin = free_port()
        log = programs.start("server", [
            referee, "serve", "--listen", "127.0.0.1:0", "--admin-listen", f"127.0.0.1:{admin}",
            "--store", programs.folder / "referee.db", "--tls-certificate", programs.folder / "tls.crt",
            "--tls-key", programs.folder / "tls.key",
        ])
        until("the server listens", 30, lambda: "referee is listening on" in log.read_text())
        port = re.search(r"referee is listening on \S+:(\d+)", log.read_text())[1]
        asked = ["--server", f"https://localhost:{port}", "--ca", programs.folder / "ca.crt"]
        run(referee, "game", "create", "--id", "seen", *asked)
        run(referee, "game", "act", "seen", "white", "move", "e4", *asked)
        job = {"job_name": "referee", "static_configs": [{"targets": [f"127.0.0.1:{admin}"]}]}
        prometheus = Prometheus(programs, {"global": {"scrape_interval": "1s"}, "scrape_configs": [job]})
        prometheus.wait_until_up()
        names = set(prometheus.ask("label/__name__/values"))
        used = expressions()
        hold(len(used) > 40, f"only {len(used)} expressions were found")
        for where, text in used:
            wanted = set(re.findall(r"\b(?:grpc|referee|process)_[a-z_]+", re.sub(r'"[^"]*"|by \([^)]*\)', "", text)))
            wanted -= {"grpc_code", "grpc_method", "grpc_type", "grpc_service"}
            hold(wanted and wanted <= names, f"{where}: no scrape has {sorted(wanted - names)}")
            hold(prometheus.query(text) is not None, f"{where}: cannot be asked")
        for line in METRICS.read_text().splitlines()[1:]:
            name, kind = line.split("\t")[:2]
            wanted = f"{name}_bucket" if kind == "histogram" else name
            hold(wanted in names, f"no scrape has {wanted}")
        print(f"    {len(used)} expressions ask for nothing that is not in the scrape")
    finally:
        programs.close()


def compose(folder, referee, grpcurl):
    """The first look of deploy/compose.yaml: its server and workers, by the settings that stand there, but for
    addresses and folders, count a job exactly, and its Prometheus sees it."""
    told = yaml.safe_load(COMPOSE.read_text())
    services = told["services"]
    hold(set(services) == {"server", "worker", "prometheus", "grafana"}, f"{set(services)}")
    hold(services["worker"]["deploy"]["replicas"] == 2, "two workers")
    for name in ("server", "worker"):
        one = services[name]
        hold(one["read_only"] and one["cap_drop"] == ["ALL"] and one["user"] == "65532:65532", f"{name} is not hardened")
    for name, one in services.items():
        for port in one.get("ports", []):
            hold(port.startswith("127.0.0.1:"), f"{name}: other machines reach {port}")
        for volume in one.get("volumes", []):
            source = volume.split(":")[0]
            there = source in told["volumes"] or (COMPOSE.parent / source).is_file()
            hold(there, f"{name}: there is no {source}")
    programs = Programs(folder)
    try:
        grpc, admin = free_port(), free_port()
        settings = dict(services["server"]["environment"])
        hold(settings["REFEREE_LISTEN"] == "0.0.0.0:50051" and settings["REFEREE_ADMIN_LISTEN"] == "0.0.0.0:9464", "other ports")
        settings.update(
            REFEREE_LISTEN=f"127.0.0.1:{grpc}", REFEREE_ADMIN_LISTEN=f"127.0.0.1:{admin}",
            REFEREE_STORE=f"{folder}/referee.db",
        )
        logs = [programs.start("server", [referee, *services["server"]["command"]], settings)]
        asked = dict(services["worker"]["environment"])
        hold(asked["REFEREE_SERVER"] == "http://server:50051", "workers ask another server")
        asked["REFEREE_SERVER"] = f"http://127.0.0.1:{grpc}"
        for number in range(2):
            logs.append(programs.start(f"worker-{number}", [referee, *services["worker"]["command"]], asked))
        config = yaml.safe_load((COMPOSE.parent / "compose/prometheus.yml").read_text())
        targets = config["scrape_configs"][0]["static_configs"][0]["targets"]
        hold(targets == ["server:9464"], f"Prometheus scrapes {targets}")
        targets[0] = f"127.0.0.1:{admin}"
        prometheus = Prometheus(programs, config)
        call = lambda method, request: json.loads(run(
            grpcurl, "-plaintext", "-d", json.dumps(request), f"127.0.0.1:{grpc}", f"referee.v1.PerftService/{method}",
        ))
        until("the server listens", 30, lambda: "listening on" in logs[0].read_text())
        call("CreatePerftJob", {"requestId": "look", "perftJobId": "look", "perftJob": {"depth": 5}})
        over = lambda: (lambda job: job["state"] == "STATE_SUCCEEDED" and job)(call("GetPerftJob", {"name": "perftJobs/look"})["perftJob"])
        nodes = until("the job is over", 120, over)["nodes"]
        hold(nodes == NODES_OF_START_5, f"{nodes} paths")
        prometheus.wait_until_up()
        for log in logs:
            hold("is no setting" not in log.read_text(), f"{log.name}: {log.read_text()}")
        print(f"    {nodes} paths by the workers of the first look, which Prometheus sees")
    finally:
        programs.close()


def main(what, referee, grpcurl):
    try:
        with tempfile.TemporaryDirectory() as folder:
            {"scrape": scrape, "compose": compose}[what](folder, referee, grpcurl)
    except Failed as error:
        sys.exit(f"observed: {error}")


if __name__ == "__main__":
    main(*sys.argv[1:])
