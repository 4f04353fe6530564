"""The data sets that tseval can download, with their addresses, sizes and digests."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tseval.errors import SuiteError
from tseval.files import data_folder
from tseval.suites.data.clams import LANGUAGES

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


_GITHUB = "https://raw.githubusercontent.com"
_BLIMP = f"{_GITHUB}/alexwarstadt/blimp/3e56b06fcabca9b30822fc66435fca6b1aa40bb1/data"
_GREEN = f"{_GITHUB}/facebookresearch/colorlessgreenRNNs/dbffbf0f2ef86c50bac204d7a2292862e1c6036f/data"


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit of a git repository. Its id is a checksum over all its files."""

    repository: str  # address that git can fetch from
    id: str  # forty hexadecimal digits


_TURKISH = Commit("https://github.com/ezgibasar/TurBLiMP", "297de13fb7a0ce524fe32e8b175c6b5255d66960")
_CHINESE = Commit("https://github.com/sjtu-compling/ZhoBLiMP", "e8402762a563c13def19080a31e2cbb8d89e4ef3")
_CLAMS = Commit("https://github.com/aaronmueller/clams", "299d80a80e98bd14a1f74b942f18ef05059d860b")
_BHASA = Commit("https://github.com/aisingapore/BHASA", "beb96cdec8f4efbe680b2e7ca66d3f42c0f7493e")
_FRENCH = Commit("https://github.com/davebulaval/QFrBLiMP", "bd14729271b8620c18037beb7d1ebe129ac39e6a")
_DIAGNOSTICS = Commit("https://github.com/aetting/lm-diagnostics", "080de8d8b29a3d6f5fe133af73d7e9170f4d4c0c")
_PRINCIPLE_B = Commit(
    "https://github.com/forrestdavis/PrincipleB", "fc05c74f3a1fd487bce1516f8eee85c83de6624d"
)
_BHS = Commit(
    "https://github.com/dariakryvosheieva/syntactic_generalization_multilingual",
    "7f440157f4925f094ca05d91087ea6847317cf45",
)
_FILLER_GAP = Commit(
    "https://github.com/umd-psycholing/lm-syntactic-generalization",
    "6beea2173b37e881cf0ebbfd542f2fc954f7db39",
)
_PRIME = Commit("https://github.com/dmg-illc/prime-lm", "1b1b832c1ec79c1edd224baa0dbd0fe61022c7d5")
_N400 = Commit(
    "https://github.com/jmichaelov/does-surprisal-explain-n400", "7e9662da6f806ade99d6814906c9957091841fb7"
)
_SAP = Commit("https://github.com/caplabnyu/sapbenchmark", "15e61066d510b5349e17740e6488c976abc3e1ac")


