#!/usr/bin/env python3
"""A server that misbehaves in the ways that downloads meet: bad_server.py FILE PORT_FILE

Serves the bytes of FILE on 127.0.0.1 under /WAY/NAME, where WAY says what goes wrong, writes its port
to PORT_FILE and ends by itself after two minutes.
"""
import collections
import http.server
import os
import sys
import threading
import time

CONTENT = open(sys.argv[1], "rb").read()
OTHER = bytes(255 - byte for byte in CONTENT)
asked = collections.Counter()  # requests seen by path


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def reply(self, code, body=b"", length=None, **headers):
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if length != "chunked":
            self.send_header("Content-Length", str(len(body) if length is None else length))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = True

    def start(self):
        """First byte asked for, 0 without a range."""
        value = self.headers.get("Range", "bytes=0-")
        return int(value[len("bytes="):].split("-")[0])

    def send(self, content, etag, most=None, if_range=True):
        """A well-behaved answer, cut after `most` bytes."""
        start = self.start()
        if if_range and self.headers.get("If-Range", etag) != etag:
            start = 0
        if start and start >= len(content):
            self.reply(416, Content_Range="bytes */%d" % len(content))
            return
        rest = content[start:]
        headers = {"ETag": etag}
        if start:
            headers["Content_Range"] = "bytes %d-%d/%d" % (start, len(content) - 1, len(content))
        self.reply(206 if start else 200, rest[:most], len(rest), **headers)

    def do_GET(self):
        way = self.path.split("/")[1]
        asked[self.path] += 1
        time_asked = asked[self.path]
        third = len(CONTENT) // 3
        if way == "ok":
            self.send(CONTENT, '"a"')
        elif way == "breaks":  # a third with every request
            self.send(CONTENT, '"a"', most=third)
        elif way == "noranges":  # breaks off once, then sends everything
            self.reply(200, CONTENT[:third] if time_asked == 1 else CONTENT, len(CONTENT))
        elif way == "longer":  # promises more than it has
            self.reply(200, CONTENT, len(CONTENT) + 100)
        elif way == "shorter":  # promises less than the file has
            self.reply(200, CONTENT[:third], third)
        elif way == "redirect":
            self.reply(302, Location="/ok/x")
        elif way == "loop":
            self.reply(302, Location=self.path)
        elif way == "changes":  # another file after the first request
            if time_asked == 1:
                self.send(OTHER, '"old"', most=third)
            else:
                self.send(CONTENT, '"new"')
        elif way == "blind":  # the same, and it does not look at If-Range
            if time_asked == 1:
                self.send(OTHER, '"old"', most=third)
            else:
                self.send(CONTENT, '"new"', if_range=False)
        elif way == "patched":  # the same, and nothing tells that it changed
            if time_asked == 1:
                self.send(OTHER, '"a"', most=third)
            else:
                self.send(CONTENT, '"a"')
        elif way == "busy":  # recovers
            if time_asked < 3:
                self.reply(503, b"later", Retry_After="0")
            else:
                self.send(CONTENT, '"a"')
        elif way == "wrong":
            self.send(OTHER, '"a"')
        elif way == "unsaid":  # no length
            self.reply(200, CONTENT, "chunked")
        elif way == "stalls":
            if time_asked == 1:
                self.send_response(200)
                self.send_header("Content-Length", str(len(CONTENT)))
                self.send_header("ETag", '"a"')
                self.end_headers()
                self.wfile.write(CONTENT[:third])
                self.wfile.flush()
                time.sleep(8)
                self.close_connection = True
            else:
                self.send(CONTENT, '"a"')
        elif way == "slow":  # for the one who interrupts
            self.send_response(200)
            self.send_header("Content-Length", str(len(CONTENT)))
            self.send_header("ETag", '"a"')
            self.end_headers()
            self.wfile.write(CONTENT[:third])
            self.wfile.flush()
            time.sleep(20)
        else:
            self.reply(404, b"no such thing")


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
with open(sys.argv[2] + ".new", "w") as port_file:
    port_file.write(str(server.server_address[1]))
os.rename(sys.argv[2] + ".new", sys.argv[2])
threading.Timer(120, lambda: os._exit(0)).start()
server.serve_forever()
