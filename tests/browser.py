"""A headless Chromium, controlled over pipes by its own protocol, so that no package is needed."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Page:
    """A page in a separate browser, which takes seconds to start: the tests of a module share one.

    Attributes
    ----------
    complaints
        Errors on the console, and uncaught exceptions.
    requests
        The requested addresses.
    """

    def __init__(self, folder: Path) -> None:
        assert CHROMIUM is not None
        self.complaints: list[str] = []
        self.requests: list[str] = []
        read, their_write = os.pipe()
        their_read, write = os.pipe()
        # The browser reads from its descriptor 3, and writes to 4.
        words = f'exec "$0" "$@" 3<&{their_read} 4>&{their_write}'
        flags = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--remote-debugging-pipe",
            "--hide-scrollbars",
        ]
        self._browser = subprocess.Popen(
            ["bash", "-c", words, CHROMIUM, *flags, f"--user-data-dir={folder}", "about:blank"],
            pass_fds=[their_read, their_write],
            stderr=subprocess.DEVNULL,
        )
        os.close(their_read)
        os.close(their_write)
        self._answers, self._orders = os.fdopen(read, "rb"), os.fdopen(write, "wb")
        self._rest, self._number, self._session = b"", 0, None
        target = self.order("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.order("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.order(f"{domain}.enable")

    def __enter__(self) -> Page:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._browser.terminate()
        self._browser.wait(20)
        self._answers.close()
        self._orders.close()

    def order(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command, and return its result."""
        self._number += 1
        order = {"id": self._number, "method": method, "params": params}
        self._orders.write(
            json.dumps(order | ({"sessionId": self._session} if self._session else {})).encode()
        )
        self._orders.write(b"\0")
        self._orders.flush()
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return dict(answer["result"])
            self._note(answer)

    def reset(self) -> Page:
        """Leave the page shown, and forget what was asked for and complained about."""
        self.open("about:blank")
        self.until("location.href", lambda address: address == "about:blank")
        self.order("Emulation.clearDeviceMetricsOverride")
        self.order("Emulation.setEmulatedMedia", features=[])
        self.complaints.clear()
        self.requests.clear()
        return self

    def open(self, address: str) -> None:
        """Go to an address."""
        self.order("Page.navigate", url=address)

    def value(self, expression: str) -> Any:
        """The value of an expression in the page, which may be a promise."""
        given = self.order("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        return given["result"].get("value")

    def until(self, expression: str, holds: Callable[[Any], bool] = bool, seconds: float = 60) -> Any:
        """The value of an expression once ``holds`` is true of it, polled with a timer in the page."""
        pause = "new Promise((done) => setTimeout(done, 50))"
        for _ in range(int(seconds / 0.05)):
            if holds(value := self.value(f"(() => {{ return {expression} }})()")):
                return value
            self.value(pause)
        raise AssertionError(f"{expression} is still {value!r}")

    def picture(self, path: Path, width: int, height: int, dark: bool, phone: bool = False) -> None:
        """Take a screenshot of the page at a given size."""
        self.order(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=phone,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.order("Emulation.setEmulatedMedia", features=[scheme])
        self.value("new Promise((done) => setTimeout(done, 2500))")
        path.write_bytes(base64.b64decode(self.order("Page.captureScreenshot", format="png")["data"]))

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            read = os.read(self._answers.fileno(), 1 << 16)
            assert read, "the browser has gone"
            self._rest += read
        message, _, self._rest = self._rest.partition(b"\0")
        return dict(json.loads(message))

    def _note(self, event: dict[str, Any]) -> None:
        params = event.get("params", {})
        if event["method"] == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif event["method"] == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(params["exceptionDetails"]))
        elif event["method"] == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.complaints.append(params["entry"]["text"])
        elif event["method"] == "Runtime.consoleAPICalled" and params["type"] in ("error", "assert"):
            self.complaints.append(json.dumps(params["args"]))
