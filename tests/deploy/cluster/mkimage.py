"""Makes an image of files, as `docker save` writes it: mkimage.py OUT.tar NAME:TAG ENTRYPOINT FILE=PATH..."""
import hashlib
import io
import json
import os
import sys
import tarfile


def layer(files):
    """Returns the files, and the folders that every image has, as the one layer of an image."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        for folder, mode in (("tmp", 0o1777), ("etc", 0o755), ("data", 0o1777)):
            info = tarfile.TarInfo(folder)
            info.type, info.mode = tarfile.DIRTYPE, mode
            tar.addfile(info)
        for source, _, target in (file.partition("=") for file in files):
            source = os.path.realpath(source)
            info = tar.gettarinfo(source, arcname=target.lstrip("/"))
            info.uid, info.gid, info.mode = 0, 0, 0o755
            with open(source, "rb") as opened:
                tar.addfile(info, opened)
    return made.getvalue()


def main(out, name, entry, *files):
    content = layer(files)
    digest = hashlib.sha256(content).hexdigest()
    config = json.dumps({
        "architecture": "amd64",
        "os": "linux",
        "config": {"Entrypoint": [entry], "Env": ["PATH=/usr/bin:/bin"]},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
    }).encode()
    config_name = f"{hashlib.sha256(config).hexdigest()}.json"
    manifest = [{"Config": config_name, "RepoTags": [name], "Layers": [f"{digest}/layer.tar"]}]
    with tarfile.open(out, "w") as tar:
        for file, data in (
            (config_name, config),
            (f"{digest}/layer.tar", content),
            ("manifest.json", json.dumps(manifest).encode()),
        ):
            info = tarfile.TarInfo(file)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))


if __name__ == "__main__":
    main(*sys.argv[1:])
