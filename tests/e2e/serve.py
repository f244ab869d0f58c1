"""Clients of gabbro serve that curl is not: they do not look for an answer before all is sent, and pause.

serve.py URL: of a server with --seconds 2 --max-kilobytes 8 and the token "secret". One line a check."""
import http.client
import sys
import time

good = True
address = sys.argv[1].removeprefix("http://")
moss = b'{"inputs": "moss"}'


def expect(what, held):
    global good
    good = good and held
    print(("ok - " if held else "not ok - ") + what)


def post(client, path, parts, token="secret", pause=.2):
    """The status of a request whose parts are sent with pauses before them; what went wrong, otherwise."""
    try:
        client.putrequest("POST", path)
        client.putheader("Authorization", "Bearer " + token)
        client.putheader("Content-Length", str(sum(map(len, parts))))
        client.endheaders()
        for part in parts:
            time.sleep(pause)
            client.send(part)
        answer = client.getresponse()
        answer.read()
        return answer.status
    except (OSError, http.client.HTTPException) as error:
        return repr(error)


client = http.client.HTTPConnection(address, timeout=20)
client.auto_open = False
client.connect()
for what, wanted, path, parts, token in (("no such path", 404, "/nothing", [moss[:5], moss[5:]], "secret"),
                                         ("a wrong token", 401, "/embed", [moss[:5], moss[5:]], "other"),
                                         ("a body that is too large", 413, "/embed", [b"a" * 4500] * 2, "secret"),
                                         ("none of that", 200, "/embed", [moss], "secret")):
    status = post(client, path, parts, token)
    expect(f"who sends all before reading, on one connection, {what}: {wanted} ({status})", status == wanted)
time.sleep(1.4)
status = post(client, "/embed", [moss], pause=1.2)
expect(f"the time between two requests is not that of the second ({status})", status == 200)
sys.exit(not good)
