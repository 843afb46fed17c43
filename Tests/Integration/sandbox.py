"""The sandbox as a process, asked over HTTP and through its control API."""
import contextlib
import json
import subprocess
import urllib.error
import urllib.request


class Sandbox:
    def __init__(self, program, folder, **environment):
        self.log = open(folder / "sandbox.log", "w+")
        self.process = subprocess.Popen(
            [program, "sandbox", "--port", "0"], stdout=subprocess.PIPE, stderr=self.log, text=True,
            env=environment or None)
        self.url = self.process.stdout.readline().split()[-1]

    def close(self):
        self.process.terminate()
        assert self.process.wait(timeout=20) == 0
        self.process.stdout.close()
        self.log.close()

    def call(self, method, path, body=None, key=None, headers=None):
        """Status, headers, text; redirects are not followed."""
        data = None if body is None else json.dumps(body).encode()
        all_headers = {"Content-Type": "application/json"} if data else {}
        if key:
            all_headers["Authorization"] = f"Bearer {key}"
        all_headers.update(headers or {})
        request = urllib.request.Request(
            self.url + path, data=data, method=method, headers=all_headers)
        opener = urllib.request.build_opener(Stay)
        try:
            answer = opener.open(request, timeout=20)
        except urllib.error.HTTPError as error:
            answer = error
        with contextlib.closing(answer):
            return answer.status, answer.headers, answer.read().decode()

    def control(self, method, path, body=None):
        status, _, text = self.call(method, "/sandbox" + path, body)
        assert status < 300, text
        return json.loads(text) if text else None


class Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None
