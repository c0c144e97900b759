"""One headless browser for all tests, without a network of its own.

Debian's chromium and chromedriver, named by path: nothing is downloaded. What the page logs and
asks for is read back through the driver.
"""

import json
import shutil

import pytest

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1300,1000",
)


@pytest.fixture(scope="session")
def driver(tmp_path_factory):
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = webdriver.ChromeService(shutil.which("chromedriver"))
    made = webdriver.Chrome(options=options, service=service)
    made.set_page_load_timeout(120)
    made.set_script_timeout(120)
    yield made
    made.quit()


class Browser:
    """A page that was opened, and what can be asked of it."""

    def __init__(self, driver, path):
        self.driver, self.path = driver, path
        self.logs("browser")
        self.logs("performance")
        driver.get(path.as_uri())
        self.wait("return document.documentElement.dataset.readyMs !== undefined")

    def logs(self, kind):
        return self.driver.get_log(kind)

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def wait(self, script):
        """Until a script answers with something true."""
        from selenium.webdriver.support.ui import WebDriverWait

        return WebDriverWait(self.driver, 60).until(lambda _: self.run(script))

    def find(self, selector):
        return self.driver.find_element("css selector", selector)

    def view(self):
        """The part of the first lanes that is seen, in their unit."""
        text = self.run("return document.querySelector('[data-lanes]').dataset.view")
        low, high = map(int, text.split())
        return low, high

    def requests(self):
        """Addresses the page asked for; what the browser does for itself is not among them."""
        messages = (json.loads(each["message"])["message"] for each in self.logs("performance"))
        sent = (each for each in messages if each["method"] == "Network.requestWillBeSent")
        mine = (each["params"] for each in sent)
        return [
            each["request"]["url"] for each in mine if each["documentURL"] == self.path.as_uri()
        ]

    def complaints(self):
        """What the page logged; pages of the browser itself may log too, a start page for one."""
        told = [each["message"] for each in self.logs("browser")]
        return [text for text in told if not text.startswith("chrome")]


@pytest.fixture
def open_page(driver, tmp_path):
    """Open HTML as a file and wait until it is drawn."""

    def opened(html):
        path = tmp_path / "report.html"
        path.write_text(html, "utf-8")
        return Browser(driver, path)

    return opened
