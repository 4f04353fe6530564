"""BibTeX entries for a paper about some runs: the software, the suite and the methods."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tseval.questions import COMPARES_WORDS
from tseval.questions.normalisation import split_measure
from tseval.report.writers.latex import latex

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tseval.runs.manifest import Manifest, SuiteFacts

# No DOI here has an underscore: without the package url, plainnat would print it as a formula.
REFERENCES = r"""
@misc{tseval, title = {tseval: targeted syntactic evaluation of language models},
  author = {{The tseval developers}}, year = {2026}, note = {Version VERSION}}
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
  journal = {TACL}, volume = {8}, pages = {377--392}, year = {2020}, url = {https://aclanthology.org/2020.tacl-1.25}}
@article{linzen-etal-2016, title = {Assessing the Ability of {LSTM}s to Learn Syntax-Sensitive Dependencies},
  author = {Linzen, Tal and Dupoux, Emmanuel and Goldberg, Yoav},
  journal = {TACL}, volume = {4}, pages = {521--535}, year = {2016}, url = {https://aclanthology.org/Q16-1037}}
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
@inproceedings{kauf-ivanova-2023, title = {A Better Way to Do Masked Language Model Scoring},
  author = {Kauf, Carina and Ivanova, Anna}, booktitle = {Proceedings of ACL}, year = {2023},
  note = {{arXiv:2305.10588}}}
@inproceedings{pimentel-meister-2024, title = {How to Compute the Probability of a Word},
  author = {Pimentel, Tiago and Meister, Clara}, booktitle = {Proceedings of EMNLP}, year = {2024},
  note = {{arXiv:2406.14561}}}
@inproceedings{newman-etal-2021, title = {Refining Targeted Syntactic Evaluation of Language Models},
  author = {Newman, Benjamin and Ang, Kai-Siang and Gong, Julia and Hewitt, John},
  booktitle = {Proceedings of NAACL-HLT}, year = {2021}, pages = {3710--3723},
  doi = {10.18653/v1/2021.naacl-main.290}}
@inproceedings{hu-levy-2023,
  title = {Prompting Is Not a Substitute for Probability Measurements in Large Language Models},
  author = {Hu, Jennifer and Levy, Roger}, booktitle = {Proceedings of EMNLP}, year = {2023},
  pages = {5040--5060}, doi = {10.18653/v1/2023.emnlp-main.306}}
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
# Beginnings of the names of suites. Other suites are cited by their title and source.
KEYS_OF_SUITES = {
    "marvin_linzen": "marvin-linzen-2018", "clams": "mueller-etal-2020", "blimp": "warstadt-etal-2020",
    "linzen": "linzen-etal-2016", "gulordava": "gulordava-etal-2018", "dyck": "hewitt-etal-2020",
}  # fmt: skip
YEAR = re.compile(r"\b(?:19|20)\d\d\b")


def citation_keys(manifests: Sequence[Manifest], *, clustered: bool) -> dict[str, str]:
    """Return the BibTeX keys for a paper about some runs, by cited topic."""
    suite = manifests[0].suite.name
    known_keys = (key for name, key in KEYS_OF_SUITES.items() if re.match(rf"{name}(?:$|_|\()", suite))
    keys = {"tseval": "tseval", "suite": next(known_keys, as_key(suite))}
    protocols = [manifest.key.protocol for manifest in manifests]
    if any("pll" in protocol for protocol in protocols):
        keys["pll"] = "salazar-etal-2020"
    if any(protocol.get("pll") == "within_word_l2r" for protocol in protocols):
        keys["within_word_l2r"] = "kauf-ivanova-2023"
    if any(manifest.key.score == "prompt" for manifest in manifests):
        keys["prompts"] = "hu-levy-2023"
    if manifests[0].suite.lexicon is not None:
        keys["all verbs"] = "newman-etal-2021"
    if any(corrects_words(manifest) for manifest in manifests):
        keys["words"] = "pimentel-meister-2024"
    if any(manifest.counts.n_half_known for manifest in manifests):
        keys |= {"forms": "linzen-etal-2016", "both forms": "gulordava-etal-2018"}
    if clustered:
        keys |= {"cr2": "bell-mccaffrey-2002", "several": "cameron-etal-2011"}
    return keys


def corrects_words(manifest: Manifest) -> bool:
    """Return whether a run compares words whose probabilities are corrected for longer words."""
    score, _ = split_measure(manifest.key.score)
    return score in COMPARES_WORDS and manifest.key.protocol.get("words") == "corrected"


def as_key(name: str) -> str:
    """Return a name as a key that BibTeX and LaTeX accept."""
    return re.sub(r"[^A-Za-z0-9-]+", "-", name).strip("-") or "suite"


def bibtex(keys: Mapping[str, str], manifests: Sequence[Manifest]) -> str:
    """Return the BibTeX entries of some keys, each once."""
    entries = {match[1]: match[0] for match in ENTRY.finditer(REFERENCES)}
    entries.setdefault(keys["suite"], _suite_entry(keys["suite"], manifests[0].suite))
    versions = sorted({manifest.key.tseval for manifest in manifests})
    chosen = [entries[key] for key in dict.fromkeys(keys.values())]
    return "\n".join(chosen).replace("VERSION", latex(", ".join(versions))) + "\n"


def _suite_entry(key: str, suite: SuiteFacts) -> str:
    """Return an entry for a suite without a known paper; its field `key` sorts it, as it has no author."""
    source = suite.source or "source not stated"
    year = YEAR.search(f"{suite.title} {source}")
    title = f"{{{latex(suite.title)}}}"
    return (
        f"@misc{{{key}, title = {{{title}}}, key = {{{title}}},\n"
        f"  year = {{{year[0] if year else 'n.d.'}}}, note = {{{latex(source)}}}}}"
    )
