"""`policygen report`: the page says what the resolver says, loads nothing, and works in a browser."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from click.testing import Result

from policygen.cli.main import cli
from policygen.project import Project
from policygen.project import load
from policygen.prove.resources import KernelUse
from policygen.resolve.explanation import explanation
from policygen.review.figure import Bars
from policygen.review.figure import Look
from policygen.review.figure import Mark
from policygen.review.figure import Plot
from policygen.review.figure import linear_ticks
from policygen.review.figure import merged
from policygen.review.figure import power_ticks
from policygen.review.launch_waves import PROBLEM_SIZES
from policygen.review.report import Report
from policygen.review.report import reference_target
from policygen.review.report import report
from policygen.review.report_charts import svg
from policygen.review.report_figures import figures
from policygen.review.report_page import html
from policygen.review.subject import subject
from policygen.review.waves_figure import wave_lines
from policygen.review.weights import PHASES
from policygen.review.weights import by_weight

REPOSITORY = Path(__file__).parents[2]
MOST_BYTES = 2_000_000


@cache
def the_project() -> Project:
    return load(REPOSITORY)


@cache
def report_of(target: str) -> Report:
    project = the_project()
    shown = subject(project, target, (*project.built_algorithms, *project.engine_tables(target)))
    architecture = reference_target(shown)
    reference = None if architecture is None else subject(project, architecture, project.built_algorithms)
    return report(shown, reference)


@cache
def page_of(target: str) -> str:
    return html(report_of(target))


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["report", "--project", str(REPOSITORY), *arguments], catch_exceptions=False)


class Elements(HTMLParser):
    """The elements of a page with their attributes, and the text of those with an id."""

    VOID = ("meta", "link", "br", "path", "circle", "rect")

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []
        self.texts: dict[str, str] = {}
        self.unclosed: list[str] = []
        self._ids: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        self.found.append((tag, attributes))
        if tag not in self.VOID:
            self.unclosed.append(tag)
            self._ids.append(attributes.get("id", ""))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.unclosed.pop() == tag
            self._ids.pop()

    def handle_data(self, data: str) -> None:
        inside = next(filter(None, reversed(self._ids)), "")
        self.texts[inside] = self.texts.get(inside, "") + data

    def of(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.found if name == tag]


@cache
def elements_of(target: str) -> Elements:
    return Elements(page_of(target))


def data_of(target: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(elements_of(target).texts["policies"])
    return found


@pytest.mark.parametrize("target", ["bi100", "sm_90"])
def test_the_data_of_a_page_are_what_resolve_answers(target: str) -> None:
    data, project = data_of(target), the_project()
    assert data["target"] == target
    names = {*project.built_algorithms, *project.engine_tables(target)}
    assert {algorithm["name"] for algorithm in data["algorithms"]} == names
    for algorithm in data["algorithms"]:
        resolver = project.resolver(target, algorithm["name"])
        assert algorithm["rows"]
        for *values, policy, point in algorithm["rows"]:
            answer = resolver.resolve(dict(zip(algorithm["fields"], values, strict=True)))
            assert algorithm["policies"][policy] == answer.policy.as_dict()
            assert algorithm["points"][point] == f"{answer.origin}/{answer.point}"
        keys = [json.dumps(row[:-2]) for row in algorithm["rows"]]
        assert len(set(keys)) == len(keys)
        assert len(algorithm["policies"]) == len({json.dumps(policy) for policy in algorithm["policies"]})


def test_charts_show_what_explain_tells_of_a_key() -> None:
    found = report_of("bi100")
    scan = next(one for one in found.algorithms if one.name == "scan")
    resolver, project = the_project().resolver("bi100", "scan"), the_project()
    resolution = resolver.resolve({"input_type": "float32", "operation_t": "plus", "offset_size": 4})
    kernels = KernelUse(resolver.rules, project.evidence("bi100", "scan")).of(resolution)
    (told,) = explanation(project.spec, resolver, resolution, kernels).as_dict()["occupancy"]
    plots = {plot.id: plot for plot in figures(found, scan) if isinstance(plot, Plot)}
    values = {
        "shared-memory": told["static_smem"] + told["dynamic_smem"],
        "registers": told["registers"],
        "occupancy": round(100 * told["warps"] / told["max_warps"], 2),
    }
    for id_, value in values.items():
        plot = plots[id_]
        place = next(at for at, label in plot.x_ticks if label == "4")
        (series,) = (one for one in plot.series if one.look is Look.DOTS)
        shown = [mark.y for mark in series.marks if mark.x == place and "float32" in mark.words]
        assert value in shown
        assert set(shown) <= {mark.y for mark in series.marks}
    lookback = resolution.policy.lookback
    tile = lookback.threads_per_block * lookback.items_per_thread
    texts = [mark.text for series in plots["tiles"].series for mark in series.marks if "float32" in mark.words]
    assert f"bi100: lookback at 4 B: {tile:,} items" in texts


def test_limits_are_drawn_where_they_are() -> None:
    found = report_of("bi100")
    for one in found.algorithms:
        for plot in figures(found, one):
            if plot.id in ("shared-memory", "registers"):
                assert isinstance(plot, Plot)
                (line,) = (series for series in plot.series if series.look is Look.LIMIT)
                assert {mark.y for mark in line.marks} == {found.limit(line.name)}
                assert line.name in ("max_smem_per_block", "max_registers_per_thread")


def test_what_is_not_known_is_not_drawn() -> None:
    found = report_of("bi100")
    scan_by_key = next(one for one in found.algorithms if one.name == "scan_by_key")
    assert all(kernel.kernel.registers is None for entry in scan_by_key.entries for kernel in entry.kernels)
    shown = {figure.id: figure for figure in figures(found, scan_by_key)}
    assert "registers" not in shown
    assert "unknown" in shown["evidence"].summary
    # an architecture has no number of multiprocessors, and so no waves
    assert not any(wave_lines(one) for one in report_of("sm_90").algorithms)


def test_the_reference_of_a_chip_is_its_architecture() -> None:
    assert report_of("bi100").reference == "cccl-3.5 on sm_100"
    assert report_of("sm_90").reference == ""
    project = the_project()
    reduce = next(one for one in report_of("bi100").algorithms if one.name == "reduce")
    for entry in reduce.entries:
        assert entry.reference is not None
        # the reference does not know the problem size and neither do common keys
        assert entry.reference.policy == project.resolver("sm_100", "reduce").resolve(entry.reference.key).policy
    assert reduce.differing == sum(
        row.policy != project.resolver("sm_100", "reduce").resolve(row.given).policy for row in reduce.rows
    )
    assert all(one.compared == 0 for one in report_of("sm_90").algorithms)


def test_waves_are_those_of_the_plan() -> None:
    reduce = next(one for one in report_of("bi100").algorithms if one.name == "reduce")
    policy = the_project().resolve("bi100", "reduce", accum_t="float32", operation_t="plus", offset_size=4).policy
    (shown,) = {e.waves for e in reduce.entries if e.resolution.policy == policy and "float32" in e.words}
    assert shown is not None
    command = ["plan", "reduce", "--project", str(REPOSITORY), "--target", "bi100", "--format", "json"]
    command += ["--key", "accum_t=float32", "--key", "operation_t=plus", "--key", "offset_size=4", "--num-items"]
    for size, waves in list(zip(PROBLEM_SIZES, shown.waves, strict=True))[::4]:
        answer = json.loads(CliRunner().invoke(cli, [*command, str(size)]).stdout)
        assert answer["plan"]["waves"]["waves"] == waves
        assert answer["device"]["residency"]["occupancy"] == shown.per_sm


def test_sections_are_in_the_order_of_the_weights() -> None:
    project, elements = the_project(), elements_of("bi100")
    shown = [found["data-algorithm"] for found in elements.of("section") if "data-algorithm" in found]
    assert shown == sorted((*project.built_algorithms, *project.engine_tables("bi100")), key=by_weight)
    decode = [name for name in PHASES[0].path if name in shown]
    assert shown[: len(decode)] == decode
    assert PHASES[0].name == "decode"
    choices = [option.get("value", "") for option in elements.of("option")]
    assert choices[0] == ""
    overview = [found["data-of"] for found in elements.of("tr") if "data-of" in found]
    assert overview == shown


@pytest.mark.parametrize("target", ["bi100", "sm_90"])
def test_a_page_loads_nothing_and_is_small(target: str) -> None:
    page, elements = page_of(target), elements_of(target)
    assert len(page.encode()) < MOST_BYTES
    assert elements.unclosed == []
    for tag, attributes in elements.found:
        assert tag not in ("img", "iframe", "object", "embed", "video", "audio", "base")
        assert "src" not in attributes
        href = attributes.get("href", "#")
        assert href.startswith("#") or (tag == "link" and href == "data:,")
    assert "url(" not in page
    assert "@import" not in page
    (policy,) = (m["content"] for m in elements.of("meta") if m.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none';")
    assert "unsafe-inline" not in re.findall(r"script-src[^;]*", policy)[0]


def test_every_chart_has_words_and_its_ids_are_its_own() -> None:
    elements = elements_of("bi100")
    charts = elements.of("svg")
    assert len(charts) == len(elements.of("figure")) > 100
    for chart in charts:
        assert chart["role"] == "img"
        assert re.search(r": .*\w", chart["aria-label"])
    ids = [attributes["id"] for _, attributes in elements.found if "id" in attributes]
    assert len(set(ids)) == len(ids)
    targets = {link["href"][1:] for link in elements.of("a")}
    assert targets <= set(ids)
    # a region that scrolls is reached by keyboard and has a name
    scrolling = [found for found in elements.of("div") if "scroll" in found.get("class", "")]
    assert scrolling
    assert all(found["tabindex"] == "0" and found["role"] == "region" and found["aria-label"] for found in scrolling)
    assert all(found.get("scope") for found in elements.of("th"))


@pytest.mark.slow
def test_a_page_is_the_same_to_the_byte(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "policygen.cli.main", "report", "--project", str(REPOSITORY), "--target", "bi100"]
    for seed, zone in (("1", "UTC"), ("2", "Asia/Tokyo")):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "TZ": zone, "LC_ALL": "C"}
        output = tmp_path / f"{seed}.html"
        done = subprocess.run([*command, "--output", str(output)], env=environment, capture_output=True, check=True)
        assert done.stdout == b""
        assert output.read_text(encoding="utf-8") == page_of("bi100")


def test_the_page_on_standard_output_is_that_of_the_file() -> None:
    result = run("--target", "9.0")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == page_of("sm_90")


def test_the_example_of_the_documentation_reads_a_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bi100.html").write_text(page_of("bi100"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    text = (REPOSITORY / "docs" / "report.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    exec(example, {})
    assert len(capsys.readouterr().out.splitlines()) == sum(len(one.rows) for one in report_of("bi100").algorithms)


def test_a_missing_library_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pygal", None)
    result = run("--target", "bi100")
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr == "charts need pygal: pip install 'policygen[report]'\n"


def test_the_data_without_the_page_need_no_charts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pygal", None)
    assert json.loads(run("--target", "sm_90", "--format", "json").stdout) == data_of("sm_90")


def test_lines_of_waves_have_names_of_their_own() -> None:
    for one in report_of("bi100").algorithms:
        plot = next((figure for figure in figures(report_of("bi100"), one) if figure.id == "waves"), None)
        if plot is not None:
            assert isinstance(plot, Plot)
            names = [series.name for series in plot.series]
            assert len(set(names)) == len(names)


def test_bad_names_and_files_are_refused(tmp_path: Path) -> None:
    assert run("--target", "bi10").stderr == 'unknown target "bi10"; did you mean "bi100"?\n'
    result = run("--target", "sm_90", "--output", str(tmp_path / "none" / "page.html"))
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.endswith("page.html: cannot be written: No such file or directory\n")


def test_marks_in_one_place_are_one_mark() -> None:
    marks = [Mark(0, 1, "a", ("4B", "float32")), Mark(0, 1, "b", ("4B", "int32")), Mark(1, 1, "c", ("8B",))]
    assert merged(marks) == (Mark(0, 1, "a", ("4B", "float32", "int32")), Mark(1, 1, "c", ("8B",)))
    # a mark that holds for any type is found by any
    assert merged([Mark(0, 1, "a", ("4B",)), Mark(0, 1, "b")])[0].words == ()


@pytest.mark.parametrize("most", [1, 7, 99, 160, 255, 1000, 1023, 1024, 49152, 101376, 232448, 10**9])
def test_ticks_reach_around_what_is_shown(most: int) -> None:
    linear = [at for at, _ in linear_ticks(most)]
    assert linear[0] == 0
    assert most <= linear[-1] < 2.1 * most + 4
    assert 2 <= len(linear) <= 7
    assert len({label for _, label in linear_ticks(most)}) == len(linear)
    powers = [at for at, _ in power_ticks([1, most])]
    assert 2 ** powers[0] <= 1
    assert most <= 2 ** powers[-1]
    assert len(powers) <= 8


def test_text_in_a_chart_is_not_markup() -> None:
    figure = Bars("x", "x", "x", ("<b>", "&"), (('<i>"', (1, 3)),))
    drawn = svg(figure, '"><script>')
    assert "<b>" not in drawn
    assert "<i>" not in drawn
    assert "<script>" not in drawn
    assert "&lt;i&gt;&quot;: 3 of 4 &amp;" in drawn


class Browser:
    """Headless Chromium, by its command line."""

    LIGHT, DARK = 1, 0

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.page = folder / "report.html"
        self.page.write_text(page_of("bi100"), encoding="utf-8")

    def open(self, fragment: str = "", *, scheme: int = LIGHT, probe: str = "") -> Elements:
        """The page as a reader finds it, once its script and a probe have run. Anything on the console is an error."""
        page = self.page
        if probe:
            page = self._folder / "probed.html"
            # the page's own policy lets no other script run
            policy = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')
            text = policy.sub("", page_of("bi100")).replace("</body>", f"<script>{probe}</script></body>")
            page.write_text(text, encoding="utf-8")
        done = subprocess.run(
            [
                *("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"),
                *("--host-resolver-rules=MAP * ~NOTFOUND", "--enable-logging=stderr", "--virtual-time-budget=2000"),
                f"--user-data-dir={self._folder / 'profile'}",
                "--window-size=500,900",  # a headless window is no narrower
                f"--blink-settings=preferredColorScheme={scheme}",
                *("--dump-dom", f"{page.as_uri()}{fragment}"),
            ],
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        assert [line for line in done.stderr.splitlines() if "CONSOLE" in line] == []
        return Elements(done.stdout)


@pytest.fixture
def browser(tmp_path: Path) -> Browser:
    if shutil.which("chromium") is None:
        pytest.skip("there is no chromium")
    return Browser(tmp_path)


def _shown(elements: Elements) -> list[str]:
    return [s["data-algorithm"] for s in elements.of("section") if "data-algorithm" in s and "hidden" not in s]


@pytest.mark.slow
def test_a_browser_opens_the_page_without_a_complaint(browser: Browser) -> None:
    opened = browser.open()
    # the script ran, though the page's own policy allows no other
    assert any("data-ready" in body for body in opened.of("body"))
    assert _shown(opened) == [one.name for one in report_of("bi100").algorithms]


@pytest.mark.slow
def test_the_fragment_filters(browser: Browser) -> None:
    opened = browser.open("#algorithm=scan&type=float32")
    assert _shown(opened) == ["scan"]
    words = [tbody["data-t"] for tbody in opened.of("tbody") if "data-t" in tbody and "off" not in _classes(tbody)]
    scan = next(one for one in report_of("bi100").algorithms if one.name == "scan")
    matching = [entry for entry in scan.entries if "float32" in entry.words]
    assert 0 < len(matching) < len(scan.entries)
    pale = [circle for circle in opened.of("circle") if "off" in _classes(circle)]
    assert pale
    assert not any("float32" in circle["data-t"].split() for circle in pale)
    assert sum("float32" in text.split() and "off" not in text for text in words) >= len(matching)
    # sections that are hidden are left as they are
    assert opened.of("output")[0]["aria-live"] == "polite"
    told = f"1 of {len(report_of('bi100').algorithms)} algorithms and tables, {len(matching)} rows of policies"
    assert told in opened.texts["filter"]


@pytest.mark.slow
def test_a_type_is_found_by_keys_that_have_sizes_alone(browser: Browser) -> None:
    shown = _shown(browser.open("#type=float32"))
    by_size = {
        one.name
        for one in report_of("bi100").algorithms
        if any({"float32", "any4B"} & set(entry.words) or not entry.words for entry in one.entries)
    }
    assert set(shown) == by_size
    assert "merge_sort" in by_size
    # what is unknown filters nothing
    assert len(_shown(browser.open("#algorithm=none&type=complex"))) == len(report_of("bi100").algorithms)


@pytest.mark.slow
def test_controls_filter_and_keep_the_choice_in_the_url(browser: Browser) -> None:
    probe = """
    const form = document.getElementById("filter");
    form.elements.algorithm.value = "reduce";
    form.dispatchEvent(new Event("change"));
    document.body.dataset.hash = location.hash;
    document.body.dataset.shown = document.querySelectorAll("section.algorithm:not([hidden])").length;
    form.querySelector("button").click();
    setTimeout(() => {
      document.body.dataset.after = document.querySelectorAll("section.algorithm:not([hidden])").length;
    }, 50);
    """
    (body,) = browser.open(probe=probe).of("body")
    assert (body["data-hash"], body["data-shown"]) == ("#algorithm=reduce", "1")
    assert body["data-after"] == str(len(report_of("bi100").algorithms))


@pytest.mark.slow
def test_text_is_readable_in_light_and_dark_and_nothing_is_wider_than_a_phone(browser: Browser) -> None:
    """Contrast as WCAG 2 defines it; 4.5 is its level AA for text, 3 that for what charts are made of."""
    probe = """
    const rgb = (css) => {
      const context = document.createElement("canvas").getContext("2d");
      context.fillStyle = css;
      context.fillRect(0, 0, 1, 1);
      return [...context.getImageData(0, 0, 1, 1).data].slice(0, 3);
    };
    const luminance = (css) => {
      const linear = (v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
      const [r, g, b] = rgb(css).map((v) => linear(v / 255));
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const contrast = (a, b) => {
      const [x, y] = [luminance(a), luminance(b)].sort((p, q) => q - p);
      return (x + 0.05) / (y + 0.05);
    };
    const value = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    const least = (names, on) => Math.min(...names.flatMap((n) => on.map((o) => contrast(value(n), value(o)))));
    document.body.dataset.text = least(["--ink", "--soft", "--link"], ["--page", "--panel"]);
    document.body.dataset.marks = least([0, 1, 2, 3, 4, 5, 6, 7].map((n) => `--c${n}`).concat("--full"), ["--page"]);
    document.body.dataset.page = luminance(getComputedStyle(document.body).backgroundColor);
    document.body.dataset.phone = matchMedia("(max-width: 40rem)").matches;
    document.body.style.margin = "0";
    document.body.style.width = "360px";
    document.body.dataset.wide = [...document.querySelectorAll("figure, form, p, h1, h2, h3, .scroll")]
      .filter((element) => element.getBoundingClientRect().right > 361).length;
    """
    found = {}
    for name, scheme in (("light", Browser.LIGHT), ("dark", Browser.DARK)):
        (body,) = browser.open(scheme=scheme, probe=probe).of("body")
        assert float(body["data-text"]) >= 4.5
        assert float(body["data-marks"]) >= 3
        assert (body["data-phone"], body["data-wide"]) == ("true", "0")
        found[name] = float(body["data-page"])
    assert found["light"] > 0.8
    assert found["dark"] < 0.05


def _classes(attributes: dict[str, str]) -> list[str]:
    return attributes.get("class", "").split()
