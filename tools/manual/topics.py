"""Topics and rules as pages: the text of ``boundby explain`` with links and highlighted code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from boundby.prescribe.catalogue import RULES
from boundby.prescribe.rule import Rule
from boundby.replay.values import Part
from boundby.report.remedy import remedies
from boundby.topics import Topic, find, ids, named
from tools.manual.places import LISTS, link, memory_classes

INDENTED = re.compile(r"(?:^    .*\n(?:\n(?=    ))?)+", re.MULTILINE)
RELATED = re.compile(r"## See also\n\n((?:.+\n)+)")
SHELL = re.compile(r"(# .*\n)*(boundby|export|unset|nvidia-smi|python|pip|[A-Z_]+=\S+) ")

TITLES = {
    "cause": "Causes",
    "evidence": "Facts",
    "quality": "Findings about a recording",
    "memory": "Memory: facts, causes and remedies",
    "term": "Words",
}
OPENINGS = {
    "cause": "A cause refines a class: what in the program makes it so.",
    "evidence": "Facts are what a verdict rests on: a value, its unit, its place, and whether it "
    "was measured, derived or estimated. Their ids stand after `because` and under `evidence` in "
    "JSON.",
    "quality": "What physics does not allow in a recording, or what makes it unlike a long run. A "
    "finding that is fatal voids the verdict. Their ids stand after `beware` and under `quality`.",
    "memory": "What `boundby memory` prints beside its verdict. The verdicts have pages of their "
    "own.",
    "term": "Every other word of a report or a document.",
}
SHORTENS: dict[str, tuple[Part, ...]] = {
    "launch-bound": ("submission",),
    "python-bound": ("python",),
    "sync-bound": ("sync", "data"),
    "memory-bound": ("device-memory",),
    "compute-bound": ("device-compute",),
    "communication-bound": ("device-communication",),
}
"""The parts of the waterfall that each class leads with."""


def topic_pages() -> dict[str, str]:
    """Pages of classes, prescriptions and lists of topics, by path."""
    pages = {f"classes/{name}.md": class_page(name) for name in ids()["class"]}
    pages |= {f"memory/{name}.md": memory_page(name) for name in memory_classes()}
    pages |= {f"prescriptions/{rule.id}.md": rule_page(rule) for rule in RULES}
    pages["prescriptions/index.md"] = rules_page()
    pages |= {page: list_page(kind, page) for kind, page in LISTS.items()}
    return pages


def class_page(name: str) -> str:
    """A class, and the prescriptions that shorten what it leads with."""
    page = f"classes/{name}.md"
    parts = SHORTENS.get(name, ())
    able = [rule for rule in RULES if set(rule.attacks) & set(parts)]
    text = body(_known(name), page)
    if not able:
        return text
    text = text.replace("\n\n## ", f"\n\n<!-- figure: {name} -->\n\n## ", 1)
    rows = (f"| {link(rule.id, page)} | {rule.title} |" for rule in able)
    head = f"## Prescriptions\n\nWhat can shorten {_words(parts)}, in the method's order:\n\n"
    table = "\n".join(("| id | what to do |", "| --- | --- |", *rows))
    before, mark, after = text.partition("## See also")
    return f"{before}{head}{table}\n\n{mark}{after}"


def memory_page(name: str) -> str:
    """A class of memory."""
    return body(_known(name), f"memory/{name}.md")


def rule_page(rule: Rule) -> str:
    """A prescription: its topic, and how it is predicted."""
    page = f"prescriptions/{rule.id}.md"
    answers = ", ".join(link(each, page) for each in rule.answers if find(each)) or "no cause"
    facts = {
        "shortens": _words(rule.attacks),
        "answers": answers,
        "predicted by": _prediction(rule),
        "turn": rule.turn.name.lower().replace("_", " "),
        "risk": rule.risk.name.lower(),
    }
    table = "\n".join(("| | |", "| --- | --- |", *(f"| {k} | {v} |" for k, v in facts.items())))
    title, _, rest = body(remedies()[rule.id], page).partition("\n\n")
    summary, _, rest = rest.partition("\n\n")
    return f"{title}\n\n{summary}\n\n{table}\n\n{rest}"


def _prediction(rule: Rule) -> str:
    if isinstance(rule.edit, str):
        return f"replay with `{rule.edit}`"
    if rule.edit is not None or rule.predict is not None:
        return "replay, by what the recording shows"
    return f"nothing: {rule.no_estimate}"


def rules_page() -> str:
    """All prescriptions, in the order of the method."""
    page = "prescriptions/index.md"
    rows = (f"| {link(rule.id, page)} | {rule.title} | {_words(rule.attacks)} |" for rule in RULES)
    table = "\n".join(("| id | what to do | can shorten |", "| --- | --- | --- |", *rows))
    return (
        "# Prescriptions\n\nEvery change that boundby knows, in the method's order: what falsifies "
        "all other numbers first, what has most constraints last. A report orders those that apply "
        "by what they gain. Each page is what `boundby explain ID` prints.\n\n"
        f"{table}\n"
    )


def list_page(kind: str, page: str) -> str:
    """All topics of a kind that have no page of their own."""
    names = [each for each in ids()[kind] if each not in memory_classes()]
    sections = (demoted(body(_known(each), page)) for each in names)
    return "\n".join((f"# {TITLES[kind]}\n\n{OPENINGS[kind]}\n", *sections))


def body(topic: Topic, page: str) -> str:
    """The text of a topic as Markdown: code in fences, related topics as links."""
    text = INDENTED.sub(_fence, topic.text)

    def linked(found: re.Match[str]) -> str:
        related = re.split(r"[,\s]+", found[1].strip())
        return f"## See also\n\n{', '.join(link(_home(each), page) for each in related)}\n"

    return RELATED.sub(linked, text)


def demoted(text: str) -> str:
    """The same with headings one level lower, small ones as bold words."""
    lines: Iterator[str] = (
        f"**{line[3:]}**" if line.startswith("## ") else line for line in text.splitlines()
    )
    return "#" + "\n".join(lines) + "\n"


def _home(name: str) -> str:
    """The topic itself, or the one that lists the word."""
    if named(name) or name in remedies():
        return name
    return _known(name).id


def _known(name: str) -> Topic:
    topic = find(name)
    if topic is None:
        raise LookupError(name)
    return topic


def _words(parts: tuple[str, ...]) -> str:
    return ", ".join(parts)


def _fence(found: re.Match[str]) -> str:
    code = "\n".join(line[4:] for line in found[0].rstrip().splitlines())
    return f"```{language(code)}\n{code}\n```\n" + ("\n" if found[0].endswith("\n\n") else "")


def language(code: str) -> str:
    """What a block is written in: python, shell or text."""
    if SHELL.match(code):
        return "shell"
    try:
        ast.parse(code)
    except SyntaxError:
        return "text"
    return "python"
