#!/usr/bin/env python3
"""Looks at HTML pages in headless Chromium, as wide as a laptop's window and as a phone, light and dark.

  pages.py check BROWSER PICTURES PAGE...   prints "ok - ..." or "not ok - ..." for each page, width and colour scheme:
                                            nothing reaches beyond the viewport, outside of marked containers that
                                            scroll; texts have a contrast of 4.5; keys reach what can be clicked. Writes
                                            PICTURES/NAME-WIDTH-SCHEME.png
  pages.py shot BROWSER FILE PAGE WIDTH HEIGHT SCHEME
                                            one picture

The browser is spoken to through two pipes (--remote-debugging-pipe); nothing but Python's own library is needed.
"""
import base64
import json
import os
import pathlib
import subprocess
import sys
import tempfile

WIDTHS = (1280, 390)
SCHEMES = ("light", "dark")
CONTRAST = 4.5  # of WCAG 2.1, level AA


class Browser:
    """One page of a headless browser."""

    def __init__(self, program):
        self.folder = tempfile.TemporaryDirectory(prefix="gabbro-browser")
        to_read, self.to = os.pipe()
        self.of, of_write = os.pipe()

        def pipes():
            # Whatever the numbers are, they end up as 3 and 4.
            read, write = os.dup(to_read), os.dup(of_write)
            high_read, high_write = (fcntl_dup(read), fcntl_dup(write))
            os.dup2(high_read, 3)
            os.dup2(high_write, 4)

        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
             "--disable-background-networking", "--remote-debugging-pipe", f"--user-data-dir={self.folder.name}",
             "about:blank"],
            preexec_fn=pipes, close_fds=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(of_write)
        self.number, self.rest, self.session = 0, b"", None
        page = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        self.call("Page.enable")

    def receive(self):
        while b"\0" not in self.rest:
            got = os.read(self.of, 1 << 20)
            if not got:
                raise RuntimeError("the browser ended")
            self.rest += got
        line, self.rest = self.rest.split(b"\0", 1)
        return json.loads(line)

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def open(self, path, width, height, scheme):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", media="", features=[{"name": "prefers-color-scheme", "value": scheme}])
        address = path if "://" in str(path) else pathlib.Path(path).resolve().as_uri()
        self.call("Page.navigate", url=address)
        while self.receive().get("method") != "Page.loadEventFired":
            pass

    def print_media(self):
        self.call("Emulation.setEmulatedMedia", media="print", features=[])

    def evaluate(self, script):
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"]["exception"]["description"])
        return result["result"].get("value")

    def picture(self, path):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))

    def close(self):
        try:
            self.call("Browser.close")
        except (RuntimeError, OSError):
            pass
        self.process.wait(30)
        self.folder.cleanup()


def fcntl_dup(number):
    """A copy of a descriptor with a number above those that the browser reads."""
    import fcntl
    return fcntl.fcntl(number, fcntl.F_DUPFD, 10)


# Names of elements that reach beyond the viewport, or beyond a container that scrolls without being marked for it.
BEYOND = """(() => {
  const wide = [];
  if (document.documentElement.scrollWidth > innerWidth)
    wide.push('document: ' + document.documentElement.scrollWidth + ' > ' + innerWidth);
  for (const e of document.body.querySelectorAll('*')) {
    const box = e.getBoundingClientRect();
    if (!box.width || e.closest('.wide') && !e.matches('.wide') || e.closest('svg') && !e.matches('svg') ||
        e.closest('.skip, .unseen'))
      continue;
    if (box.right > innerWidth + 1 || box.left < -1)
      wide.push(e.tagName + '.' + e.className + ' ' + Math.round(box.left) + '..' + Math.round(box.right));
  }
  return wide.slice(0, 5);
})()"""

