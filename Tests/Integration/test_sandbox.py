"""The sandbox from outside: its description, judged by others' tools, and the guides' checklist."""
import contextlib
import json
import pathlib
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request

import pytest

from sandbox import Sandbox


@pytest.fixture
def sandbox(program, tmp_path):
    made = Sandbox(program, tmp_path)
    yield made
    made.close()


def tool(name):
    return str(pathlib.Path(sys.executable).with_name(name))


@pytest.mark.timeout(400)
def test_a_property_based_tester_finds_no_violation(sandbox, tmp_path):
    key = sandbox.control("POST", "/accounts", {"account": "a", "connections": 60})["apiKey"]
    sandbox.control("PUT", "/rate", {"perSecond": 1_000_000, "burst": 1_000_000})
    done = subprocess.run(
        [tool("schemathesis"), "run", sandbox.url + "/v1/openapi.json", "--seed", "20261130",
         "-n", "40",
         "-H", f"Authorization: Bearer {key}"],
        cwd=tmp_path, capture_output=True, text=True, timeout=360)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert "No issues found" in done.stdout


def test_the_description_is_valid_openapi(sandbox):
    from openapi_spec_validator import OpenAPIV30SpecValidator
    _, _, text = sandbox.call("GET", "/v1/openapi.json")
    assert list(OpenAPIV30SpecValidator(json.loads(text)).iter_errors()) == []


def test_the_guides_checklist_step_by_step(sandbox):
    key = sandbox.control("POST", "/accounts", {"account": "a"})["apiKey"]
    status, headers, text = sandbox.call("GET", "/v1/studios?limit=50", key=key)
    assert status == 200 and json.loads(text)["data"][0]["name"] and headers["X-Request-Id"]

    status, _, text = sandbox.call("POST", "/v1/connections/link", {"platform": "kick"}, key)
    assert status == 200
    link = json.loads(text)
    parts = urllib.parse.urlsplit(link["authorizationUrl"])
    query = urllib.parse.parse_qs(parts.query)
    assert query["code_challenge_method"] == ["S256"] and query["state"] == [link["state"]]

    # Cancelled: a browser lands on the error page, curl gets the JSON it always got.
    state = link["state"]
    path = f"/oauth/kick/callback?error=access_denied&state={state}"
    status, headers, _ = sandbox.call("GET", path, headers={"Accept": "text/html"})
    place = headers["Location"]
    assert status == 302
    assert place.startswith(sandbox.url + "/oauth/return?error=access_denied")
    _, headers, text = sandbox.call("GET", place[len(sandbox.url):], headers={"Accept": "*/*"})
    assert headers["Content-Type"].startswith("text/html")
    assert "access_denied" in text and "<script" not in text
    link = json.loads(sandbox.call("POST", "/v1/connections/link", {"platform": "kick"}, key)[2])
    path = f"/oauth/kick/callback?error=access_denied&state={link['state']}"
    status, _, text = sandbox.call("GET", path, headers={"Accept": "*/*"})
    assert (status, json.loads(text)["status"]) == (400, "error")

    # A repair keeps the id.
    link = json.loads(sandbox.call("POST", "/v1/connections/link", {"platform": "kick"}, key)[2])
    first = sandbox.control("POST", f"/links/{link['state']}", {})["connected"]
    sandbox.control("POST", f"/accounts/a/connections/{first}/break")
    body = {"platform": "kick", "reconnectConnectionId": first}
    link = json.loads(sandbox.call("POST", "/v1/connections/link", body, key)[2])
    assert sandbox.control("POST", f"/links/{link['state']}", {})["connected"] == first
    rows = json.loads(sandbox.call("GET", "/v1/connections", key=key)[2])["data"]
    assert [(row["id"], row["status"]) for row in rows] == [(first, "active")]


def test_the_apps_scheme_comes_from_the_environment(program, tmp_path):
    made = Sandbox(program, tmp_path, OAUTH_RETURN_APP_SCHEME_IOS="live.traxstreaming.ios")
    try:
        agent = {"User-Agent": "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0) Safari/604.1"}
        _, _, text = made.call("GET", "/oauth/return?connected=youtube", headers=agent)
        assert 'href="live.traxstreaming.ios://oauth/linked?connected=youtube"' in text
        _, _, text = made.call("GET", "/oauth/return?connected=youtube")
        assert "href" not in text
    finally:
        made.close()
