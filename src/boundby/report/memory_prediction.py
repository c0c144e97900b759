"""A predicted peak as text, JSON or Markdown."""

from __future__ import annotations

import json
from dataclasses import asdict

from boundby.memory.facts import size_text
from boundby.memory.predict import CONTEXT, WORKSPACE, Prediction
from boundby.memory.recipes import RECIPES
from boundby.memory.recompute import SELECTIVE, Checkpointed
from boundby.report import numbers
from boundby.report.layout import BLANK, LABEL_WIDTH, Line, Span, lead, line, paragraph, section
from boundby.report.sanitize import shown
from boundby.report.terminal import Look, draw

SCHEMA_VERSION = 1
UPDATE = (
    " in forward and backward; the update of the optimizer takes more at this batch, whatever the "
    "samples, and sets the peak"
)
RECIPES_SHOWN = ("fp32-adam", "mixed-bf16", "fp32-momentum", "adam-8bit")


def render(prediction: Prediction, form: str, look: Look) -> str:
    """The prediction in the form that was asked for."""
    if form == "json":
        return json.dumps(_document(prediction), indent=2) + "\n"
    if form == "markdown":
        return "```\n" + draw(_rows(prediction, look.width), Look(width=look.width)) + "```\n"
    return draw(_rows(prediction, look.width), look)


def _document(prediction: Prediction) -> dict[str, object]:
    return {
        "schema_version": SCHEMA_VERSION,
        "target": prediction.target,
        "batch": prediction.batch,
        "parameters": prediction.parameters,
        "peak_bytes": prediction.step.peak,
        "parts": prediction.step.parts,
        "update_sets_peak": prediction.step.is_of_update,
        "fixed_bytes": prediction.fixed,
        "bytes_per_sample": prediction.per_sample,
        "compiled_bytes": {"low": prediction.compiled_low, "high": prediction.compiled_high},
        "largest_batch": [{"device": name, "batch": batch} for name, batch in prediction.largest],
        "workspace_bytes": WORKSPACE,
        "static_input_bytes": prediction.static_inputs,
        "cache_bytes_per_token": prediction.cache_per_token,
        "checkpointing": [asdict(each) for each in prediction.checkpointed],
        "recipes": [
            {
                "id": recipe.id,
                "bytes_per_parameter": recipe.total,
                "bytes": recipe.total * prediction.parameters,
            }
            for recipe in RECIPES
        ],
    }


def _rows(prediction: Prediction, columns: int) -> list[Line]:
    width = columns - LABEL_WIDTH
    head = Span(size_text(prediction.step.peak), "strong")
    rest = f" in use at most in a training step of {shown(prediction.target)}"
    rest += f" at batch {prediction.batch}, eager"
    lines = section("predicted", lead(head, rest, width))
    lines += section("", paragraph(_compiled(prediction), width, "dim"))
    lines += [BLANK, *section("made of", _parts(prediction))]
    grows = f"{size_text(prediction.fixed)} whatever the batch, "
    grows += f"{size_text(prediction.per_sample)} a sample"
    grows += UPDATE if prediction.step.is_of_update else ""
    lines += [BLANK, *section("batch", [*paragraph(grows, width), *_largest(prediction, width)])]
    lines += (
        [BLANK, *section("recompute", _checkpointing(prediction, width))]
        if prediction.checkpointed
        else []
    )
    lines += [BLANK, *section("besides", _besides(prediction, width))]
    lines += [BLANK, *section("a weight", _recipes(prediction))]
    return lines


def _compiled(prediction: Prediction) -> str:
    low, high = size_text(prediction.compiled_low), size_text(prediction.compiled_high)
    if low == high:
        return f"compiled: {low} too, for what is fused is not in the peak"
    return f"compiled: {low} to {high}, depending on what is fused"


def _parts(prediction: Prediction) -> list[Line]:
    parts = sorted(prediction.step.parts.items(), key=lambda item: -item[1])
    whole = prediction.step.peak or 1
    return [
        line(f"{part:<17}{size_text(size):>10} {numbers.share(size / whole):>5}")
        for part, size in parts
        if size
    ]


def _largest(prediction: Prediction, width: int) -> list[Line]:
    told = [f"{name}: {batch}" for name, batch in prediction.largest]
    if not told:
        return []
    return paragraph(f"largest that fits, context included: {', '.join(told)}", width)


def _checkpointing(prediction: Prediction, width: int) -> list[Line]:
    body: list[Line] = []
    saves = any(each.peak < prediction.step.peak for each in prediction.checkpointed)
    if prediction.step.is_of_update and not saves:
        return paragraph("saves nothing at this batch: the update sets the peak", width)
    for each in prediction.checkpointed:
        saved = prediction.step.peak - each.peak
        text = f"{_which(each)}: {size_text(each.peak)}, saves {size_text(saved)}, "
        price = each.time_share
        text += "all but products again" if price is None else f"about {price:.0%} more time"
        advice = each.advice
        if advice.pays is not None:
            text += f"; {'pays' if advice.pays else 'does not pay'}: {advice.reason}"
        body += paragraph(text, width)
    if all(each.advice.pays is None for each in prediction.checkpointed):
        note = "pays only where the room buys a faster batch: give --time-class or --trace, and "
        note += "--capacity"
        body += paragraph(note, width, "dim")
    return body


def _besides(prediction: Prediction, width: int) -> list[Line]:
    text = f"{size_text(WORKSPACE)} of cuBLAS workspaces are in the peak, {size_text(CONTEXT)} of "
    text += "CUDA context are not; a CUDA graph keeps "
    text += f"{size_text(prediction.static_inputs)} of static inputs for itself"
    if prediction.cache_per_token is not None:
        text += f"; generation keeps {size_text(prediction.cache_per_token)} of keys and values a "
        text += "token and sequence"
    return paragraph(text, width)


def _which(each: Checkpointed) -> str:
    if each.every == 1:
        return f"all {each.blocks} blocks"
    if each.every == SELECTIVE:
        return f"selective in all {each.blocks} blocks"
    return f"all but every {each.every}. of {each.blocks} blocks"


def _recipes(prediction: Prediction) -> list[Line]:
    return [
        line(
            f"{recipe.total:>4.3g} B {size_text(recipe.total * prediction.parameters):>10}"
            f"  {recipe.title}"
        )
        for recipe in RECIPES
        if recipe.id in RECIPES_SHOWN
    ]
