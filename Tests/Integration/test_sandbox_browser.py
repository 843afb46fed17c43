"""Linking and signing in with a real browser: Debian's chromium and chromium-driver."""
import http.server
import json
import shutil
import threading
import urllib.parse

import pytest
from selenium import webdriver
from selenium.webdriver.support.expected_conditions import staleness_of
from selenium.webdriver.support.ui import WebDriverWait

from test_sandbox import Sandbox

pytestmark = pytest.mark.timeout(180)


@pytest.fixture
def browser(tmp_path):
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu",
                     "--disable-dev-shm-usage",
                     f"--user-data-dir={tmp_path}/profile", "--no-first-run",
                     "--disable-background-networking",
                     "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"):
        options.add_argument(argument)
    service = webdriver.ChromeService(executable_path=shutil.which("chromedriver"))
    driver = webdriver.Chrome(options=options, service=service)
    driver.set_page_load_timeout(60)
    yield driver
    driver.quit()


@pytest.fixture
def sandbox(program, tmp_path):
    made = Sandbox(program, tmp_path)
    yield made
    made.close()


def link(sandbox, key, **body):
    return json.loads(sandbox.call("POST", "/v1/connections/link", body, key)[2])


def follow(browser, element):
    """Clicks, and waits for the page that comes: a click alone may return before it."""
    page = browser.find_element("tag name", "html")
    element.click()
    wait = WebDriverWait(browser, 30)
    wait.until(staleness_of(page))
    wait.until(lambda it: it.execute_script("return document.readyState") == "complete")


def press(browser, text):
    follow(browser, browser.find_element("xpath", f"//button[contains(., '{text}')]"))


def no_violation(browser):
    """What the page's own policy refused, or a script that ran, would be in the log."""
    log = browser.get_log("browser")
    assert [entry for entry in log if "Content Security" in entry["message"]] == []


def test_a_person_links_denies_and_repairs(browser, sandbox):
    key = sandbox.control("POST", "/accounts", {"account": "a"})["apiKey"]
    browser.get(link(sandbox, key, platform="kick")["authorizationUrl"])
    assert "Sign in to Kick" in browser.title
    press(browser, "Sign in")
    browser.find_elements("css selector", "input[type=checkbox]")[0].click()
    press(browser, "Allow what is checked")
    assert browser.current_url == f"{sandbox.url}/oauth/return?connected=kick"
    assert browser.find_element("tag name", "h1").text == "Kick connected"
    no_violation(browser)
    row = json.loads(sandbox.call("GET", "/v1/connections", key=key)[2])["data"][0]
    assert row["status"] == "active" and len(row["grantedScopes"]) == 3

    # Signed in already: the consent screen comes at once.
    browser.get(link(sandbox, key, platform="kick")["authorizationUrl"])
    press(browser, "Decide later")
    assert "Nothing is decided yet" in browser.title
    follow(browser, browser.find_element("link text", "Back to the question"))
    press(browser, "Deny")
    assert "was not connected" in browser.title and "access_denied" in browser.page_source

    sandbox.control("POST", f"/accounts/a/connections/{row['id']}/break")
    attempt = link(sandbox, key, platform="kick", reconnectConnectionId=row["id"])
    browser.get(attempt["authorizationUrl"])
    press(browser, "Allow what is checked")
    rows = json.loads(sandbox.call("GET", "/v1/connections", key=key)[2])["data"]
    assert [(found["id"], found["status"]) for found in rows] == [(row["id"], "active")]


def test_a_person_signs_in_on_the_loopback_interface(browser, sandbox):
    sandbox.control("POST", "/accounts", {"account": "a"})
    seen = []

    class Listener(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            seen.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<title>done</title>")

        def log_message(self, *_):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Listener)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    redirect = f"http://127.0.0.1:{server.server_port}/callback"
    browser.get(sandbox.url + "/oauth/v2/authorize?" + urllib.parse.urlencode({
        "response_type": "code", "client_id": "trax-relay", "redirect_uri": redirect,
        "scope": "openid",
        "code_challenge": "a" * 43, "code_challenge_method": "S256", "state": "x&y"}))
    assert "Sign in to TRaX" in browser.title
    browser.find_element("name", "account").send_keys("a")
    press(browser, "Sign in")
    assert browser.title == "done"
    server.shutdown()
    place = next(path for path in seen if "callback" in path)
    query = urllib.parse.parse_qs(urllib.parse.urlsplit(place).query)
    assert query["state"] == ["x&y"] and query["iss"] == [sandbox.url] and query["code"]


def test_markup_in_the_address_of_the_page_does_nothing(browser, sandbox):
    for words in ("connected=<script>document.title='hit'</script>",
                  "error=<img src=x onerror=\"document.title='hit'\">",
                  "error=x&error_provider='><svg onload=document.title='hit'>"):
        browser.get(f"{sandbox.url}/oauth/return?{words}")
        assert "not connected" in browser.title
        no_violation(browser)
