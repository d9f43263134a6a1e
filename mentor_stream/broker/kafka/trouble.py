"""Why a connection fails, in words that a user can act upon."""

import errno
import os
import re
from typing import NamedTuple

from kafka import errors

from mentor_stream.broker.kafka.security import Security, where

CLOSES = "it closes the connection"
SILENT = "it does not answer"
_TLS_ALERT = 0x1503
"""How a TLS server's complaint begins; to a client that expects a length there it is one of 336 MB."""

_FOREIGN = re.compile(r"Invalid frame length|Correlation IDs do not match|UnrecognizedBroker")


class Trouble(NamedTuple):
    """One reason, and whether trying again may help."""

    reason: str
    passing: bool = True


def trouble(error: BaseException, security: Security) -> Trouble:
    """What an error of kafka-python's connections means for a client with this security."""
    text = " ".join(str(argument) for argument in getattr(error, "args", ())) or type(error).__name__
    if isinstance(error, errors.SaslAuthenticationFailedError):
        return Trouble(
            f"it refuses the user name and password ({text.split(': ', 1)[-1]}): check {where('username')}, "
            f"{where('password')} and that sasl_mechanism={security.mechanism} is the user's",
            passing=False,
        )
    if isinstance(error, errors.UnsupportedSaslMechanismError):
        return Trouble(
            f"it does not take sasl_mechanism={security.mechanism}: set {where('sasl_mechanism')} to one "
            "that it takes",
            passing=False,
        )
    if isinstance(error, errors.IllegalSaslStateError):
        return Trouble(
            "it asks for no password at this port: set "
            f"security_protocol={'SSL' if security.tls else 'PLAINTEXT'}, or name the port that does",
            passing=False,
        )
    if isinstance(error, errors.RequestTimedOutError):
        return Trouble(SILENT)
    if security.tls and (found := _of_tls(text, security)):
        return found
    if (length := re.search(r"Invalid frame length: (\d+)", text)) and int(length[1]) >> 16 == _TLS_ALERT:
        tls = "SASL_SSL" if security.sasl else "SSL"
        return Trouble(
            f"it speaks TLS at this port: set {where('security_protocol')} to {tls}", passing=False
        )
    if _FOREIGN.search(text):
        return Trouble(f"it does not speak Kafka at this port ({text})")
    return Trouble(_plain(text))


def _of_tls(text: str, security: Security) -> Trouble | None:
    lower = text.lower()
    if "certificate_verify_failed" in lower:
        if "mismatch" in lower:
            cure = "name it in run.broker as its certificate does"
        elif security.ca_file is None:
            cure = f"set {where('ssl_cafile')} to the certificate of the CA that signed the broker's"
        else:
            cure = f"is {security.ca_file} (ssl_cafile) the CA that signed the broker's?"
        return Trouble(f"its certificate is not trusted ({_of_openssl(text)}): {cure}", passing=False)
    if "wrong_version_number" in lower or "eof" in lower or "record_layer_failure" in lower:
        other = "SASL_PLAINTEXT" if security.sasl else "PLAINTEXT"
        return Trouble(
            f"it does not speak TLS at this port: name its TLS port, or set security_protocol={other}",
            passing="eof" in lower,
        )
    if "alert" in lower and security.certificate_file is None:
        return Trouble(
            f"it asks for a client certificate ({_of_openssl(text)}): set {where('ssl_certfile')}, and "
            f"{where('ssl_keyfile')}",
            passing=False,
        )
    if "alert" in lower:
        return Trouble(
            f"it does not accept our certificate ({_of_openssl(text)}): is {security.certificate_file} "
            "(ssl_certfile) signed by a CA that the broker trusts?",
            passing=False,
        )
    return None


def _of_openssl(text: str) -> str:
    """OpenSSL's words without its codes and line numbers."""
    found = re.search(r"\[SSL[^\]]*\]\s*(.*?)\s*(\(_ssl\.c:\d+\))?$", text)
    return found[1] if found else text


def _plain(text: str) -> str:
    numbered = re.match(r"(?:\[Errno )?(\d+)\]? ", text)
    if text == "socket disconnected" or (numbered and int(numbered[1]) == errno.ECONNRESET):
        return CLOSES
    return os.strerror(int(numbered[1])) if numbered else text
