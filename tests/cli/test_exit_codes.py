"""0 done, 1 a gate failed, 2 usage, 125 cannot tell or tool failure; and what stderr says then."""

import pytest


@pytest.mark.parametrize("name", ["launch", "sync", "device", "nothing"])
def test_a_verdict_is_no_failure(stubbed, name):
    done = stubbed("trace", f"{name}.json")

    assert done.returncode == 0
    assert done.stderr == ""


def test_an_unreadable_file_cannot_tell(stubbed):
    done = stubbed("trace", "missing.json")

    assert done.returncode == 125
    assert done.stdout == ""
    assert done.stderr == "missing.json: no such file\\x1b[1m\n\nhint: boundby demo\n"


def test_of_several_files_one_bad_one_does_not_stop_the_others(stubbed):
    done = stubbed("trace", "missing.json", "launch.json", "sync.json")

    assert done.returncode == 125
    assert "== launch.json ==\nverdict    launch-bound" in done.stdout
    assert "== sync.json ==\nverdict    sync-bound" in done.stdout
    assert done.stderr.startswith("missing.json: no such file")


@pytest.mark.parametrize(
    ("expected", "code"), [("launch-bound", 0), ("compute-bound", 1), ("undecided", 1)]
)
def test_expect_is_a_gate(stubbed, expected, code):
    done = stubbed("trace", "launch.json", "--expect", expected)

    assert done.returncode == code
    assert done.stdout.startswith("verdict    launch-bound")


def test_a_failed_gate_says_what_was_found(stubbed):
    done = stubbed("trace", "launch.json", "sync.json", "--expect", "sync-bound")

    assert done.stderr == (
        "expected sync-bound: launch.json is launch-bound\n\nhint: boundby explain launch-bound\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (["trace"], "Missing argument 'FILE|FOLDER...'.", "boundby trace --help"),
        (
            ["trace", "x.json", "--step-ms", "0"],
            "Invalid value for '--step-ms'",
            "boundby trace --help",
        ),
        (["trace", "x.json", "--step-ms", "nan"], "Invalid value for '--step-ms': nan", "boundby "),
        (["trace", "x.json", "--submit-ms", "inf"], "Invalid value for '--submit-ms'", "boundby "),
        *[
            ([*words, value], f"Invalid value for '{words[-1]}': {value}", f"boundby {words[0]} ")
            for value in ("nan", "inf")
            for words in (
                ["tune", "mine:W", "--memory-cap"],
                ["tune", "mine:W", "--minutes"],
                ["memory", "x", "--capacity"],
                ["memory", "x", "--max-gib"],
                ["loader", "x.py::y", "--budget"],
                ["bench", "x.py::y", "--min-run-time"],
                ["check", "--rtol"],
                ["check", "--atol"],
                ["check", "-k"],
                ["compare", "--practical"],
            )
        ],
        *[
            (
                ["tune", "mine:W", "--memory-cap", value],
                f"Invalid value for '--memory-cap': {float(value)} is not in the range",
                "boundby tune --help",
            )
            for value in ("1e300", "1e-12", "0", "-4")
        ],
        (["trace", "x.json", "--stepms", "1"], "No such option", "boundby trace --help"),
        (["trcae", "x.json"], "no such command: 'trcae'. Did you mean 'trace'?", "boundby --help"),
        (["xyzzy"], "no such command: 'xyzzy'.", "boundby --help"),
        (["--nonsense"], "No such option", "boundby --help"),
        (["trace", "x.json", "-o", "x.pdf"], "x.pdf: no report format has", "use .json, .md, .txt"),
        (["trace", "x.json", "--json", "-o", "x.md"], "x.md: --json writes JSON", "name it .json"),
        (["trace", "x.json", "--json", "-o", "x"], "x: --json writes JSON", "name it .json"),
        (["demo", "--json", "-o", "x.txt"], "x.txt: --json writes JSON", "name it .json"),
        (["trace", "x.json", "--peak", "x=1"], "--peak: cannot read 'x=1'", "for example --peak"),
        (["demo", "--peak", "bf16=-1"], "--peak: bf16 must be positive", "for example --peak"),
        (["explain", "lunch-bound"], "no topic 'lunch-bound'", "did you mean launch-bound"),
        (["explain", "xyzzy"], "no topic 'xyzzy'", "boundby explain lists them all"),
        (["demo", "xyzzy"], "no demo 'xyzzy'", "boundby demo --list"),
    ],
)
def test_usage_errors(boundby, arguments, message, hint):
    done = boundby(*arguments)
    first, blank, last = done.stderr.splitlines()

    assert done.returncode == 2
    assert done.stdout == ""
    assert first.startswith(message)
    assert blank == ""
    assert last.startswith(f"hint: {hint}")


def test_without_a_command_the_help_goes_to_stderr(boundby):
    done = boundby()

    assert done.returncode == 2
    assert done.stdout == ""
    assert "Commands:" in done.stderr


def test_a_bug_is_one_line_unless_asked_for_more(stubbed):
    brief, full = stubbed("trace", "bug.json"), stubbed("trace", "bug.json", "--verbose")

    assert brief.returncode == full.returncode == 125
    assert brief.stderr.startswith("internal error: ZeroDivisionError: by design\n\nhint: ")
    assert "Traceback" not in brief.stderr
    assert "Traceback" in full.stderr


def test_an_interrupt_is_one_word(stubbed):
    done = stubbed("trace", "interrupt.json")

    assert done.returncode == 130
    assert done.stderr.strip() == "interrupted"
