"""What every rendered overlay of deploy/ has to keep to: one function for each policy, which yields what is
wrong. The name of the function is the name of the policy, and tests/data/deploy/faults.jsonl has a fault
for each.
"""
import re

WORKLOADS = ("StatefulSet", "Deployment", "CronJob", "Job", "DaemonSet")
DRAINED = {"StatefulSet", "Deployment"}


class Overlay:
    """The objects of an overlay, and the settings that the program knows."""

    def __init__(self, objects, settings):
        self.objects = objects
        self.settings = settings

    def of(self, *kinds):
        return [one for one in self.objects if one["kind"] in kinds]

    def templates(self):
        """Yields each workload with its template of pods."""
        for one in self.of(*WORKLOADS):
            spec = one["spec"]
            spec = spec["jobTemplate"]["spec"] if one["kind"] == "CronJob" else spec
            yield one, spec["template"]

    def containers(self):
        """Yields each container with the name of its workload and the spec of its pod."""
        for one, template in self.templates():
            for container in template["spec"]["containers"]:
                yield f"{name(one)}/{container['name']}", container, template["spec"]

    def variables(self):
        """Yields each variable with the command that obeys it and its value."""
        maps = {one["metadata"]["name"]: one.get("data", {}) for one in self.of("ConfigMap")}
        for _, container, _ in self.containers():
            command = container["args"][0]
            for source in container.get("envFrom", []):
                found = maps.get(source.get("configMapRef", {}).get("name"), {})
                yield from ((command, key, value) for key, value in found.items())
            for one in container.get("env", []):
                yield command, one["name"], one.get("value")


def name(one):
    return f"{one['kind']}/{one['metadata']['name']}"


def matches(selector, labels):
    return all(labels.get(key) == value for key, value in selector.get("matchLabels", {}).items())


def no_root(overlay):
    for one, template in overlay.templates():
        context = template["spec"].get("securityContext", {})
        if context.get("runAsNonRoot") is not True or context.get("runAsUser") != 65532:
            yield f"{name(one)}: runs as root, or as nobody in particular"


def read_only_root(overlay):
    for where, container, _ in overlay.containers():
        if container.get("securityContext", {}).get("readOnlyRootFilesystem") is not True:
            yield f"{where}: writes to its image"


def no_capabilities(overlay):
    for where, container, _ in overlay.containers():
        found = container.get("securityContext", {}).get("capabilities", {})
        if found.get("drop") != ["ALL"] or found.get("add"):
            yield f"{where}: keeps capabilities"


def no_escalation(overlay):
    for where, container, _ in overlay.containers():
        context = container.get("securityContext", {})
        if context.get("allowPrivilegeEscalation") is not False or context.get("privileged"):
            yield f"{where}: may gain privileges"


def seccomp(overlay):
    for one, template in overlay.templates():
        context = template["spec"].get("securityContext", {})
        if context.get("seccompProfile", {}).get("type") != "RuntimeDefault":
            yield f"{name(one)}: may call whatever the kernel has"


def no_host(overlay):
    for one, template in overlay.templates():
        spec = template["spec"]
        shared = any(spec.get(key) for key in ("hostNetwork", "hostPID", "hostIPC"))
        paths = any("hostPath" in volume for volume in spec.get("volumes", []))
        ports = any("hostPort" in port for box in spec["containers"] for port in box.get("ports", []))
        if shared or paths or ports:
            yield f"{name(one)}: takes something of its node"


def no_account(overlay):
    for one, template in overlay.templates():
        spec = template["spec"]
        if spec.get("automountServiceAccountToken") is not False:
            yield f"{name(one)}: gets a token of Kubernetes that it has no use for"
        if spec.get("enableServiceLinks") is not False:
            yield f"{name(one)}: gets variables of every service, which may look like settings"


def requests(overlay):
    for where, container, _ in overlay.containers():
        asked = container.get("resources", {}).get("requests", {})
        if not {"cpu", "memory"} <= set(asked):
            yield f"{where}: asks for nothing, so that nobody knows where it fits"


def limits(overlay):
    for where, container, _ in overlay.containers():
        found = container.get("resources", {}).get("limits", {})
        if "memory" not in found or "cpu" in found:
            yield f"{where}: wants a limit of memory, and none of processors, which would throttle it"


def image(overlay):
    for where, container, _ in overlay.containers():
        tag = container["image"].rpartition("/")[2].partition(":")[2]
        if "@sha256:" not in container["image"] and tag in ("", "latest"):
            yield f"{where}: {container['image']} is another image tomorrow"


