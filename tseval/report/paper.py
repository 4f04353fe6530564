"""For a paper: what to cite, what was done, and the table, in BibTeX and LaTeX; true to the signatures."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tseval.analysis.intervals import confidence_percent
from tseval.errors import counted, plain
from tseval.report.analyses.seeds import seeds_table
from tseval.report.opened import is_about_intervals
from tseval.report.paper_groups import named_groups, seeds_in_caption
from tseval.report.writers.latex import as_latex_float, latex

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tseval.formats import Json
    from tseval.report.document import Grid
    from tseval.report.opened import RunSet
    from tseval.runs.manifest import Manifest

# By key; the fields of each in the order of the file.
REFERENCES = r"""
@software{tseval, title = {tseval: targeted syntactic evaluation of language models},
  author = {{The tseval developers}}, version = {VERSION}}
@inproceedings{marvin-linzen-2018, title = {Targeted Syntactic Evaluation of Language Models},
  author = {Marvin, Rebecca and Linzen, Tal}, booktitle = {Proceedings of EMNLP}, year = {2018},
  pages = {1192--1202}, doi = {10.18653/v1/D18-1151}}
@inproceedings{mueller-etal-2020, title = {Cross-Linguistic Syntactic Evaluation of Word Prediction Models},
  author = {Mueller, Aaron and Nicolai, Garrett and Petrou-Zeniou, Panayiota and Talmina, Natalia and
    Linzen, Tal},
  booktitle = {Proceedings of ACL}, year = {2020}, pages = {5523--5539},
  doi = {10.18653/v1/2020.acl-main.490}}
@article{warstadt-etal-2020, title = {{BLiMP}: The Benchmark of Linguistic Minimal Pairs for {E}nglish},
  author = {Warstadt, Alex and Parrish, Alicia and Liu, Haokun and Mohananey, Anhad and Peng, Wei and
    Wang, Sheng-Fu and Bowman, Samuel R.},
  journal = {TACL}, volume = {8}, pages = {377--392}, year = {2020}, doi = {10.1162/tacl_a_00321}}
@article{linzen-etal-2016, title = {Assessing the Ability of {LSTM}s to Learn Syntax-Sensitive Dependencies},
  author = {Linzen, Tal and Dupoux, Emmanuel and Goldberg, Yoav},
  journal = {TACL}, volume = {4}, pages = {521--535}, year = {2016}, doi = {10.1162/tacl_a_00115}}
@inproceedings{gulordava-etal-2018, title = {Colorless Green Recurrent Networks Dream Hierarchically},
  author = {Gulordava, Kristina and Bojanowski, Piotr and Grave, Edouard and Linzen, Tal and Baroni, Marco},
  booktitle = {Proceedings of NAACL-HLT}, year = {2018}, pages = {1195--1205}, doi = {10.18653/v1/N18-1108}}
@inproceedings{hewitt-etal-2020,
  title = {{RNN}s can generate bounded hierarchical languages with optimal memory},
  author = {Hewitt, John and Hahn, Michael and Ganguli, Surya and Liang, Percy and Manning, Christopher D.},
  booktitle = {Proceedings of EMNLP}, year = {2020}, pages = {1978--2010},
  doi = {10.18653/v1/2020.emnlp-main.156}}
@inproceedings{salazar-etal-2020, title = {Masked Language Model Scoring},
  author = {Salazar, Julian and Liang, Davis and Nguyen, Toan Q. and Kirchhoff, Katrin},
  booktitle = {Proceedings of ACL}, year = {2020}, pages = {2699--2712},
  doi = {10.18653/v1/2020.acl-main.240}}
@article{bell-mccaffrey-2002,
  title = {Bias Reduction in Standard Errors for Linear Regression with Multi-Stage Samples},
  author = {Bell, Robert M. and McCaffrey, Daniel F.},
  journal = {Survey Methodology}, volume = {28}, number = {2}, pages = {169--181}, year = {2002}}
