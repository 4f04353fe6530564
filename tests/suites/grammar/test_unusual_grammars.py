"""Correct grammars that look unusual, in nineteen languages: lint finds no error."""

from typing import NamedTuple

import pytest
from in_process import call

from tseval.suites import load_suite


class Unusual(NamedTuple):
    """A correct grammar: its unusual property, language, front matter, sentences and first item."""

    name: str
    language: str
    front: str
    body: str
    first: str
    n_items: int
    warnings: tuple[str, ...] = ()  # lint's warnings; none of them gives exit code 1
    terminator: str = "."


TWO_PLACES = "differ in more than one contiguous stretch"
GRAMMARS = [
    Unusual(
        "agglutination",
        "turkish",
        "lexicon: {noun: {t: [{sing: ev, back: n}, {sing: okul, back: y}]}}\n"
        "slots: {noun: {class: noun.t, number: sing}, where_to: [in, from]}\n",
        '{% set ending = {"n": {"in": "de", "from": "den"}, "y": {"in": "da", "from": "dan"}} %}\n'
        '{% set other = {"n": "y", "y": "n"} %}\n'
        "{% macro suffix(harmony) %}\n  {{ ending[harmony][where_to] }}\n{% endmacro %}\n"
        "good: Ali {{ noun }}{{ suffix(noun.back) }} geldi\n"
        "bad: Ali {{ noun }}{{ suffix(other[noun.back]) }} geldi\n",
        "Ali evde geldi",
        4,
    ),
    Unusual(
        "free word order",
        "latin",
        "lexicon: {noun: {p: [{sing: puer, acc: puerum}, {sing: agricola, acc: agricolam}]}}\n"
        "slots: {a: {class: noun.p, number: sing}, b: {class: noun.p, number: sing, differs_from: a}, "
        "order: [sov, osv, svo]}\n",
        '{% macro put(s, o) %}{% if order == "sov" %}{{ s }} {{ o }} videt{% elif order == "osv" %}'
        "{{ o }} {{ s }} videt{% else %}{{ s }} videt {{ o }}{% endif %}{% endmacro %}\n"
        "good: hodie {{ put(a, b.acc) }}\nbad: hodie {{ put(a.acc, b.acc) }}\n",
        "hodie puer agricolam videt",
        6,
    ),
    Unusual(
        "a form without letters",
        "russian",
        "lexicon: {copula: {c: [{now: '', past: был, wrong: была}]}, noun: {p: [{sing: врач}, "
        "{sing: повар}]}}\n"
        "slots: {noun: {class: noun.p, number: sing}, copula: copula.c, tense: [now, past]}\n",
        "good: здесь {{ noun }} {{ copula[tense] }} один\nbad: здесь {{ noun }} {{ copula.wrong }} один\n",
        "здесь врач один",
        4,
    ),
    Unusual(
        "dual",
        "slovenian",
        "numbers: [sing, dual, plur]\n"
        "lexicon: {noun: {p: [{sing: volk, dual: volkova, plur: volkovi}]}, "
        "verb: {v: [{sing: spi, dual: spita, plur: spijo}, {sing: je, dual: jesta, plur: jejo}]}}\n"
        "slots: {noun: noun.p, verb: verb.v, other: [sing, dual, plur]}\nwhere: other != noun.number\n",
        "good: danes {{ noun }} {{ verb | agree(noun) }}\nbad: danes {{ noun }} {{ verb | agree(other) }}\n",
        "danes volk spi",
        12,
    ),
    Unusual(
        "classifiers, and no spaces",
        "japanese",
        "lexicon: {noun: {t: [{sing: 鉛筆, cl: 本}, {sing: 紙, cl: 枚}, {sing: 本, cl: 冊}]}}\n"
        "slots: {noun: {class: noun.t, number: sing}, other: [本, 枚, 冊]}\nwhere: other != noun.cl\n",
        "good: {{ noun }} が 三{{ noun.cl }} ある\nbad: {{ noun }} が 三{{ other }} ある\n",
        "鉛筆 が 三本 ある",
        6,
        terminator="。",
    ),
    Unusual(
        "an island: an interaction of two factors",
        "english",
        "lexicon: {noun: {p: [farmer, pilot]}, event: {e: [{verb: bought, object: the house, "
        "time: last week}, "
        "{verb: lost, object: the letter, time: yesterday}]}}\n"
        "slots: {noun: {class: noun.p, number: sing}, e: event.e}\nregions: [object, after]\n"
        "predictions:\n"
        "  island: (whether_gap.after - that_gap.after) > (whether_np.after - that_np.after)\n",
        "that_np: I know that you said that the {{ noun }} {{ e.verb }} [object {{ e.object }}] "
        "[after {{ e.time }}]\n"
        "whether_np: I know that you asked whether the {{ noun }} {{ e.verb }} "
        "[object {{ e.object }}] [after {{ e.time }}]\n"
        "that_gap: I know what you said that the {{ noun }} {{ e.verb }} [object] "
        "[after {{ e.time }}]\n"
        "whether_gap: I know what you asked whether the {{ noun }} {{ e.verb }} [object] "
        "[after {{ e.time }}]\n",
        "I know that you said that the farmer bought the house last week",
        4,
    ),
    Unusual(
        "separable verbs",
        "german",
        "lexicon: {verb: {v: [{finite: ruft, particle: an, whole: anruft}, {finite: hört, "
        "particle: zu, whole: zuhört}]}}\n"
        "slots: {verb: verb.v, adverb: [heute, morgen]}\n",
        "good: wir wissen , dass Anna {{ adverb }} {{ verb.whole }}\n"
        "bad: wir wissen , dass Anna {{ verb.finite }} {{ adverb }} {{ verb.particle }}\n",
        "wir wissen , dass Anna heute anruft",
        4,
        (TWO_PLACES,),
    ),
    Unusual(
        "clitics",
        "french",
        "lexicon: {pronoun: {p: [{clitic: le}, {clitic: la}, {clitic: les}]}, "
        "verb: {v: [{sing: voit}, {sing: connaît}]}}\n"
        "slots: {pronoun: pronoun.p, verb: verb.v}\n",
        "good: Marie {{ pronoun.clitic }} {{ verb }} souvent\n"
        "bad: Marie {{ verb }} {{ pronoun.clitic }} souvent\n",
        "Marie le voit souvent",
        6,
    ),
    Unusual(
        "from right to left",
        "hebrew",
        "lexicon: {noun: {p: [{sing: הילד, g: m}, {sing: הילדה, g: f}]}, verb: {v: [{m: ישן, "
        "f: ישנה}, {m: צוחק, f: צוחקת}]}}\n"
        "slots: {noun: {class: noun.p, number: sing}, verb: verb.v}\n",
        '{% set other = {"m": "f", "f": "m"} %}\ngood: {{ noun }} {{ verb[noun.g] }}\n'
        "bad: {{ noun }} {{ verb[other[noun.g]] }}\n",
        "הילד ישן",
        4,
    ),
    Unusual(
        "words that are one letter",
        "chinese",
        "lexicon: {noun: {t: [{sing: 书}, {sing: 笔}]}, name: {n: [小王, 老李]}}\n"
        "slots: {who: name.n, thing: {class: noun.t, number: sing}}\n",
        "good: {{ who }} 把 {{ thing }} 放 在 桌子 上\nbad: {{ who }} 放 在 桌子 上 把 {{ thing }}\n",
        "小王 把 书 放 在 桌子 上",
        4,
        terminator="。",
    ),
    Unusual(
        "decomposed letters throughout",
        "french",
        "lexicon: {noun: {p: [{sing: e\u0301le\u0300ve, plur: e\u0301le\u0300ves}]}, "
        "verb: {v: [{sing: re\u0301pond, plur: re\u0301pondent}]}}\n"
        "slots: {noun: noun.p, verb: verb.v}\n",
        "good: ici {{ noun }} {{ verb | agree(noun) }}\nbad: ici {{ noun }} {{ verb | disagree(noun) }}\n",
        "ici e\u0301le\u0300ve re\u0301pond",
        2,
    ),
    Unusual(
        "nouns of one form left out",
        "german",
        "lexicon: {noun: {p: [{sing: Lehrer, plur: Lehrer}, {sing: Pilot, plur: Piloten}]}, "
        "verb: {v: [{sing: kam, plur: kamen}]}}\n"
        "slots: {noun: noun.p, verb: verb.v}\nwhere: noun.sing != noun.plur\n",
        "good: hier {{ verb | agree(noun) }} {{ noun }}\nbad: hier {{ verb | disagree(noun) }} {{ noun }}\n",
        "hier kam Pilot",
        2,
    ),
    Unusual(
        "a long distance that varies",
        "english",
        "lexicon: {noun: {p: [farmer, pilot, guard, teacher, author]}, verb: {v: [laughs, swims]}}\n"
        "slots: {depth: [1, 2, 3], noun: noun.p, chain: {class: noun.p, repeat: depth, "
        "differs_from: noun}, verb: verb.v}\n"
        "draw: {items: 20, for_each: [depth]}\n",
        "{% macro phrases() %}{% for other in chain %}near the {{ other }} {% endfor %}{% endmacro %}\n"
        "good: the {{ noun }} {{ phrases() }} {{ verb | agree(noun) }}\n"
        "bad: the {{ noun }} {{ phrases() }} {{ verb | disagree(noun) }}\n",
        "",
        60,
    ),
    Unusual(
        "mutation",
        "welsh",
        "lexicon: {noun: {t: [{sing: ci, soft: gi, aspirate: chi}, {sing: cath, soft: gath, "
        "aspirate: chath}]}}\n"
        "slots: {noun: {class: noun.t, number: sing}, whose: [soft, aspirate]}\n",  # his, her
        '{% set other = {"soft": "aspirate", "aspirate": "soft"} %}\n'
        '{% macro echo() %}{% if whose == "soft" %}ef{% else %}hi{% endif %}{% endmacro %}\n'
        "good: gwelais ei {{ noun[whose] }} {{ echo() }}\n"
        "bad: gwelais ei {{ noun[other[whose]] }} {{ echo() }}\n",
        "gwelais ei gi ef",
        4,
    ),
    Unusual(
        "ergative case",
        "basque",
        "lexicon: {noun: {p: [{sing: gizona, plur: gizonak, erg_sing: gizonak, erg_plur: gizonek}, "
        "{sing: emakumea, plur: emakumeak, erg_sing: emakumeak, erg_plur: emakumeek}]}}\n"
        "slots: {noun: {class: noun.p, number: sing}, thing: [ogia, sagarra]}\n",
        "good: {{ noun.erg_sing }} {{ thing }} jan du\nbad: {{ noun }} {{ thing }} jan du\n",
        "gizonak ogia jan du",
        4,
    ),
    Unusual(
        "a verb that agrees with subject and object",
        "georgian",
        "lexicon: {verb: {v: [{s1_o2: გხედავ, s1_o3: ვხედავ, s2_o1: მხედავ, s2_o3: ხედავ}]}}\n"
        "slots: {verb: verb.v, subject: [s1, s2], object: [o1, o2, o3], wrong: [o1, o2, o3]}\n"
        "where: subject[1:] != object[1:] and wrong != object and subject[1:] != wrong[1:]\n",
        '{% set who = {"s1": "მე", "s2": "შენ"} %}\n'
        '{% set whom = {"o1": "მე", "o2": "შენ", "o3": "მას"} %}\n'
        'good: {{ who[subject] }} {{ whom[object] }} {{ verb[subject ~ "_" ~ object] }}\n'
        'bad: {{ who[subject] }} {{ whom[object] }} {{ verb[subject ~ "_" ~ wrong] }}\n',
        "მე შენ გხედავ",
        4,
    ),
    Unusual(
        "tone marks alone tell two words apart",
        "yoruba",
        "slots: {who: [mo, a], when: [lánàá, lónìí]}\n",
        "good: {{ who }} wọ ọkọ\u0300 {{ when }}\nbad: {{ who }} wọ ọkọ {{ when }}\n",
        "mo wọ ọkọ\u0300 lánàá",
        4,
    ),
    Unusual(
        "apostrophes",
        "italian",
        "lexicon: {noun: {p: [{sing: amico}, {sing: uomo}]}}\n"
        "slots: {noun: {class: noun.p, number: sing}, verb: [ride, dorme]}\n",
        "good: oggi l' {{ noun }} {{ verb }}\nbad: oggi il {{ noun }} {{ verb }}\n",
        "oggi l' amico ride",
        4,
    ),
    Unusual(
        "numerals that ask for a case",
        "russian",
        "lexicon: {noun: {t: [{sing: стол, few: стола, many: столов}, {sing: дом, few: дома, "
        "many: домов}]}, "
        "numeral: {n: [{word: два, asks: few, other: many}, {word: пять, asks: many, other: few}]}}\n"
        "slots: {noun: {class: noun.t, number: sing}, numeral: numeral.n}\n",
        "good: здесь {{ numeral.word }} {{ noun[numeral.asks] }}\n"
        "bad: здесь {{ numeral.word }} {{ noun[numeral.other] }}\n",
        "здесь два стола",
        4,
    ),
    Unusual(
        "a doubled word, and the danda",
        "hindi",
        "lexicon: {noun: {p: [{sing: लड़का, g: m}, {sing: लड़की, g: f}]}, verb: {v: [{m: चलता है, "
        "f: चलती है}, {m: बोलता है, f: बोलती है}]}}\n"
        "slots: {noun: {class: noun.p, number: sing}, verb: verb.v}\n",
        '{% set other = {"m": "f", "f": "m"} %}\ngood: {{ noun }} धीरे धीरे {{ verb[noun.g] }}\n'
        "bad: {{ noun }} धीरे धीरे {{ verb[other[noun.g]] }}\n",
        "लड़का धीरे धीरे चलता है",
        4,
        ("appears twice in a row",) * 2,
        "।",
    ),
    Unusual(
        "noun classes, and prefixes",
        "swahili",
        "lexicon: {noun: {t: [{sing: kitabu, cl: ki}, {sing: mti, cl: u}]}}\n"
        "slots: {noun: {class: noun.t, number: sing}, verb: [anguka, potea]}\n",
        '{% set other = {"ki": "u", "u": "ki"} %}\ngood: {{ noun }} {{ noun.cl }}me{{ verb }} jana\n'
        "bad: {{ noun }} {{ other[noun.cl] }}me{{ verb }} jana\n",
        "kitabu kimeanguka jana",
        4,
    ),
    Unusual(
        "joiners inside words",
        "persian",
        "lexicon: {noun: {p: [{sing: دختر, plur: دخترها}]}, verb: {v: [{sing: می\u200cرود, "
        "plur: می\u200cروند}]}}\n"
        "slots: {noun: noun.p, verb: verb.v}\n",
        "good: {{ noun }} {{ verb | agree(noun) }}\nbad: {{ noun }} {{ verb | disagree(noun) }}\n",
        "دختر می\u200cرود",
        2,
    ),
    Unusual(
        "phonetic letters",
        "english",
        "lexicon: {noun: {t: [{sing: θɪŋ, plur: θɪŋz}]}, verb: {v: [{sing: ɪz, plur: ɑɹ}]}}\n"
        "slots: {noun: noun.t, verb: verb.v}\n",
        "good: ðə {{ noun }} {{ verb | agree(noun) }} hɪɹ\n"
        "bad: ðə {{ noun }} {{ verb | disagree(noun) }} hɪɹ\n",
        "ðə θɪŋ ɪz hɪɹ",
        2,
    ),
    Unusual(
        "spaces without width between words",
        "khmer",
        "lexicon: {noun: {t: [{sing: ឆ្កែ}, {sing: ឆ្មា}]}}\nslots: {noun: {class: noun.t, number: sing}}\n",
        "good: {{ noun }} បី\u200bក្បាល\nbad: {{ noun }} ក្បាល\u200bបី\n",
        "ឆ្កែ បី\u200bក្បាល",
        2,
        terminator="។",
    ),
]