def probes(overlay):
    for one in overlay.of("StatefulSet"):
        for container in one["spec"]["template"]["spec"]["containers"]:
            wanted = {"startupProbe": "/live", "readinessProbe": "/ready", "livenessProbe": "/live"}
            for probe, path in wanted.items():
                found = container.get(probe, {}).get("httpGet", {})
                if (found.get("path"), found.get("port")) != (path, "admin"):
                    yield f"{name(one)}: {probe} does not ask {path} of the admin listener"


def drain(overlay):
    """The sleep before the end and the drain are over before the pod is killed."""
    settings = {key: value for command, key, value in overlay.variables() if command == "serve"}
    for one in overlay.of("StatefulSet"):
        spec = one["spec"]["template"]["spec"]
        for container in spec["containers"]:
            before = container.get("lifecycle", {}).get("preStop", {}).get("sleep", {}).get("seconds")
            drains = int(settings.get("REFEREE_DRAIN_TIMEOUT_SECONDS", 10))
            grace = spec.get("terminationGracePeriodSeconds", 30)
            if not before or before + drains >= grace:
                yield f"{name(one)}: sleeps {before}, drains {drains}, and is killed after {grace} s"


def disruption(overlay):
    budgets = overlay.of("PodDisruptionBudget")
    for one, template in overlay.templates():
        if one["kind"] not in DRAINED:
            continue
        labels = template["metadata"]["labels"]
        found = [budget for budget in budgets if matches(budget["spec"]["selector"], labels)]
        good = len(found) == 1 and found[0]["spec"].get("maxUnavailable") not in (None, 0, "0%")
        if not good or found[0]["spec"].get("unhealthyPodEvictionPolicy") != "AlwaysAllow":
            yield f"{name(one)}: a drain of its node has no budget, or never ends"


def spread(overlay):
    for one, template in overlay.templates():
        if one["kind"] not in DRAINED:
            continue
        labels = template["metadata"]["labels"]
        found = template["spec"].get("topologySpreadConstraints", [])
        if not any(matches(each["labelSelector"], labels) for each in found):
            yield f"{name(one)}: all its pods may be on one node"


def rollout(overlay):
    for one in overlay.of("Deployment"):
        found = one["spec"].get("strategy", {}).get("rollingUpdate", {})
        if found.get("maxUnavailable") != 0 or not one["spec"].get("minReadySeconds"):
            yield f"{name(one)}: old pods go before new ones are good"


def one_server(overlay):
    for one in overlay.of("StatefulSet"):
        if one["spec"].get("replicas") != 1:
            yield f"{name(one)}: each pod would have a store, and games, of its own"
        kept = one["spec"].get("persistentVolumeClaimRetentionPolicy", {})
        if kept.get("whenDeleted") == "Delete" or kept.get("whenScaled") == "Delete":
            yield f"{name(one)}: the games go with the StatefulSet"


def store_on_volume(overlay):
    for one in overlay.of("StatefulSet"):
        claims = {each["metadata"]["name"] for each in one["spec"].get("volumeClaimTemplates", [])}
        for container in one["spec"]["template"]["spec"]["containers"]:
            mounts = {each["mountPath"] for each in container["volumeMounts"] if each["name"] in claims}
            for command, key, value in overlay.variables():
                if key in ("REFEREE_STORE", "REFEREE_BACKUP_FOLDER") and command == "serve":
                    if not any(value == path or value.startswith(f"{path}/") for path in mounts):
                        yield f"{name(one)}: {key}={value} goes with the pod"


def encrypted(overlay):
    settings = {key: value for command, key, value in overlay.variables() if command == "serve"}
    if settings.get("REFEREE_INSECURE_LISTEN") != "false" or "REFEREE_TLS_KEY" not in settings:
        yield "the server encrypts nothing"
    for command, key, value in overlay.variables():
        if key == "REFEREE_SERVER" and not value.startswith("https://"):
            yield f"{command} asks {value} without encryption"
    for where, container, _ in overlay.containers():
        for word in container["args"]:
            if word.startswith("http://"):
                yield f"{where} asks {word} without encryption"


def credentials(overlay):
    settings = {key: value for command, key, value in overlay.variables() if command == "serve"}
    if settings.get("REFEREE_REQUIRE_CREDENTIALS") != "true":
        yield "the server asks nobody who they are"


def known_settings(overlay):
    for command, key, _ in overlay.variables():
        if key.startswith("REFEREE_") and key not in overlay.settings[command]:
            yield f"referee {command} knows no {key}"