@article{cameron-etal-2011, title = {Robust Inference With Multiway Clustering},
  author = {Cameron, A. Colin and Gelbach, Jonah B. and Miller, Douglas L.},
  journal = {Journal of Business \& Economic Statistics}, volume = {29}, number = {2}, pages = {238--249},
  year = {2011}, doi = {10.1198/jbes.2010.07136}}
"""
ENTRY = re.compile(r"^@\w+\{([\w-]+),.*?\}\}$", re.MULTILINE | re.DOTALL)
# Beginnings of the names of suites; others are cited by their own title and source.
OF_SUITES = {
    "marvin_linzen": "marvin-linzen-2018", "clams": "mueller-etal-2020", "blimp": "warstadt-etal-2020",
    "linzen": "linzen-etal-2016", "gulordava": "gulordava-etal-2018", "dyck": "hewitt-etal-2020",
}  # fmt: skip
COMPARED = {
    "sentence": "the sum of the log-probabilities of all tokens of a sentence",
    "critical": "the log-probability of the first word in which the two sentences differ",
    "ending": "the log-probability of all that follows the first difference of the two sentences",
    "mean": "the mean log-probability per word",
    "regions": "the surprisals of regions, by the formula of each prediction",
    "choices": "the probabilities of single symbols after a prefix",
}


@dataclass(frozen=True, slots=True)
class Paper:
    """Three texts for a paper: BibTeX, a paragraph in LaTeX, a floating table with caption and label."""

    references: str
    methods: str
    table: str

    def __str__(self) -> str:
        parts = ("references.bib", self.references), ("methods.tex", self.methods), ("table.tex", self.table)
        return "\n".join(f"% {name}\n{text}" for name, text in parts)


def write_up(
    opened: RunSet, groups: Mapping[str, Sequence[str]] | None = None, *, intervals: bool = False
) -> Paper:
    """Return what a paper says of runs over one suite, or of the means of groups of runs."""
    groups = groups or {name: [name] for name in opened.verdicts}
    document = seeds_table(opened, groups)
    (about,) = filter(is_about_intervals, document.notes)
    cited = _cited(list(opened.manifests.values()), "clustered" in about)
    references = _references(cited, next(iter(opened.manifests.values())))
    return Paper(
        references,
        _methods(opened, groups, cited, about),
        _table(opened, groups, document.grids[0], intervals),
    )


def _cited(manifests: Sequence[Manifest], clustered: bool) -> dict[str, str]:
    suite = manifests[0].suite.name
    known = (key for name, key in OF_SUITES.items() if re.match(rf"{name}(?:$|_|\()", suite))
    keys = {"tseval": "tseval", "suite": next(known, _key(suite))}
    if any("pll" in manifest.key.protocol for manifest in manifests):
        keys["pll"] = "salazar-etal-2020"
    if any(manifest.counts.n_half_known for manifest in manifests):
        keys |= {"forms": "linzen-etal-2016", "both forms": "gulordava-etal-2018"}
    if clustered:
        keys |= {"cr2": "bell-mccaffrey-2002", "several": "cameron-etal-2011"}
    return keys


def _key(name: str) -> str:
    """Return a name as a key that BibTeX and LaTeX take."""
    return re.sub(r"[^A-Za-z0-9-]+", "-", name).strip("-") or "suite"


def _references(cited: dict[str, str], manifest: Manifest) -> str:
    entries = {match[1]: match[0] for match in ENTRY.finditer(REFERENCES)}
    if cited["suite"] not in entries:
        suite = manifest.suite
        entries[cited["suite"]] = (
            f"@misc{{{cited['suite']}, title = {{{{{latex(suite.title)}}}}},\n"
            f"  note = {{{latex(suite.source or 'source not stated')}}}}}"
        )
    chosen = [entries[key] for key in dict.fromkeys(cited.values())]
    return "\n".join(chosen).replace("VERSION", latex(manifest.key.tseval)) + "\n"


def _methods(
    opened: RunSet, groups: Mapping[str, Sequence[str]], cited: dict[str, str], about_intervals: str
) -> str:
    """Return a paragraph on what was done; what differs between runs stands in their signatures."""
    first = next(iter(opened.manifests.values()))
    key, suite = first.key, first.suite
    versions = sorted({manifest.key.tseval for manifest in opened.manifests.values()})
    part = "" if suite.complete else f", a part of the suite ({latex(key.items)})"
    compared = COMPARED.get(key.score)
    compared = compared or f"the log-probability of a sentence, normalised as {key.score} says"
    sentences = [
        f"We scored {latex(', '.join(named_groups(groups)))} on {latex(suite.title)} "
        f"\\citep{{{cited['suite']}}} "
        f"({counted(suite.n_items, 'item')}{part}; SHA-256 {suite.digest[:8]}) with tseval "
        f"{latex(', '.join(versions))} \\citep{{tseval}}.",
        f"We compared {latex(compared)}; ties count as wrong, and undecidable items are not counted.",
        *_half_known(opened, cited),
        *_protocols(opened, cited),
        latex(about_intervals),
    ]
    if "cr2" in cited:
        sentences.append(
            "They use the CR2 correction and the degrees of freedom of Bell and McCaffrey "
            f"\\citep{{{cited['cr2']}}}; several factors are combined as by \\citet{{{cited['several']}}}."
        )
    if key.exclude:
        sentences.append(f"We left out {latex(key.exclude)}.")
    signatures = [f"% {plain(name)}: {line}" for name, line in opened.signatures.items()]
    return "\n".join([*sentences, "% Signatures:", *signatures]) + "\n"


def _half_known(opened: RunSet, cited: dict[str, str]) -> Iterator[str]:
    """Yield sentences on pairs of which a model knows one form only."""
    counts = {name: manifest.counts.n_half_known for name, manifest in opened.manifests.items()}
    compared = {name for name, manifest in opened.manifests.items() if manifest.unknown.rule == "score"}
    left_out = f"\\citet{{{cited.get('forms')}}} and \\citet{{{cited.get('both forms')}}}"
    for names, what in (
        ([name for name, n in counts.items() if n and name not in compared],
         f"counted as undecidable; {left_out} use no such pairs"),
        ([name for name, n in counts.items() if n and name in compared],
         "compared anyway, with a token for unknown words in one of the sentences"),
    ):  # fmt: skip
        if names:
            counts_by_name = ", ".join(f"{latex(name)} {counts[name]:,}" for name in names)
            yield f"Contrasts with only one form that the model knows ({counts_by_name}) are {what}."


def _protocols(opened: RunSet, cited: dict[str, str]) -> Iterator[str]:
    """Yield a sentence for each way in which models were asked."""
    by_protocol: dict[str, list[str]] = {}
    for name, manifest in opened.manifests.items():
        parts = {**manifest.key.protocol, "terminator": manifest.key.terminator}
        settings = ", ".join(f"{part} {_value(value)}" for part, value in sorted(parts.items()))
        by_protocol.setdefault(settings, []).append(name)
    for settings, names in by_protocol.items():
        whose = counted(len(names), "model").partition(" ")[2]
        whose = f"The {whose}" if len(by_protocol) == 1 else ", ".join(names)
        yield f"{latex(whose)} read with: {latex(settings)}."
    if "pll" in cited:
        yield f"Masked models were scored by pseudo-log-likelihood \\citep{{{cited['pll']}}}."


def _value(value: Json) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)


def _table(opened: RunSet, groups: Mapping[str, Sequence[str]], grid: Grid, intervals: bool) -> str:
    """Return accuracies as a floating table, the best of each row in bold."""
    if not intervals:
        grid = grid.only([index for index, field in enumerate(grid.fields) if not field.joined])
    title = next(iter(opened.manifests.values())).suite.title
    sentences = [f"Accuracy on {latex(title)}."]
    sentences += ["The best of each row is bold."] if len(groups) > 1 else []
    sentences += seeds_in_caption(groups)
    sentences += [f"With {confidence_percent().replace('%', '')}\\% intervals."] if intervals else []
    return as_latex_float(grid, " ".join(sentences), _key(opened.suite))