@pytest.mark.parametrize("grammar", GRAMMARS, ids=lambda grammar: grammar.name)
def test_a_correct_grammar_has_no_error(tmp_path, grammar):
    head = f"---\nconstruction: C\nphenomenon: P\nlanguage: {grammar.language}\n"
    text = f"{head}{grammar.front}---\n{grammar.body}"
    (tmp_path / "case.jinja").write_text(text, "utf-8")
    (tmp_path / "suite.yaml").write_text(
        f'title: T\nlanguage: {grammar.language}\nterminator: "{grammar.terminator}"\n', "utf-8"
    )
    done = call("lint", tmp_path, "--quiet")
    lines = [line for line in done.stdout.splitlines() if ": note: " not in line]
    assert len(lines) == len(grammar.warnings), done.stdout + done.stderr
    for line, warning in zip(lines, grammar.warnings, strict=True):
        assert ": warning: " in line
        assert warning in line
    (case,) = load_suite(tmp_path).cases
    assert case.n_items == grammar.n_items
    assert not grammar.first or case.sentences[case.labels[0]].to_pylist()[0] == grammar.first


def test_there_are_twenty_of_ten_languages():
    assert len(GRAMMARS) >= 20
    assert len({grammar.language for grammar in GRAMMARS}) >= 10
