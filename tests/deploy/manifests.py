"""Renders the overlays of deploy/, validates every object against the schema of its kind, and holds them to
the policies of policies.py; then plants a fault for each policy, which must be found by its name.

    python manifests.py KUSTOMIZE REFEREE DEFINITION...

The definitions are files with the kinds that Kubernetes does not have itself.
"""
import copy
import functools
import json
import pathlib
import re
import subprocess
import sys

import jsonschema
import kubernetes_validate
import yaml

import policies

ROOT = pathlib.Path(__file__).resolve().parents[2]
VERSION = "1.32"
OVERLAYS = ["deploy/overlays/single", "deploy/overlays/workers", "tests/deploy/everything"]
FAULTS = ROOT / "tests/data/deploy/faults.jsonl"


def render(kustomize, overlay):
    """Returns the objects of an overlay."""
    ran = subprocess.run([kustomize, "build", ROOT / overlay], capture_output=True, text=True)
    if ran.returncode or ran.stderr:
        sys.exit(f"{overlay}: {ran.stderr}")
    return [one for one in yaml.safe_load_all(ran.stdout) if one]


def settings(referee):
    """Returns the variables that each command knows."""
    known = {}
    for command in (["serve"], ["worker"], ["store", "backup"]):
        ran = subprocess.run([referee, *command, "--help"], capture_output=True, text=True, check=True)
        known[command[0]] = set(re.findall(r"\[env: (REFEREE_\w+)", ran.stdout))
    return known


def strict(schema):
    """Returns the schema of a definition, in which fields that it does not name are wrong."""
    if isinstance(schema, list):
        return [strict(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: strict(value) for key, value in schema.items() if key not in ("properties", "default")}
    if "properties" in schema:
        made["properties"] = {key: strict(value) for key, value in schema["properties"].items()}
        open_ended = schema.get("x-kubernetes-preserve-unknown-fields")
        if schema.get("type") == "object" and not open_ended:
            made.setdefault("additionalProperties", False)
    if schema.get("x-kubernetes-int-or-string"):
        made.pop("type", None)
    return made


def definitions(files):
    """Returns the schema of each kind that is defined in files."""
    found = {}
    for file in files:
        for one in yaml.load_all(pathlib.Path(file).read_text(), yaml.CSafeLoader):
            if not one or one["kind"] != "CustomResourceDefinition":
                continue
            for version in one["spec"]["versions"]:
                schema = strict(version["schema"]["openAPIV3Schema"])
                schema["properties"]["metadata"] = {"type": "object"}
                kind = f"{one['spec']['group']}/{version['name']}", one["spec"]["names"]["kind"]
                found[kind] = schema
    return found


def validate(one, defined):
    """Yields what is wrong with an object by the schema of its kind."""
    kind = one["apiVersion"], one["kind"]
    try:
        if "." in kind[0] and not kind[0].partition("/")[0].endswith(".k8s.io") or kind in defined:
            if kind not in defined:
                yield f"{policies.name(one)}: nobody defines {kind[0]} {kind[1]}"
                return
            jsonschema.Draft202012Validator(defined[kind]).validate(one)
        else:
            kubernetes_validate.validate(one, VERSION, strict=True)
    except (jsonschema.ValidationError, kubernetes_validate.ValidationError) as error:
        where = "/".join(str(step) for step in error.path)
        yield f"{policies.name(one)}: {where}: {error.message}"
    except kubernetes_validate.SchemaNotFoundError:
        yield f"{policies.name(one)}: Kubernetes {VERSION} has no {kind[0]} {kind[1]}"


def problems(objects, known, defined):
    """Returns what is wrong with an overlay, each with the name of the policy that it breaks."""
    found = [("schema", text) for one in objects for text in validate(one, defined)]
    if found:
        return found
    overlay = policies.Overlay(objects, known)
    return [(policy.__name__, text) for policy in policies.POLICIES for text in policy(overlay)]


def plant(objects, fault):
    """Returns the objects of an overlay with a fault in them."""
    made = copy.deepcopy(objects)
    kind, _, name = fault["object"].partition("/")
    found = [one for one in made if one["kind"] == kind and re.fullmatch(name, one["metadata"]["name"])]
    if not found:
        sys.exit(f"there is no {fault['object']} to plant a fault in")
    if fault.get("remove_object"):
        return [one for one in made if one not in found]
    *steps, last = fault["path"]
    place = functools.reduce(lambda at, step: at[step], steps, found[0])
    if "value" in fault:
        if isinstance(place, list) and last == len(place):
            place.append(fault["value"])
        else:
            place[last] = fault["value"]
    else:
        del place[last]
    return made


def main(kustomize, referee, *files):
    known, defined = settings(referee), definitions(files)
    rendered = {overlay: render(kustomize, overlay) for overlay in OVERLAYS}
    wrong = []
    for overlay, objects in rendered.items():
        found = problems(objects, known, defined)
        wrong += [f"{overlay}: {policy}: {text}" for policy, text in found]
        print(f"{overlay}: {len(objects)} objects")
    if wrong:
        sys.exit("\n".join(wrong))
    faults = [json.loads(line) for line in FAULTS.read_text().splitlines()]
    missing = {one.__name__ for one in policies.POLICIES} | {"schema"}
    for fault in faults:
        found = problems(plant(rendered[fault["overlay"]], fault), known, defined)
        if {policy for policy, _ in found} != {fault["policy"]}:
            wrong.append(f"{fault}: found is {found or 'nothing'}")
        missing.discard(fault["policy"])
    wrong += [f"no fault is planted for {policy}" for policy in sorted(missing)]
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"{len(faults)} planted faults are found by the name of the policy that they break")


if __name__ == "__main__":
    main(*sys.argv[1:])
