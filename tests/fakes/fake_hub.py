#!/usr/bin/env python3
"""A fake Hugging Face Hub on loopback. README.md in this folder is the manual.

    fake_hub.py --root HUB [--misbehave NAME[=VALUE][:PATTERN][@HITS]] ...
    fake_hub.py --list [--json]

When it is ready it prints one JSON line with its addresses, and it leaves when its standard input ends
(with --stdin), on SIGTERM, or when the control endpoint is told so.
"""

import argparse
import json
import os
import shutil
import signal
import sys
import tempfile
import threading
from pathlib import Path

from hub import certificates, misbehaviours, variants
from hub.control import Control
from hub.git_service import WANTS, have_backend
from hub.proxy import Proxy
from hub.root import Root
from hub.server import Listener
from hub.state import Hub, Options


def parse_arguments(arguments: list) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--list", action="store_true", help="print every misbehaviour and leave")
    parser.add_argument("--json", action="store_true", help="with --list: as JSON")
    parser.add_argument("--root", type=Path, help="the folder to serve")
    parser.add_argument("--port", type=int, default=0, help="of the Hub itself; 0 takes a free one")
    parser.add_argument(
        "--misbehave", action="append", default=[], metavar="NAME[=VALUE][:PATTERN][@HITS]"
    )
    parser.add_argument(
        "--pace", type=float, metavar="BYTES_PER_S", help="how fast contents are sent"
    )
    parser.add_argument(
        "--duration", type=float, metavar="SECONDS", help="how long each content takes"
    )
    parser.add_argument("--page-size", type=int, default=1000, help="entries of one page of a tree")
    parser.add_argument(
        "--wants",
        choices=WANTS,
        default="reachable",
        help="which commits git serves beside what refs point to",
    )
    parser.add_argument(
        "--xet",
        action="store_true",
        help="send the headers of Xet storage, which is not there (hf_xet then fails)",
    )
    parser.add_argument(
        "--tls", type=Path, metavar="DIR", help="speak https; certificates are made in DIR"
    )
    parser.add_argument(
        "--tls-untrusted",
        action="store_true",
        help="with --tls: certificates of an authority that is not in DIR/ca.pem",
    )
    parser.add_argument("--proxy", choices=("http", "https"), help="also run a proxy")
    parser.add_argument("--proxy-login", metavar="USER:PASSWORD", help="what the proxy asks for")
    parser.add_argument(
        "--variant",
        action="append",
        default=[],
        metavar="NAME[:REPOSITORY]",
        help="make this defective repository, of one or of all",
    )
    parser.add_argument("--stdin", action="store_true", help="leave when standard input ends")
    return parser.parse_args(arguments)


def print_list(as_json: bool) -> None:
    faults, defects = misbehaviours.catalogue().values(), variants.catalogue().values()
    if as_json:
        rows = [
            {
                "name": one.name,
                "text": one.text,
                "how": "misbehave",
                "kinds": list(one.kinds),
                "value": one.value,
            }
            for one in faults
        ]
        rows += [{"name": one.name, "text": one.text, "how": "variant"} for one in defects]
        print(json.dumps(rows, indent=1))
        return
    print("--misbehave NAME[=VALUE][:PATTERN][@HITS]")
    for one in faults:
        print(f"  {one.name:26} {one.text}{f' (VALUE: {one.value})' if one.value else ''}")
    print("--variant NAME")
    for one in defects:
        print(f"  {one.name:26} {one.text}")


def make_variants(root: Root, wanted: list) -> list:
    """NAME for every repository, or NAME:kernels/ns/name for one."""
    made, honest = [], [key for key in root.repositories() if not variants.is_variant(root, key)]
    for text in wanted:
        name, _, key = text.partition(":")
        made += [variants.make(root, one, name) for one in ([key] if key else honest)]
    return made


def start(options: argparse.Namespace, work: Path) -> tuple:
    """The running Hub and its ready line."""
    hub = Hub(
        Root(options.root),
        Options(options.pace, options.duration, options.page_size, options.xet, options.wants),
        work,
    )
    defective = make_variants(hub.root, options.variant)
    tls = None
    if options.tls is not None:
        certificates.server_context(options.tls)  # DIR/ca.pem must be there in either case
        tls = certificates.server_context(
            options.tls, "other-ca" if options.tls_untrusted else "ca"
        )
    servers = [
        Listener(hub, "hub", tls, options.port),
        Listener(hub, "cdn", tls),
        Listener(hub, "plain", None),
    ]
    for text in options.misbehave:
        hub.misbehaviours.add(misbehaviours.parse_rule(text))
    control = Control(hub)
    ready = {
        "url": hub.urls["hub"],
        "cdn_url": hub.urls["cdn"],
        "control_url": control.url,
        "pid": os.getpid(),
        "variants": defective,
    }
    if options.tls is not None:
        ready["ca_file"] = str(options.tls.resolve() / "ca.pem")
    if options.proxy:
        folder = options.tls or work
        proxy_tls = (
            certificates.server_context(folder, "proxy-ca") if options.proxy == "https" else None
        )
        servers.append(Proxy(hub, proxy_tls, options.proxy_login))
        ready["proxy_url"] = servers[-1].url
        if proxy_tls:
            ready["proxy_ca_file"] = str(folder.resolve() / "proxy-ca.pem")
    for one in [*servers, control]:
        one.start()
    return hub, ready


def main(arguments: list) -> int:
    options = parse_arguments(arguments)
    if options.list:
        print_list(options.json)
        return 0
    if options.root is None or not options.root.is_dir():
        print(f"fake_hub: --root: '{options.root}' is no folder", file=sys.stderr)
        return 2
    if not have_backend():
        print(
            "fake_hub: git http-backend is missing (it comes with Debian's package git)",
            file=sys.stderr,
        )
        return 2
    work = Path(tempfile.mkdtemp(prefix="fake-hub-"))
    try:
        hub, ready = start(options, work)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: hub.stopping.set())
        if options.stdin:
            threading.Thread(
                target=lambda: (sys.stdin.buffer.read(), hub.stopping.set()), daemon=True
            ).start()
        print(json.dumps(ready), flush=True)
        hub.stopping.wait()
    except ValueError as error:
        print(f"fake_hub: {error}", file=sys.stderr)
        return 2
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