def secrets(overlay):
    for one, template in overlay.templates():
        for volume in template["spec"].get("volumes", []):
            if "secret" in volume and volume["secret"].get("defaultMode") != 0o440:
                yield f"{name(one)}: everybody in the pod may read {volume['name']}"
        for container in template["spec"]["containers"]:
            if any("secretKeyRef" in one.get("valueFrom", {}) for one in container.get("env", [])):
                yield f"{name(one)}: a secret is in a variable"
    if overlay.of("Secret"):
        yield "a secret is among the manifests"


def hashed_settings(overlay):
    for where, container, _ in overlay.containers():
        for source in container.get("envFrom", []):
            found = source.get("configMapRef", {}).get("name", "")
            if not re.search(r"-[a-z0-9]{10}$", found):
                yield f"{where}: other settings in {found} are no rollout"


def restricted(overlay):
    found = overlay.of("Namespace")
    label = "pod-security.kubernetes.io/enforce"
    if not found or any(one["metadata"].get("labels", {}).get(label) != "restricted" for one in found):
        yield "the namespace lets pods do what they like"


def default_deny(overlay):
    for one in overlay.of("NetworkPolicy"):
        spec = one["spec"]
        denies = not spec.get("ingress") and not spec.get("egress")
        if spec["podSelector"] == {} and denies and set(spec["policyTypes"]) == {"Ingress", "Egress"}:
            return
    yield "what no policy names is let through"


def narrow(overlay):
    """Every way that is let through has a port and an end."""
    for one in overlay.of("NetworkPolicy"):
        for rule in one["spec"].get("ingress", []) + one["spec"].get("egress", []):
            ends = rule.get("from", []) + rule.get("to", [])
            if not rule.get("ports") or not ends or {} in ends:
                yield f"{name(one)}: a way without a port or an end"
            if any(end.get(key) == {} for end in ends for key in ("namespaceSelector", "podSelector")):
                yield f"{name(one)}: a way for everybody"


def services(overlay):
    """Every service has pods, and a port that they have."""
    pods = [template for one, template in overlay.templates()]
    for one in overlay.of("Service"):
        selector = {"matchLabels": one["spec"]["selector"]}
        found = [pod for pod in pods if matches(selector, pod["metadata"]["labels"])]
        ports = {
            port["name"] for pod in found for box in pod["spec"]["containers"] for port in box["ports"]
        }
        for port in one["spec"]["ports"]:
            if port["targetPort"] not in ports:
                yield f"{name(one)}: no pod has a port {port['targetPort']}"


def selectors(overlay):
    for one, template in overlay.templates():
        if "selector" in one["spec"] and not matches(one["spec"]["selector"], template["metadata"]["labels"]):
            yield f"{name(one)}: does not know its own pods"


def scaling(overlay):
    there = {name(one): one for one in overlay.objects}
    for one in overlay.of("ScaledObject"):
        target = there.get(f"Deployment/{one['spec']['scaleTargetRef']['name']}")
        if target is None:
            yield f"{name(one)}: scales nothing"
            continue
        if "replicas" in target["spec"]:
            yield f"{name(target)}: every apply would undo what the autoscaler did"
        for trigger in one["spec"]["triggers"]:
            url = re.match(r"http://([^.]+)\.([^.]+)\.svc:(\d+)/scale$", trigger["metadata"]["url"])
            service = there.get(f"Service/{url[1]}") if url else None
            ports = [port["port"] for port in service["spec"]["ports"]] if service else []
            if not url or url[2] != one["metadata"]["namespace"] or int(url[3]) not in ports:
                yield f"{name(one)}: asks where nobody answers"
            if trigger["metadata"]["valueLocation"] != "perft_wanted_threads":
                yield f"{name(one)}: reads what the server does not say"
            box = target["spec"]["template"]["spec"]["containers"][0]
            threads = {each["name"]: each.get("value") for each in box["env"]}
            if trigger["metadata"]["targetValue"] != threads.get("REFEREE_WORKER_THREADS"):
                yield f"{name(one)}: counts with other threads than a worker has"


POLICIES = [
    no_root, read_only_root, no_capabilities, no_escalation, seccomp, no_host, no_account, requests,
    limits, image, probes, drain, disruption, spread, rollout, one_server, store_on_volume, encrypted,
    credentials, known_settings, secrets, hashed_settings, restricted, default_deny, narrow, services,
    selectors, scaling,
]
