"""The end of a report: which of its goals were met."""


def goals(verdicts):
    """The section's lines, and the texts of the goals that were missed.
    verdicts: pairs of what was found, as text, and whether that meets the
    goal."""
    verdicts = list(verdicts)
    missed = [text for text, met in verdicts if not met]
    lines = [f"## Goals: {len(verdicts) - len(missed)} of {len(verdicts)} met",
             ""]
    lines += [f"- {'' if met else '**missed** '}{text}"
              for text, met in verdicts]
    return lines, missed