# Texts whose contrast with what is behind them is too low.
PALE = """(() => {
  const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const pixel = color => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1);
    return canvas.getImageData(0, 0, 1, 1).data; };
  const over = (a, b) => [0, 1, 2].map(i => a[i] * a[3] / 255 + b[i] * (1 - a[3] / 255));
  const light = c => { const v = c.map(x => x / 255).map(x => x <= .04045 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4);
    return .2126 * v[0] + .7152 * v[1] + .0722 * v[2]; };
  const behind = e => { const own = pixel(getComputedStyle(e).backgroundColor);
    return e.parentElement ? over(own, behind(e.parentElement)) : over(own, pixel('Canvas').slice(0, 3)); };
  const bad = new Set();
  for (const e of document.body.querySelectorAll('*')) {
    const style = getComputedStyle(e), svg = e.closest('svg');
    if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()) || e.closest('script, title, .unseen, .skip') ||
        !e.getClientRects().length || svg && e.tagName !== 'text')
      continue;
    const back = behind(svg ? svg.parentElement : e), ink = over(pixel(svg ? style.fill : style.color), back);
    const a = light(ink), b = light(back), ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (ratio < LEAST)
      bad.add(e.tagName + '.' + (e.getAttribute('class') || '') + ' ' + ratio.toFixed(2));
  }
  return [...bad].slice(0, 5);
})()""".replace("LEAST", str(CONTRAST))

# What a pointer can use and a key cannot: scripts' handlers on what has no focus, and containers that scroll.
UNREACHED = """(() => {
  const bad = [];
  for (const e of document.querySelectorAll('.wide'))
    if (e.scrollWidth > e.clientWidth && e.tabIndex < 0) bad.push('a container that scrolls and has no tabindex');
  for (const e of document.querySelectorAll('[onclick], a:not([href])'))
    if (e.tabIndex < 0) bad.push(e.tagName + ' ' + e.textContent.slice(0, 30));
  if (!document.querySelector('a.skip[href^="#"]')) bad.push('no skip link');
  const to = document.querySelector('a.skip');
  if (to && !document.querySelector(to.getAttribute('href'))) bad.push('the skip link leads nowhere');
  for (const e of document.querySelectorAll('svg'))
    if (!e.closest('[aria-hidden=true]') && !e.parentElement.closest('svg') && !(e.getAttribute('role') === 'img' &&
        (e.getAttribute('aria-label') || e.getAttribute('aria-labelledby') || e.querySelector('title'))))
      bad.push('an SVG without a text');
  for (const e of document.querySelectorAll('img:not([alt])')) bad.push('an image without a text');
  return bad.slice(0, 5);
})()"""

# What is printed of folds that are closed: all of it.
FOLDED = """(() => {
  document.querySelectorAll('details').forEach(d => d.open = false);
  return [...document.querySelectorAll('details>:not(summary)')].filter(e => !e.checkVisibility(
    {contentVisibilityAuto: true, opacityProperty: true})).map(e => e.tagName + '.' + e.className).slice(0, 5);
})()"""

# With every fold open, so that what is in it is looked at too.
UNFOLD = "document.querySelectorAll('details').forEach(d => d.open = true)"


def check(program, pictures, pages):
    browser, failed = Browser(program), False
    os.makedirs(pictures, exist_ok=True)
    try:
        for page in pages:
            name = pathlib.Path(page).stem
            for width in WIDTHS:
                for scheme in SCHEMES:
                    browser.open(page, width, 2000 if width > 600 else 844, scheme)
                    browser.picture(f"{pictures}/{name}-{width}-{scheme}.png")
                    wide = browser.evaluate(BEYOND)
                    browser.evaluate(UNFOLD)
                    found = [("nothing reaches beyond the viewport", wide or browser.evaluate(BEYOND)),
                             (f"texts have a contrast of {CONTRAST}", browser.evaluate(PALE)),
                             ("keys reach what a pointer does, pictures have texts", browser.evaluate(UNREACHED))]
                    for what, wrong in found:
                        failed = failed or bool(wrong)
                        print(f"{'not ok' if wrong else 'ok'} - {name}, {width} px, {scheme}: {what}"
                              f"{': ' + '; '.join(wrong) if wrong else ''}")
            browser.print_media()
            wrong = browser.evaluate(FOLDED)
            failed = failed or bool(wrong)
            print(f"{'not ok' if wrong else 'ok'} - {name}, printed: what is folded is there"
                  f"{': ' + '; '.join(wrong) if wrong else ''}")
    finally:
        browser.close()
    return failed


def main():
    if sys.argv[1:2] == ["check"] and len(sys.argv) > 4:
        return check(sys.argv[2], sys.argv[3], sys.argv[4:])
    if sys.argv[1:2] == ["shot"] and len(sys.argv) == 8:
        browser = Browser(sys.argv[2])
        try:
            browser.open(sys.argv[4], int(sys.argv[5]), int(sys.argv[6]), sys.argv[7])
            browser.picture(sys.argv[3])
        finally:
            browser.close()
        return False
    sys.exit(__doc__)


if __name__ == "__main__":
    sys.exit(main())
