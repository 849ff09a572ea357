#!/usr/bin/env python3
"""Opens the page over all reports in headless Chromium and says what is wrong with it.

    ulpgate run && python3 scripts/check_html.py reports/index.html [--screenshots FOLDER]

Needs Debian's package chromium (or another Chromium by CHROMIUM=PATH) and nothing beyond Python's standard library.
Checked in light and dark, on screens 1280 and 400 pixels wide and on paper: no message on the console and no request,
no text or drawing below the contrast that WCAG 2.2 asks of it (AA), no overflow of the page's width, no number broken
at its hyphen, at most 12 screens of 1280 by 900 pixels before anything is opened, every chart with as many points as it
promises, a name for whatever the keyboard reaches, the keyboard reaching all that can be used with a focus that is
seen, headings without a leap, ids that are there once and links that lead somewhere, the search by case id, the filters
and the order. Exit status: 0 nothing wrong, 1 something is, 2 no Chromium or no page.
"""

import argparse
import base64
import itertools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

# Evaluated in the page: each gives a list of complaints.
CHECKS = (pathlib.Path(__file__).parent / "check_html.js").read_text()
SCREENS = [("light", 1280), ("dark", 1280), ("light", 400), ("dark", 400)]
# What can be focused; as many Tab presses must reach all of it.
FEW = 60
MOST_SCREENS = 12


class Browser:
    """Chromium spoken to by the DevTools protocol over its pipes: JSON with a zero byte behind it."""

    def __init__(self, program, profile):
        (read_commands, self.commands), (self.answers, write_answers) = os.pipe(), os.pipe()

        def as_three_and_four():
            first, second = os.dup(read_commands), os.dup(write_answers)
            os.dup2(first, 3)
            os.dup2(second, 4)

        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                   "--no-first-run", "--disable-background-networking", "--remote-debugging-pipe",
                   f"--user-data-dir={profile}", "about:blank"]
        self.process = subprocess.Popen([program, *options], preexec_fn=as_three_and_four, close_fds=False,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(read_commands)
        os.close(write_answers)
        self.numbers, self.buffer, self.events, self.session = itertools.count(1), b"", [], None
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def receive(self):
        while b"\0" not in self.buffer:
            more = os.read(self.answers, 1 << 20)
            if not more:
                sys.exit("Chromium ended before it answered")
            self.buffer += more
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def send(self, method, **params):
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.commands, data):]
        while True:
            answer = self.receive()
            if answer.get("id") == number:
                if "error" in answer:
                    sys.exit(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def evaluate(self, expression):
        result = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            sys.exit(f"{expression[:80]}: {result['exceptionDetails']['exception'].get('description')}")
        return result["result"].get("value")

    def open(self, address):
        self.send("Page.navigate", url=address)
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self.receive())

    def show(self, scheme, width, medium=""):
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.send("Emulation.setEmulatedMedia", media=medium, features=features)

    def press_tab(self):
        for kind in ("keyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)

    def picture(self, path, height=None):
        """The window, or the page from its top to a height."""
        clip = {}
        if height:
            width = self.evaluate("innerWidth")
            clip = {"captureBeyondViewport": True, "clip": {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}}
        path.write_bytes(base64.b64decode(self.send("Page.captureScreenshot", format="png", **clip)["data"]))

    def close(self):
        self.send("Browser.close")
        self.process.wait(timeout=30)


def of_console(events):
    """What the console said, and what was asked of the network: nothing but the page itself."""
    asked = 0
    for event in events:
        params = event.get("params", {})
        match event.get("method"):
            case "Runtime.consoleAPICalled":
                yield f"console: {[part.get('value') for part in params['args']]}"
            case "Runtime.exceptionThrown":
                yield f"exception: {params['exceptionDetails'].get('exception', {}).get('description')}"
            case "Log.entryAdded":
                yield f"log: {params['entry']['text']}"
            case "Network.requestWillBeSent":
                asked += 1
                if asked > 1:
                    yield f"request: {params['request']['url'][:100]}"


def of_keyboard(browser):
    """Tab reaches all that can be used before the closed parts, in the order of the page, and shows where it is."""
    browser.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
    expected = browser.evaluate("ulpgate.focusable().length")
    reached = set()
    for _ in range(min(expected, FEW)):
        browser.press_tab()
        state = browser.evaluate("ulpgate.focus()")
        if state["at"] < 0:
            yield f"keyboard: Tab leads to {state['what']}, which nothing expects"
        if not state["outlined"]:
            yield f"keyboard: focus on {state['what']} is not seen"
        reached.add(state["at"])
    missed = set(range(min(expected, FEW))) - reached
    if missed:
        yield f"keyboard: {len(missed)} of the first {min(expected, FEW)} are not reached, such as number {min(missed)}"


def complaints(browser, address, folder):
    browser.open(address)
    browser.evaluate(CHECKS)
    for scheme, width in SCREENS:
        browser.show(scheme, width)
        if folder:
            browser.picture(folder / f"{scheme}-{width}.png", 3000)
        for line in browser.evaluate("ulpgate.looks()"):
            yield f"{scheme}, {width} pixels: {line}"
        if width == 400:
            browser.evaluate("ulpgate.unfold(true)")
            for line in browser.evaluate("ulpgate.looks()"):
                yield f"{scheme}, {width} pixels, unfolded: {line}"
            browser.evaluate("ulpgate.unfold(false)")
    browser.show("light", 1280)
    screens = browser.evaluate("document.documentElement.scrollHeight") / 900
    if screens > MOST_SCREENS:
        yield f"1280 pixels: {screens:.1f} screens before anything is opened, of which {MOST_SCREENS} are permitted"
    for line in browser.evaluate("ulpgate.structure()"):
        yield line
    for line in browser.evaluate("ulpgate.search()"):
        yield line
    for line in browser.evaluate("ulpgate.filters()"):
        yield line
    yield from of_keyboard(browser)
    if folder:
        browser.evaluate("ulpgate.sections()")
        for number, (name, at) in enumerate(browser.evaluate("ulpgate.sections()")):
            for scheme in ("light", "dark"):
                browser.show(scheme, 1280)
                browser.evaluate(f"scrollTo(0, {at})")
                browser.picture(folder / f"section-{number:02}-{name}-{scheme}.png")
    # Paper is light, whatever the screen is.
    browser.show("dark", 1000, "print")
    for line in browser.evaluate("ulpgate.paper()"):
        yield f"paper: {line}"
    for line in browser.evaluate("ulpgate.looks()"):
        yield f"paper: {line}"
    browser.show("dark", 1280)
    printed = browser.send("Page.printToPDF", printBackground=True, preferCSSPageSize=True)["data"]
    if folder:
        (folder / "paper.pdf").write_bytes(base64.b64decode(printed))
    yield from of_console(browser.events)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("--screenshots", type=pathlib.Path, metavar="FOLDER", help="keep pictures, and the page on paper")
    arguments = parser.parse_args()
    program = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if not program or not arguments.page.is_file():
        why = f"no file {arguments.page}" if program else "no Chromium; Debian's package is called chromium"
        print(f"NOT CHECKED: {why}", file=sys.stderr)
        return 2
    if arguments.screenshots:
        arguments.screenshots.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as profile:
        browser = Browser(program, profile)
        found = list(complaints(browser, arguments.page.resolve().as_uri(), arguments.screenshots))
        browser.close()
    for line in found:
        print(line)
    print(f"{len(found)} complaints" if found else "Nothing to complain about.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