@dataclass(frozen=True, slots=True)
class Published:
    """A data set at its published address."""

    title: str  # the name for a citation
    licence: str  # as its authors state it
    n_cases: int
    n_items: int
    files: Mapping[str, str] = field(default_factory=dict)  # name to address, or to its path in `source`
    folder: str | None = None  # folder or archive of `source`: take all its files; `files` renames some
    source: Commit | None = None  # None if the files have separate addresses
    digest: str | None = None  # of the suite; None if only the commit guarantees the content
    columns: Mapping[str, str] = field(default_factory=dict)  # how to read the tables, as `--columns`


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A data set that tseval does not download, but reads if its files are present."""

    title: str
    licence: str
    address: str  # of a git repository with one file per case


_PARADIGMS = (
    "adjunct_island", "anaphor_gender_agreement", "anaphor_number_agreement", "animate_subject_passive",
    "animate_subject_trans", "causative", "complex_NP_island",
    "coordinate_structure_constraint_complex_left_branch",
    "coordinate_structure_constraint_object_extraction", "determiner_noun_agreement_1",
    "determiner_noun_agreement_2", "determiner_noun_agreement_irregular_1",
    "determiner_noun_agreement_irregular_2", "determiner_noun_agreement_with_adj_2",
    "determiner_noun_agreement_with_adj_irregular_1", "determiner_noun_agreement_with_adj_irregular_2",
    "determiner_noun_agreement_with_adjective_1", "distractor_agreement_relational_noun",
    "distractor_agreement_relative_clause", "drop_argument", "ellipsis_n_bar_1", "ellipsis_n_bar_2",
    "existential_there_object_raising", "existential_there_quantifiers_1", "existential_there_quantifiers_2",
    "existential_there_subject_raising", "expletive_it_object_raising", "inchoative", "intransitive",
    "irregular_past_participle_adjectives", "irregular_past_participle_verbs",
    "irregular_plural_subject_verb_agreement_1", "irregular_plural_subject_verb_agreement_2",
    "left_branch_island_echo_question", "left_branch_island_simple_question",
    "matrix_question_npi_licensor_present", "npi_present_1", "npi_present_2", "only_npi_licensor_present",
    "only_npi_scope", "passive_1", "passive_2", "principle_A_c_command", "principle_A_case_1",
    "principle_A_case_2", "principle_A_domain_1", "principle_A_domain_2", "principle_A_domain_3",
    "principle_A_reconstruction", "regular_plural_subject_verb_agreement_1",
    "regular_plural_subject_verb_agreement_2", "sentential_negation_npi_licensor_present",
    "sentential_negation_npi_scope", "sentential_subject_island", "superlative_quantifiers_1",
    "superlative_quantifiers_2", "tough_vs_raising_1", "tough_vs_raising_2", "transitive", "wh_island",
    "wh_questions_object_gap", "wh_questions_subject_gap", "wh_questions_subject_gap_long_distance",
    "wh_vs_that_no_gap", "wh_vs_that_no_gap_long_distance", "wh_vs_that_with_gap",
    "wh_vs_that_with_gap_long_distance",
)  # fmt: skip

# English has all constructions of Marvin & Linzen, the other languages have seven of them.
_CLAMS_FILES = (
    "simple_agrmt", "vp_coord", "long_vp_coord", "prep_anim", "subj_rel", "obj_rel_within_anim",
    "obj_rel_across_anim",
)  # fmt: skip
_CLAMS_ENGLISH = (
    "sent_comp", "prep_inanim", "obj_rel_within_inanim", "obj_rel_across_inanim",
    "obj_rel_no_comp_within_anim", "obj_rel_no_comp_within_inanim", "obj_rel_no_comp_across_anim",
    "obj_rel_no_comp_across_inanim", "simple_reflexives", "reflexive_sent_comp", "reflexives_across",
    "simple_npi_anim", "simple_npi_inanim", "npi_across_anim", "npi_across_inanim",
)  # fmt: skip


def _clams(code: str) -> Published:
    n_items = {"en": 157_346, "fr": 49_360, "de": 47_820, "he": 40_820, "ru": 40_120}[code]
    names = sorted([*_CLAMS_FILES, *(_CLAMS_ENGLISH if code == "en" else ())])
    files = {f"{name}.txt": f"{code}_evalset/{name}.txt" for name in names}
    title = f"CLAMS, {LANGUAGES[code]} (Mueller et al. 2020)"
    return Published(title, "Apache-2.0", len(files), n_items, files, source=_CLAMS)


# Suites of each language (Kryvosheieva & Levy 2025), named after the words of their sentences, in order.
_BHS_SUITES = {
    "basque": ("DO-S_DO_V_AUX", "DO-S_IO_DO_V_AUX", "IO-IO_S_V_AUX", "IO-S_IO_DO_V_AUX", "S-IO_S_V_AUX",
               "S-S_DO_V_AUX", "S-S_IO_DO_V_AUX", "S-S_V_AUX"),
    "hindi": ("S_O_V", "S_PossPRN_O_V", "S_PossPRN_PossN_O_V", "S_ne_O_V", "S_ne_PossPRN_O_V",
              "S_ne_PossPRN_PossN_O_V"),
    "swahili": ("N_of_Poss_D_AP_V_ni_AN", "N_of_Poss_D_AP_ni_AN", "N_of_Poss_D_A_V", "N_of_Poss_D_A_V1_V2",
                "N_of_Poss_D_V", "N_of_Poss_D_ni_A", "N_of_Poss_V", "N_of_Poss_ni_A"),
}  # fmt: skip
_FILLER_GAP_LAYOUT = "prefix comp apposotive np1 {}verb np2 {}prep np3 {}end"
_GARDEN_PATHS = {
    "critical": "disambPosition_0idx",
    "predict": "; ".join(f"{name}_AMB.critical > {name}_UAMB.critical" for name in ("MVRR", "NPS", "NPZ")),
}
CATALOGUE = {
    "blimp": Published(
        "BLiMP (Warstadt et al. 2020)", "CC BY 4.0", 67, 67_000,
        {f"{name}.jsonl": f"{_BLIMP}/{name}.jsonl" for name in _PARADIGMS},
        digest="cdcdfc03dcbd2323e1ef254da1c5d527ca5e6f9a5fa223150404a24ec8f7c22c",
    ),
    "linzen": Published(
        "Agreement in Wikipedia (Linzen et al. 2016)", "CC BY-NC 4.0", 5, 7_489,
        {f"linzen.{kind}": f"{_GREEN}/linzen_testset/subj_agr_filtered.{kind}" for kind in ("text", "gold")},
        digest="e4ca13f70300176331b0a0d1fc31afea608c36f57f3dac4ac610d819891ca694",
    ),
    "gulordava": Published(
        "Colourless green agreement (Gulordava et al. 2018)", "CC BY-NC 4.0", 2, 410,
        {"generated.tab": f"{_GREEN}/agreement/English/generated.tab"},
        digest="0ae60a4c9c792f5ba0bb231ad211cd3b11962d06c8b46bf8e1666d24ea8d341b",
    ),
    **{f"clams_{code}": _clams(code) for code in LANGUAGES},
    "turblimp": Published(
        "TurBLiMP, Turkish (Başar et al. 2025)", "CC BY 4.0", 16, 16_000, folder="data/base", source=_TURKISH
    ),
    "turblimp_orders": Published(
        "TurBLiMP, word orders and subordination", "CC BY 4.0", 22, 2_200, folder="data/experimental",
        source=_TURKISH,
    ),
    "rublimp": Published(
        "RuBLiMP, Russian (Taktasheva et al. 2024)", "Apache-2.0", 45, 45_000, folder="datasets",
        source=Commit("https://github.com/RussianNLP/RuBLiMP", "9f0d8dfa993b2c0f0acf12660258540376779543"),
    ),
    "jblimp": Published(
        "JBLiMP, Japanese (Someya & Oseki 2023)", "CC BY-NC-SA 4.0", 37, 331,
        {"jblimp.jsonl": "data/validated/validated_minimal_pairs.jsonl"},
        source=Commit("https://github.com/osekilab/JBLiMP", "80dbcd80f161511d9130691181a6492cae2c6dcc"),
    ),
    "zhoblimp": Published(
        "ZhoBLiMP, Chinese (Liu et al. 2025)", "none stated", 118, 35_400, folder="data/ZhoBLiMP.tar.gz",
        source=_CHINESE,
    ),
    "syntaxgym": Published(
        "SyntaxGym's suites (Hu et al. 2020)", "MIT", 34, 842, folder="test_suites/json",
        source=Commit(
            "https://github.com/cpllab/syntactic-generalization", "43f1f86b746254406dafc89bd17b9d4976607ef6"
        ),
        digest="601fd1d344a11a2643c2b00f80639e30cba0d1922c15708669766ae6da38aa92",
    ),
    "zorro": Published(
        "Zorro (Huebner et al. 2021)", "MIT", 23, 46_000, folder="sentences/babyberta",
        source=Commit("https://github.com/phueb/Zorro", "687ba433e91a3815e8204a8fc0cf0577303b1660"),
        digest="9f51dcb0971b6bafb4d67bff9c945015f011f9adabe04b6b7930202d19a734d4",
        columns={"layout": "alternating"},
    ),
    "sling": Published(
        "SLING, Chinese (Song et al. 2022)", "MIT", 54, 40_560, folder="SLING_Data",
        source=Commit(
            "https://github.com/Yixiao-Song/SLING_Data_Code", "5a7f791fbb9db6d2fee66e128fe89c80ac1f993b"
        ),
        digest="33d810a4c17084de7c42fbfc81d558dbb18756ad9546963ebbe92a7d361cbbc3",
    ),
    "climp": Published(
        "CLiMP, Chinese (Xiang et al. 2021)", "none stated", 16, 16_000,
        {"ba_construction.txt": "CLiMP_corpus/ba_construction_1000.csv"},  # lines without columns
        folder="CLiMP_corpus.zip",
        source=Commit("https://github.com/beileixiang/CLiMP", "094a9e93a4598f23f86eb715d4782b358634c810"),
        digest="257c599c92d7c8f2015ab3e116b99d10b453c5cc86e0c443589fa9b47fc6848c",
        columns={"layout": "alternating-good-first", "sentence": "2", "case": "1", "phenomenon": "0"},
    ),
    "blimp_nl": Published(
        "BLiMP-NL, Dutch (Suijkerbuijk et al. 2025)", "CC BY 4.0, says a copy", 22, 8_400,
        {"blimp_nl.jsonl": "datastore/BLiMP-NL/blimp-nl.jsonl"}, source=_FRENCH,  # a copy
        digest="f15206b5a283fc6c65d640d391ec5f72b2023ef88bd54f3160c1f1c207b65e62",
        columns={"case": "category"},
    ),
    "qfrblimp": Published(
        "QFrBLiMP, Quebec French (Beauchemin et al. 2026)", "CC BY-NC-SA 4.0", 20, 1_761,
        {"qfrblimp.tsv": "datastore/QFrBLiMP/human_llm_annotations.tsv"}, source=_FRENCH,
        digest="9a8cf74fc0425dfad78473e3b82d01792e03a435f2f61ae759e0b502177cc59f",
        columns={"case": "type"},
    ),
    **{
        f"lindsea_{code}": Published(
            f"LINDSEA, {language} (Leong et al. 2023)", "CC BY 4.0", n_cases, 10 * n_cases,
            folder=f"lindsea/{code}/syntax", source=_BHASA, digest=digest,
            columns={"case": "category", "phenomenon": "linguistic_phenomenon"},
        )
        for code, language, n_cases, digest in (
            ("id", "Indonesian", 38, "83dcbd4fd75e1dad110ec689782b410f97da3b8148c02d85dd50d4b554199802"),
            ("ta", "Tamil", 47, "b7011541b63de7e635b684879e38ee82e80ec99fd8ce471c0d35edd302655ad8"),
        )
    },
    **{
        f"sap_{name}": Published(
            f"SAP, {name.replace('_', ' ')} (Huang et al. 2024)", "MIT", 1, n_items,
            {f"{name}.csv": f"Surprisals/data/items_{file}.pivot.csv"}, source=_SAP, digest=digest,
            columns=columns,
        )
        for name, file, n_items, columns, digest in (
            ("agreement", "Agreement", 18, {"critical": "disambPosition"},
             "82d076b4d730e47dc4609841a96b16ef9ae1d8c781023023f3089c6f7424ba56"),
            ("attachment", "AttachmentAmbiguity", 24, {"critical": "disambPosition"},
             "38c721626e9e5d9002f77b6728343811c05bb75664988f1f4eddd8ca94954dba"),
            ("garden_paths", "ClassicGP", 24, _GARDEN_PATHS,
             "e73f3c40d252cb6d51555027e6a071faab3cd2d9f2386a07b942f745590bac50"),
            ("relative_clauses", "RelativeClause", 24, {"critical": "targetPosition"},
             "29332280c4b140edc7d570542783def73cfcf16e8f3c28276ab10e9e19ad95d4"),
        )
    },
    "dais": Published(
        "DAIS, datives with ratings (Hawkins et al. 2020)", "CC BY 4.0", 1, 5_000,
        {"dais.csv": "DAIS/data/generated_pairs_with_results.csv"},
        source=Commit(
            "https://github.com/taka-yamakoshi/neural_constructions",
            "16ef145b71d1f6e6d755ad0f5ff822327639af0a",
        ),
        digest="7ced6dda812fa281ab396513252109dc5098ab3f636f8269dd6cfa42f96f9c60",
        columns={"good": "DOsentence", "bad": "PDsentence", "rating": "BehavDOpreference", "item": "verb_id"},
    ),
    **{
        f"gulordava_{code}": Published(
            f"Colourless green agreement, {language} (Gulordava et al. 2018)", "CC BY-NC 4.0", 2, n_items,
            {f"generated.{kind}": f"data/agreement/{language}/generated.{kind}" for kind in kinds.split()},
            source=Commit("https://github.com/facebookresearch/colorlessgreenRNNs",
                          "dbffbf0f2ef86c50bac204d7a2292862e1c6036f"),
            digest=digest,
        )
        for code, language, kinds, n_items, digest in (
            ("he", "Hebrew", "tab", 3_730,
             "54a032b5af0ac3a1323cbd34a0ab884c18f4f588bb31ec2e58c0b65bd873fadf"),
            ("it", "Italian", "tab", 1_190,
             "8183df5831da92dcbbac721454d975c75b91a874e26c644d912d8de2594b9f3a"),
            ("ru", "Russian", "text gold", 4_420,
             "521b1b7ea75cb4e2bf4a84c469601a449c6e2ea6bbdc9b06c7ce05fa3ec08517"),
        )
    },
    **{
        f"bhs_{language}": Published(
            f"Agreement in {language.capitalize()} (Kryvosheieva & Levy 2025)", "none stated", len(names),
            1_000 * len(names), {f"{name}.json": f"suites/{language}-{name}.json" for name in names},
            source=_BHS, digest=digest,
        )
        for (language, names), digest in zip(_BHS_SUITES.items(), (
            "4d9d93a0ca4998469768d5654048e070dfec97fb17d5ccb30e5a7f5004758655",
            "1831bbd06417722133dfbd51af77f1ac9df4d8b33432c7acec72468ad295e08d",
            "c4c3beb073bb7ab0c62f74d7a66e649388978c6ef5a68027831fa528ff329e03",
        ), strict=True)
    },
    **{
        f"principle_b_{name}": Published(
            f"Principle B, {what} (Davis 2022)", "MIT", 2, 2_000,
            {f"principle_b_{name}.csv": f"stimuli/PrincipleB_Exp{number}.csv"},
            source=_PRINCIPLE_B, digest=digest,
            columns={"item": "verb+frameNum", "case": "pronoun", "condition": "cond", "better": "Mismatch",
                     "prefix": "sent", "target": "target"},
        )
        for name, what, number, digest in (
            ("simple", "simple sentences", 1,
             "49884857df5da8d39c16fc77fefa73ca5b782f409355ddf1032b62a44083fa4e"),
            ("about", "an antecedent that does not c-command", 4,
             "6c8f1b4664e28366d6419424d9212cb80d4dbb0768529fffe3056c016f7e6de7"),
        )
    },
    "neg136_natural": Published(
        "NEG-136, natural sentences (Ettinger 2020)", "MIT", 1, 16,
        {"neg136_natural.tsv": "datasets/NEG-136/NEG-136-NAT.tsv"},
        source=_DIAGNOSTICS, digest="b7cf64420b49d1d8547ba42a8085e6d0794322c480dd662475147d20799ce1d9",
        columns={"Context1": "context_aff", "Context2": "context_neg", "Target1": "target_aff",
                 "Target2": "target_neg"},
    ),
    "role88": Published(
        "ROLE-88, roles exchanged (Ettinger 2020)", "MIT", 1, 44,
        {"role88.tsv": "datasets/ROLE-88/ROLE-88.tsv"},
        source=_DIAGNOSTICS, digest="dd3d9f647a5bd0fe4dce92bbc9a525b7aeb44b0f6fb401bc339c0296aa11463c",
        columns={"prefix": "context", "target": "target", "condition": "item:suffix", "better": "a"},
    ),
    "aann": Published(
        "AANN, a beautiful five days (Mahowald 2023, Misra & Mahowald 2024)", "MIT", 1, 12_960,
        {"aann.csv": "data/mahowald-aann/aanns_corruption.csv"},
        source=Commit(
            "https://github.com/kanishkamisra/aannalysis", "fbe22f9f139ec09fd79321e105d2e01d7958337d"
        ),
        digest="5bb05f04e025553d2a3b1a6c6105c6bd26cc5924dc8276fc7e14e06b3d140f46",
        columns={"prefix": "prefixes", "good": "aann", "bad": "order_swap", "item": "idx"},
    ),
    **{
        f"prime_{name}": Published(
            f"PrimeLM, {name} (Sinclair et al. 2022)", "none stated", 1, 15_000,
            {f"prime_{name}.csv": f"PrimeLM/corpora/CORE_{name}_15000sampled_10-1.csv"},
            source=_PRIME, digest=digest,
            columns=dict(zip(("Context1", "Context2", "Target1", "Target2"), columns, strict=True)),
        )
        for name, columns, digest in (
            ("dative", ("ppo", "pdo", "tpo", "tdo"),
             "53c141ee54fedfa97055cfe9b7af62fdea2adad6125b6fbb98d28d0c8a802af1"),
            ("transitive", ("pa", "pp", "ta", "tp"),
             "55788a8a750d98eeff4ca0d07ee03583125ce11dbd6b7e610c71179d0f5ce523"),
        )
    },
    **{
        f"filler_gap_{name}": Published(
            f"Filler and gap, {name} (Wilcox et al. 2018)", "none stated", 1, n_items,
            {f"filler_gap_{name}.csv": f"wilcox_csv/basic_{name}.csv"}, source=_FILLER_GAP, digest=digest,
            columns={"layout": layout, "predict": f"that_gap.{region} > what_gap.{region}"},
        )
        for name, region, layout, n_items, digest in (
            ("object", "prep", _FILLER_GAP_LAYOUT.format("", "*", ""), 50,
             "0ad877f58cc159cdac0f2f93e2bac03af4bdd4a5bc4fab5297383af8f9596c49"),
            ("pp", "end", _FILLER_GAP_LAYOUT.format("", "", "*"), 50,
             "909ef0d826389d3ebdecfe18309b5786caf3c3b1048c11f80379c1d8b1c0e955"),
            ("subject", "verb", _FILLER_GAP_LAYOUT.format("*", "", ""), 50,
             "d629b32b6888b78979ae704d23f9aa79f8f657e9af37e3ae06d5ab28b54c6d7a"),
        )
    },
    **{
        f"n400_{name}": Published(
            f"Stimuli of {paper}", "MIT", 1, n_items, {f"n400_{name}.csv": f"jrnn/stimuli/{file}.csv"},
            source=_N400,
            digest=digest, columns={"item": "SentenceFrame", "condition": "Condition", "better": "control"},
        )
        for name, paper, file, n_items, digest in (
            ("pronouns", "Osterhout & Mobley 1995, pronouns", "osterhout_mobley_1995_exp2_pronouns", 60,
             "8effe2d8309df829c7132b06473a2d49817fc7ed91b8ec574ca1f967b678a171"),
            ("anomalies", "Osterhout & Mobley 1995, anomalies", "osterhout_mobley_1995_exp2_controls", 90,
             "5000c7db42359f8af7c61b7571e4d5903b16f1eef65db4ba79e9a50f807fbde6"),
        )
    },
}  # fmt: skip
ELSEWHERE = {
    "multiblimp": Elsewhere(
        "MultiBLiMP 1.0, 101 languages, 125,000 pairs (Jumelet et al. 2025)",
        "CC BY 4.0",
        "https://huggingface.co/datasets/jumelet/multiblimp",
    )
}


def published_at(path: Path) -> Published | None:
    """Return the published set that a folder holds, by the folder's name; None outside the data folder."""
    return CATALOGUE.get(path.name) if path.parent == data_folder() else None


def columns_at(path: Path, columns: Mapping[str, str] | None) -> dict[str, str] | None:
    """Return how to read the tables at a path: the columns of the published set, overridden by the user's."""
    published = published_at(path)
    return {**(published.columns if published else {}), **(columns or {})} or None


def refuse_elsewhere(name: str) -> None:
    """Raise an error that explains how to get a data set, if tseval knows it but does not download it."""
    if name in ELSEWHERE:
        address = ELSEWHERE[name].address
        raise SuiteError(
            f"the data set {name!r} is not on this machine, and tseval cannot fetch it.\n"
            f"  Type git clone {address}, and then name its folder: --suite ./{name}."
        )
