"""Clients that public generators make from `/v1/openapi.json` compile, and work as the vendor's
quickstart has it."""
import compileall
import importlib
import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

from sandbox import Sandbox
from test_sandbox import tool

pytestmark = pytest.mark.timeout(500)


@pytest.fixture(scope="module")
def sandbox(program, tmp_path_factory):
    made = Sandbox(program, tmp_path_factory.mktemp("sandbox"))
    made.control("PUT", "/rate", {"perSecond": 1000, "burst": 1000})
    yield made
    made.close()


@pytest.fixture(scope="module")
def generated(sandbox, tmp_path_factory):
    """The package, generated from what the sandbox serves and nothing else."""
    folder = tmp_path_factory.mktemp("generated")
    (folder / "spec.json").write_text(sandbox.call("GET", "/v1/openapi.json")[2])
    (folder / "config.yaml").write_text("package_name_override: trax_generated\n")
    # The generator formats with a tool that lies beside it.
    path = f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        [tool("openapi-python-client"), "generate", "--path", "spec.json", "--meta", "none",
         "--config", "config.yaml", "--output-path", "trax_generated", "--fail-on-warning"],
        cwd=folder, capture_output=True, text=True, timeout=120, env={**os.environ, "PATH": path})
    assert done.returncode == 0, done.stdout + done.stderr
    assert compileall.compile_dir(folder / "trax_generated", quiet=1)
    sys.path.insert(0, str(folder))
    yield lambda name: importlib.import_module(f"trax_generated.{name}")
    sys.path.remove(str(folder))


@pytest.fixture
def client(sandbox, generated, request):
    name = request.node.name
    key = sandbox.control("POST", "/accounts", {"account": name, "connections": 3})["apiKey"]
    package = generated("client")
    with package.AuthenticatedClient(base_url=sandbox.url, token=key) as made:
        yield made


def test_the_quickstarts_first_call(sandbox, generated, client, request):
    sandbox.control("POST", f"/accounts/{request.node.name}/studios", {"name": "Second studio"})
    list_studios = generated("api.studios.list_studios")
    page = list_studios.sync(client=client, limit=50)
    assert len(page.data) == 2
    assert all(studio.id and studio.name for studio in page.data)
    assert not page.next_cursor
    first = list_studios.sync(client=client, limit=1)
    rest = list_studios.sync(client=client, limit=50, cursor=first.next_cursor)
    assert [each.id for each in first.data + rest.data] == [each.id for each in page.data]


def test_every_other_call(sandbox, generated, client):
    listing = generated("api.connections.list_connections")
    models = generated("models")
    assert generated("api.service.get_health").sync(client=client).status == "ok"
    assert len(listing.sync(client=client).data) == 3
    link = generated("api.connections.link_connection").sync(
        client=client,
        body=models.LinkRequest(platform=models.LinkRequestPlatform("kick")))
    made = sandbox.control("POST", f"/links/{link.state}", {})["connected"]
    rows = {row.id: row for row in listing.sync(client=client).data}
    assert rows[made].platform == "kick" and rows[made].status == "active"
    assert rows[made].granted_scopes
    manual = generated("api.connections.add_manual_connection").sync(
        client=client, body=models.ManualRequest(
            platform=models.ManualRequestPlatform("rumble"), stream_key="live_1"))
    unlinked = generated("api.connections.unlink_connection").sync_detailed(
        client=client, id=manual.id)
    assert unlinked.status_code == 204
    assert manual.id not in {row.id for row in listing.sync(client=client).data}


def test_an_error_is_the_envelope(sandbox, generated, client):
    package = generated("client")
    stranger = package.AuthenticatedClient(base_url=sandbox.url, token="sk_none")
    answer = generated("api.studios.list_studios").sync_detailed(client=stranger)
    assert answer.status_code == 401
    assert answer.parsed.error.code == "invalid_key"
    assert answer.parsed.error.request_id == answer.headers["X-Request-Id"]
    gone = generated("api.connections.unlink_connection").sync(client=client, id="none")
    assert gone.error.code == "not_found"
    assert json.loads(generated("api.connections.unlink_connection").sync_detailed(
        client=client, id="none").content)["error"]["code"] == "not_found"


PACKAGE = """// swift-tools-version:5.9
import PackageDescription
let package = Package(name: "First", targets: [
    .target(name: "AnyCodable", path: "AnyCodable"),
    .target(name: "TraxAPI", dependencies: ["AnyCodable"], path: "TraxAPI/Classes"),
    .executableTarget(name: "First", dependencies: ["TraxAPI"], path: "First"),
])
"""

# What the generated package asks for from elsewhere, as far as it is used here.
ANY_CODABLE = """
public struct AnyCodable: Codable, Hashable {
    public let value: String
    public init(from decoder: any Decoder) throws { value = "" }
    public func encode(to encoder: any Encoder) throws {}
}
"""

# Section 4 of the quickstart, with address and key from the command line.
FIRST_CALL = """
import TraxAPI
import Foundation

TraxAPIAPI.basePath = CommandLine.arguments[1]
TraxAPIAPI.customHeaders = ["Authorization": "Bearer \\(CommandLine.arguments[2])"]

do {
    let page = try await StudiosAPI.listStudios(limit: 50)
    for studio in page.data {
        print(studio.id, studio.name)
    }
    if let cursor = page.nextCursor {
        _ = cursor
    }
} catch {
    print("request failed:", error)
}
"""


@pytest.mark.skipif(not shutil.which("swift"), reason="needs a Swift toolchain")
def test_the_quickstart_in_swift_to_the_letter(sandbox, tmp_path, request):
    (tmp_path / "spec.json").write_text(sandbox.call("GET", "/v1/openapi.json")[2])
    subprocess.run(
        [tool("openapi-generator-cli"), "generate", "-i", "spec.json", "-g", "swift5",
         "--additional-properties=responseAs=AsyncAwait,projectName=TraxAPI", "-o", "made"],
        cwd=tmp_path, check=True, capture_output=True, timeout=120)
    made = tmp_path / "made"
    for folder, name, text in (("", "Package", PACKAGE), ("AnyCodable", "AnyCodable", ANY_CODABLE),
                               ("First", "main", FIRST_CALL)):
        (made / folder).mkdir(exist_ok=True)
        (made / folder / f"{name}.swift").write_text(text)
    built = subprocess.run(["swift", "build"], cwd=made, capture_output=True, text=True,
                           timeout=400)
    assert built.returncode == 0, built.stdout[-4000:]

    def first_call(key):
        done = subprocess.run([made / ".build/debug/First", sandbox.url, key], text=True,
                              capture_output=True, timeout=60)
        return done.stdout
    key = sandbox.control("POST", "/accounts", {"account": "swift"})["apiKey"]
    name, _, label = first_call(key).strip().partition(" ")
    assert name.startswith("studio_") and label == "Studio of swift"
    assert "request failed: error(401" in first_call("sk_none")
