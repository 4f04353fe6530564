"""Determiners, inversion and gaps: the claims of their grammars, recomputed from the sentences."""

from collections import Counter

from tseval.suites import load_suite

# Positions, from the end, of the main clause's and the relative clause's auxiliary in the statement.
PLACES = {"subject_rc": (-1, -3), "object_rc": (-1, -3), "rc_on_object": (-6, -1)}
DETERMINERS = {"this": "sing", "that": "sing", "these": "plur", "those": "plur"}


def undone(question: str, place: int) -> list[str]:
    """Move the first word of a question back to its position in the statement."""
    auxiliary, *rest = question.split()
    return [*rest[:place], auxiliary, *rest[place:]]


def test_both_questions_are_made_of_one_statement():
    for case in load_suite("inversion").cases:
        main, embedded = PLACES[case.name]
        for item in list(case.items())[::17]:
            good, bad = item.sentences.values()
            assert undone(good, main) == undone(bad, embedded), item.sentences
            assert good.split()[0] == item.features["auxiliary"]
            assert bad.split()[0] == item.features["embedded_auxiliary"]


def test_a_model_that_looks_at_the_first_word_alone_is_at_chance():
    for case in load_suite("inversion").cases:
        texts = [item.sentences.values() for item in case.items()]
        firsts = Counter(tuple(sentence.split()[0] for sentence in own) for own in texts)
        assert len(firsts) == 12
        assert all(firsts[good, bad] == firsts[bad, good] for good, bad in firsts)


def test_only_the_right_noun_has_the_number_of_its_determiner():
    suite = load_suite("determiner_noun")
    forms = {"sing": set(), "plur": set()}
    for case in suite.cases:
        for item in case.items():
            words = item.sentences["grammatical"].split()
            forms[DETERMINERS[words[2]]].add(words[-1])
    assert not forms["sing"] & forms["plur"]
    assert len(forms["sing"]) == len(forms["plur"]) == 20
    for case in suite.cases:
        for item in case.items():
            good, bad = (sentence.split() for sentence in item.sentences.values())
            assert good[:-1] == bad[:-1]
            assert bad[-1] not in forms[DETERMINERS[good[2]]]
            assert item.features["distance"] == len(good) - 4


def test_a_gap_leaves_out_one_noun_phrase_and_a_filler_stands_for_that():
    for case in load_suite("filler_gap").cases:
        for item in case.items():
            that, filled, gap, filler_gap = (sentence.split() for sentence in item.sentences.values())
            place = that.index("that")
            filler = "who" if case.name == "subject_gap" else "what"
            assert filled == [*that[:place], filler, *that[place + 1 :]]
            assert filler_gap == [*gap[:place], filler, *gap[place + 1 :]]
            phrases = [i for i, word in enumerate(that) if word == "the"]
            assert gap in [[*that[:i], *that[i + 2 :]] for i in phrases]
