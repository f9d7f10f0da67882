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

from hub import misbehaviours
from hub.control import Control
from hub.git_service import WANTS, have_backend
from hub.root import Root
from hub.server import Listener
from hub.state import Hub, Options


def parse_arguments(arguments: list) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print every misbehaviour and leave")
    parser.add_argument("--json", action="store_true", help="with --list: as JSON")
    parser.add_argument("--root", type=Path, help="the folder to serve")
    parser.add_argument("--port", type=int, default=0, help="of the Hub itself; 0 takes a free one")
    parser.add_argument("--misbehave", action="append", default=[], metavar="NAME[=VALUE][:PATTERN][@HITS]")
    parser.add_argument("--pace", type=float, metavar="BYTES_PER_S", help="how fast contents are sent")
    parser.add_argument("--duration", type=float, metavar="SECONDS", help="how long each content takes")
    parser.add_argument("--page-size", type=int, default=1000, help="entries of one page of a tree")
    parser.add_argument("--wants", choices=WANTS, default="reachable",
                        help="which commits git serves beside what refs point to")
    parser.add_argument("--xet", action="store_true",
                        help="send the headers of Xet storage, which is not there (hf_xet then fails)")
    parser.add_argument("--stdin", action="store_true", help="leave when standard input ends")
    return parser.parse_args(arguments)


def print_list(as_json: bool) -> None:
    known = misbehaviours.catalogue()
    if as_json:
        rows = [{"name": one.name, "text": one.text, "kinds": list(one.kinds)} for one in known.values()]
        print(json.dumps(rows, indent=1))
        return
    for one in known.values():
        print(f"{one.name:28} {one.text}")


def start(options: argparse.Namespace, work: Path) -> tuple:
    """The running Hub and its ready line."""
    hub = Hub(Root(options.root), Options(options.pace, options.duration, options.page_size,
                                          options.xet, options.wants), work)
    listeners = [Listener(hub, "hub", None, options.port), Listener(hub, "cdn", None),
                 Listener(hub, "plain", None)]
    for text in options.misbehave:
        hub.misbehaviours.add(misbehaviours.parse_rule(text))
    control = Control(hub)
    for one in [*listeners, control]:
        one.start()
    ready = {"url": hub.urls["hub"], "cdn_url": hub.urls["cdn"], "control_url": control.url, "pid": os.getpid()}
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
        print("fake_hub: git http-backend is missing (it comes with Debian's package git)", file=sys.stderr)
        return 2
    work = Path(tempfile.mkdtemp(prefix="fake-hub-"))
    try:
        hub, ready = start(options, work)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: hub.stopping.set())
        if options.stdin:
            threading.Thread(target=lambda: (sys.stdin.buffer.read(), hub.stopping.set()), daemon=True).start()
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
