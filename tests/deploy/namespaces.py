"""Two things that only a network can do to a service, in network namespaces: a client that opens a connection
and says nothing does not hold up the end, also where its machine is gone; and a worker whose reports arrive
while no answer comes back to it changes no count.

    python namespaces.py REFEREE GRPCURL

It needs root.
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from cluster import Failed, hold, run, until

SERVER, CLIENT = "10.254.7.1", "10.254.7.2"
NODES_OF_START_7 = "3195901860"


class Network:
    """Two namespaces with a cable between them."""

    def __init__(self):
        self.names = [f"referee-{side}-{os.getpid()}" for side in ("server", "client")]
        for name in self.names:
            run("ip", "netns", "add", name)
            run("ip", "-n", name, "link", "set", "lo", "up")
        server, client = self.names
        run("ip", "-n", server, "link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", client)
        for name, address in zip(self.names, (SERVER, CLIENT)):
            run("ip", "-n", name, "addr", "add", f"{address}/24", "dev", "eth0")
            run("ip", "-n", name, "link", "set", "eth0", "up")

    def at(self, side):
        return ["nsenter", f"--net=/run/netns/{self.names[side == 'client']}"]

    def drop(self, side, rule):
        """Drops packets that a side gets, by a rule of nftables."""
        table = f"table ip cut {{ chain in {{ type filter hook input priority 0; {rule} drop\n}}\n}}\n"
        run(*self.at(side), "nft", "-f", "-", given=table)

    def heal(self, side):
        run(*self.at(side), "nft", "delete", "table", "ip", "cut", check=False)

    def close(self):
        for name in self.names:
            run("ip", "netns", "del", name, check=False)


class Program:
    """A process of the referee within a namespace."""

    def __init__(self, network, side, folder, name, *command):
        self.log = pathlib.Path(folder) / f"{name}.log"
        # Who starts it in the background may ignore SIGINT.
        restore = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(
                [*network.at(side), *map(str, command)], cwd=folder, stdout=log, stderr=log, preexec_fn=restore,
            )

    def end(self, seconds):
        """Asks it to end, and returns the exit code and how long that took."""
        begun = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=seconds)
        return code, time.monotonic() - begun

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def serve(network, folder, referee, *options):
    address = f"{SERVER}:50051"
    program = Program(
        network, "server", folder, "serve", referee, "serve", "--listen", address, "--insecure-listen",
        "--store", f"{folder}/referee.db", "--perft-threads", "0", *options,
    )
    until("the server listens", 30, lambda: "listening on" in program.log.read_text())
    return program


def connect_silently(network, grpcurl):
    """Opens connections from the other machine that hold on: one that never says a word, one with half of a
    preface, and a watcher, which the server speaks to."""
    ask(network, grpcurl, "referee.v1.GameService/CreateGame", {"gameId": "held", "requestId": "held", "game": {}})
    request = json.dumps({"name": "games/held"})
    watcher = subprocess.Popen(
        [*network.at("client"), grpcurl, "-plaintext", "-d", request, f"{SERVER}:50051", "referee.v1.GameService/WatchGame"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )
    hold(watcher.stdout.readline(), "nothing is watched")
    code = (
        "import socket, sys, time\n"
        f"kept = [socket.create_connection(('{SERVER}', 50051)) for _ in range(2)]\n"
        "kept[1].send(b'PRI * HTTP/2')\nprint('open', flush=True)\ntime.sleep(600)\n"
    )
    process = subprocess.Popen([*network.at("client"), sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    hold(process.stdout.readline() == "open\n", "no connection")
    return process, watcher


def silent_client(network, folder, referee, grpcurl):
    """Ends a server with clients that hold on, once with the cable to them cut."""
    drain = 3
    for is_cut in (False, True):
        server = serve(network, folder, referee, "--drain-timeout-seconds", drain)
        clients = connect_silently(network, grpcurl)
        try:
            if is_cut:
                network.drop("server", f"ip saddr {CLIENT}")
            code, took = server.end(drain + 10)
            hold(code == 0 and took < drain + 2, f"exit {code} after {took:.1f} s (cut: {is_cut})")
            print(f"    silent clients{', cable cut' if is_cut else ''}: exit 0 after {took:.1f} s")
        finally:
            for client in clients:
                client.kill()
                client.wait()
            server.close()
            if is_cut:
                network.heal("server")


def ask(network, grpcurl, method, request):
    said = run(*network.at("client"), grpcurl, "-plaintext", "-max-time", "10", "-d", json.dumps(request), f"{SERVER}:50051", method)
    return json.loads(said)


def one_way_loss(network, folder, referee, grpcurl):
    """Counts a job while packets of one way are lost: reports arrive and their answers do not."""
    server = serve(network, folder, referee)
    worker = Program(
        network, "client", folder, "worker", referee, "worker", "--server", f"http://{SERVER}:50051",
        "--threads", "1", "--hash", "64",
    )
    helper = None
    job = "perftJobs/lossy"
    try:
        ask(network, grpcurl, "referee.v1.PerftService/CreatePerftJob",
            {"requestId": "lossy", "perftJobId": "lossy", "perftJob": {"depth": 7}})
        done = lambda: ask(network, grpcurl, "referee.v1.PerftService/GetPerftJob", {"name": job})["perftJob"]
        until("something is counted", 120, lambda: int(done().get("progress", {}).get("tasksDone", 0)) >= 1)
        # What the server sends arrives nowhere; what it gets, does.
        network.drop("client", f"ip saddr {SERVER} tcp sport 50051")
        time.sleep(14) # longer than a session lives without a sign
        network.heal("client")
        # And the other way round: the worker hears, and is not heard.
        time.sleep(3)
        network.drop("server", f"ip saddr {CLIENT} tcp dport 50051")
        time.sleep(14)
        network.heal("server")
        helper = Program(
            network, "client", folder, "helper", referee, "worker", "--server", f"http://{SERVER}:50051", "--threads", "1", "--hash", "64",
        )
        over = until("the job is over", 300, lambda: (lambda found: found["state"] in ("STATE_SUCCEEDED", "STATE_FAILED") and found)(done()))
        hold(over["state"] == "STATE_SUCCEEDED" and over["nodes"] == NODES_OF_START_7, f"{over}")
        hold(worker.process.poll() is None, "the worker gave up")
        print(f"    one-way loss: {over['nodes']} paths, exactly")
        for program in (worker, helper):
            code, _ = program.end(10)
            hold(code == 0, f"a worker ended with {code}")
    finally:
        for program in (worker, helper, server):
            if program:
                program.close()


def main(referee, grpcurl):
    network = Network()
    try:
        with tempfile.TemporaryDirectory() as folder:
            silent_client(network, folder, referee, grpcurl)
        with tempfile.TemporaryDirectory() as folder:
            one_way_loss(network, folder, referee, grpcurl)
    except (Failed, subprocess.TimeoutExpired) as error:
        sys.exit(f"namespaces: {error}")
    finally:
        network.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
