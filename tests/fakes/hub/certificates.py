"""Certificates made when a test begins, by the openssl program; nothing of the kind is in the tree.

DIR/ca.pem          what a client must trust for the Hub and its CDN
DIR/proxy-ca.pem    another authority, for the proxy alone
DIR/other-ca.pem    an authority that nobody should trust here
"""

import ssl
import subprocess
from pathlib import Path

_NAMES = "DNS:localhost,DNS:hub.test,DNS:*.hub.test,IP:127.0.0.1"
_DAYS = "30"


def server_context(
    folder: Path, authority: str = "ca", days: str = _DAYS, names: str = _NAMES
) -> ssl.SSLContext:
    """For a server whose certificate `authority` has signed; makes both if they are not there."""
    folder.mkdir(parents=True, exist_ok=True)
    authority_file = folder / f"{authority}.pem"
    if not authority_file.exists():
        _make_authority(folder, authority)
    name = f"{authority}-server"
    if not (folder / f"{name}.pem").exists():
        _make_server(folder, authority, name, days, names)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / f"{name}.pem", folder / f"{name}.key")
    return context


def _make_authority(folder: Path, name: str) -> None:
    _openssl(
        folder,
        "req",
        "-x509",
        *_new_key(name),
        "-out",
        f"{name}.pem",
        "-days",
        _DAYS,
        "-subj",
        f"/CN=Test authority {name}",
        "-addext",
        "basicConstraints=critical,CA:TRUE",
        "-addext",
        "keyUsage=critical,keyCertSign,cRLSign",
    )


def _make_server(folder: Path, authority: str, name: str, days: str, names: str) -> None:
    _openssl(folder, "req", *_new_key(name), "-out", f"{name}.csr", "-subj", "/CN=localhost")
    extensions = folder / f"{name}.ext"
    extensions.write_text(
        f"subjectAltName={names}\nbasicConstraints=CA:FALSE\nextendedKeyUsage=serverAuth\n"
    )
    _openssl(
        folder,
        "x509",
        "-req",
        "-in",
        f"{name}.csr",
        "-CA",
        f"{authority}.pem",
        "-CAkey",
        f"{authority}.key",
        "-CAcreateserial",
        "-out",
        f"{name}.pem",
        "-days",
        days,
        "-extfile",
        extensions.name,
    )


def _new_key(name: str) -> list:
    return [
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-keyout",
        f"{name}.key",
    ]


def _openssl(folder: Path, *arguments: str) -> None:
    done = subprocess.run(
        ["openssl", *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise ValueError(f"openssl {arguments[0]}: {done.stderr.strip()}")
