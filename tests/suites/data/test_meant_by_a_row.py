"""The meaning of a row of a published table: nothing is silently dropped, reversed or joined."""

import json
import math

import pytest
import torch
from in_process import refuse, succeed
from small import write_file

from tseval.adapters import open_model
from tseval.errors import SuiteError
from tseval.evaluation import evaluate
from tseval.suites import load_suite
from tseval.suites.data.reading import what_was_read
from tseval.suites.data.roles import read_columns
from tseval.suites.data.row_texts import table_texts

CROSSED = (
    "item,cond,pronoun,sent\n1,Match,obj,the boy hurt him .\n1,Match,poss,the boy hurt his .\n"
    "1,Mismatch,obj,the woman hurt him .\n1,Mismatch,poss,the woman hurt his .\n"
    "2,Match,obj,the man saw him .\n2,Match,poss,the man saw his .\n"
    "2,Mismatch,obj,the girl saw him .\n2,Mismatch,poss,the girl saw his .\n"
)
TARGETS = (
    "uid,verb,frameNum,cond,pronoun,sent,target\n"
    "0_Ma_him,hurt,0,Match,obj,the boy hurt,him\n0_Ma_his,hurt,0,Match,poss,the boy hurt,his\n"
    "0_Mi_him,hurt,0,Mismatch,obj,the woman hurt,him\n0_Mi_his,hurt,0,Mismatch,poss,the woman hurt,his\n"
)
GAPS = (
    "item,condition,prefix,comp,np1,verb,np2,prep,np3,end\n"
    "1,what_nogap,I know,what,our friend,saw,the food,near,the man,at night\n"
    "1,that_nogap,I know,that,our friend,saw,the food,near,the man,at night\n"
    "1,what_gap,I know,what,our friend,saw,,near,the man,at night\n"
    "1,that_gap,I know,that,our friend,saw,,near,the man,at night\n"
)
EASY = (
    "item,condition,prefix,continuation\n1,easy,as he ate the boy,fell .\n1,hard,when he ate the boy,fell .\n"
    "2,easy,as she left the girl,ran .\n2,hard,when she left the girl,ran .\n"
)
MASKED = (
    "verb,item,sent,isHigh,gender\n"
    "feared,0,the man feared the woman because [MASK] was there .,1,m\n"
    "feared,0,the woman feared the man because [MASK] was there .,0,m\n"
    "feared,1,the man feared the woman because [MASK] was there .,0,f\n"
    "feared,1,the woman feared the man because [MASK] was there .,1,f\n"
)


@pytest.fixture(scope="module")
def model():
    return open_model("bundled:lstm")


@pytest.fixture(scope="module")
def bits(model):
    """Return a function that gives the surprisals of a text's words from a position on, by plain torch."""
    network, ids = model.model, model.vocabulary.ids()

    def of(text, start=0):
        words = torch.tensor([ids.get(word, ids["<unk>"]) for word in ["<eos>", *text.lower().split()]])
        with torch.inference_mode():
            outputs, _ = network(words[:, None], network.initial_state(1))
            table = network.logits(outputs[:-1, 0]).double().log_softmax(1)
        return -table.gather(1, words[1:, None])[start:, 0].sum().item() / math.log(2)

    return of


def read(path, content, columns=None, layout=None):
    write_file(path, content)
    how = (read_columns(columns) if columns else {}) | ({"layout": layout} if layout else {})
    return load_suite(path, columns=how or None)


def effects(model, suite):
    """Return the effect of every item in bits, and whether its prediction holds."""
    verdicts = evaluate(model, suite).verdicts
    margins = (verdicts["better_score"] - verdicts["worse_score"]) / math.log(2)
    return [*zip(margins, verdicts["correct"], strict=True)]


@pytest.mark.parametrize(
    ("content", "columns", "pairs"),
    [
        (CROSSED, "condition=cond+pronoun,predict=Match_obj.* > Mismatch_obj.*",
         [("the boy hurt him .", "the woman hurt him .", 0), ("the man saw him .", "the girl saw him .", 0)]),
        (CROSSED.replace("Mismatch", "bad").replace("Match", "good"),
         "condition=cond+pronoun,predict=good_obj.* > bad_obj.*",
         [("the boy hurt him .", "the woman hurt him .", 0), ("the man saw him .", "the girl saw him .", 0)]),
        ("item,condition,sentence,critical\n1,match,the king said that he was old .,5\n"
         "1,mismatch,the queen said that he was old .,5\n", "predict=match.critical > mismatch.critical",
         [("the king said that he", "the queen said that he", 4)]),
        (EASY, None, [("when he ate the boy fell .", "as he ate the boy fell .", 5),
                      ("when she left the girl ran .", "as she left the girl ran .", 5)]),
        (EASY, "predict=hard.continuation > easy.continuation",
         [("when he ate the boy fell .", "as he ate the boy fell .", 5),
          ("when she left the girl ran .", "as she left the girl ran .", 5)]),
        (GAPS, "layout=prefix comp np1 verb np2 *prep np3 end,predict=that_gap.prep > what_gap.prep",
         [("I know that our friend saw near", "I know what our friend saw near", 6)]),
    ],
    ids=["opposites", "conditions called good and bad", "critical words", "a continuation a row",
         "a prediction of continuations", "a column a region"],
)  # fmt: skip
def test_what_is_predicted_is_what_is_asked(tmp_path, model, bits, content, columns, pairs):
    suite = read(tmp_path / "a.csv", content, columns)
    expected = [bits(more, at) - bits(less, at) for more, less, at in pairs]
    found = effects(model, suite)
    assert [effect for effect, _ in found] == pytest.approx(expected, abs=2e-4)
    assert [bool(right) for _, right in found] == [effect > 0 for effect in expected]


def test_columns_of_a_sentence_follow_one_another(tmp_path):
    columns = "sentence=sent+target,item=frameNum+pronoun,condition=cond,better=Mismatch"
    (case,) = read(tmp_path / "a.csv", TARGETS, columns).cases
    assert case.sentences.to_pydict() == {
        "good": ["the woman hurt him", "the woman hurt his"], "bad": ["the boy hurt him", "the boy hurt his"]
    }  # fmt: skip
    rows = "begin,end,wrong\nthe boy,left .,leave .\n"
    (case,) = read(tmp_path / "b.csv", rows, "good=begin+end,bad=begin+wrong").cases
    assert case.sentences.to_pydict() == {"good": ["the boy left ."], "bad": ["the boy leave ."]}


def test_a_column_with_another_value_in_every_row_names_no_case(tmp_path):
    columns = "prefix=sent,item=frameNum+pronoun,condition=cond,better=Mismatch"
    suite = read(tmp_path / "a.csv", TARGETS, columns)
    (case,) = suite.cases
    assert (case.name, case.n_items) == ("a", 2)
    assert "uid has another value in every row" in what_was_read(suite)


def test_every_run_on_data_names_the_columns_that_are_not_used(tmp_path):
    rows = "good,bad,uid,gold_label,case\nhe laughs .,he laugh .,1,A,x\nthey laugh .,they laughs .,2,A,x\n"
    write_file(tmp_path / "items.csv", rows)
    ended = succeed("run", "--model", "bundled:lstm", "--suite", "./items.csv", "--out", "run", cwd=tmp_path)
    assert "read items.csv (pairs, 2 items; not used: uid, gold_label)" in ended.stderr
    (file,) = json.loads((tmp_path / "run/manifest.json").read_text())["suite"]["files"].items()
    assert file == ("items.csv", "pairs, 2 items; not used: uid, gold_label")
    table = "sentence\tverb_index\tnumber\tverb_form\topp_verb_form\tmood\nhe is old\t1\tsing\tis\tare\tx\n"
    assert "agreement, 1 item; not used: mood" in what_was_read(read(tmp_path / "a.tsv", table))
    ratings = "sentence,rating,uid\na b,1,x\nb a,2,y\nc d,3,z\n"
    assert "not used: uid" in what_was_read(read(tmp_path / "r.csv", ratings))


def test_a_prediction_or_a_condition_that_nothing_asks_for_is_refused(tmp_path):
    pairs = "good,bad\na b,b a\n"
    with pytest.raises(
        SuiteError,
        match=r"predict= of --columns compares surprisals .* reads this file "
        r"as pairs",
    ):
        read(tmp_path / "a.csv", pairs, "predict=good.* > bad.*")
    examples = "sentence\tverb_index\tnumber\tverb_form\topp_verb_form\nhe is old\t1\tsing\tis\tare\n"
    for content, columns, said in (
        (MASKED, "candidates=he|she,alternatives=sum", "alternatives= works only for files with a prefix"),
        (pairs, "fill=good:a>b", "fill= works only for files with one sentence in each row"),
        (examples, "where=number:sing", "where= chooses rows"),
    ):
        with pytest.raises(SuiteError, match=said):
            read(tmp_path / ("c.tsv" if content is examples else "c.csv"), content, columns)
    with pytest.raises(
        SuiteError, match=r"better=x of --columns names a condition. But .* pairs, which have no conditions"
    ):
        read(tmp_path / "a.csv", pairs, "better=x")
    with pytest.raises(SuiteError, match="better= and predict= cannot be used together"):
        read(tmp_path / "b.csv", CROSSED, "condition=cond,better=Match,predict=Match.* > Mismatch.*")


def test_the_layout_that_the_message_offers_can_be_followed(tmp_path):
    with pytest.raises(SuiteError) as error:
        read(tmp_path / "a.csv", GAPS)
    offered = str(error.value).partition("--layout '")[2].partition("'")[0]
    assert offered == "prefix comp np1 verb np2 prep np3 *end"
    (case,) = read(tmp_path / "a.csv", GAPS, layout=offered).cases
    assert case.sentences["that_gap"].to_pylist() == ["I know that our friend saw near the man at night"]
    with pytest.raises(SuiteError, match="--layout uses the column 'item' as a part of the sentence"):
        read(tmp_path / "a.csv", GAPS, layout="item condition prefix comp np1 verb np2 *prep")
    with pytest.raises(SuiteError, match="'np2' is empty under the condition 'what_gap'"):
        read(tmp_path / "a.csv", GAPS, layout="prefix comp np1 verb *np2 prep np3 end")


def test_texts_between_a_prefix_and_its_continuation_need_a_layout(tmp_path):
    rows = (
        "item,condition,prefix,island,continuation\n1,a,I know,who that,left .\n1,b,I know,that who,left .\n"
    )
    with pytest.raises(SuiteError, match=r"--layout 'prefix island \*continuation'"):
        read(tmp_path / "a.csv", rows)
    (case,) = read(tmp_path / "a.csv", rows, layout="prefix island *continuation").cases
    assert case.sentences["a"].to_pylist() == ["I know who that left ."]


ROLES = (
    "item\tcontext\texpected\ttarget\n1\tthe woman saw which man the boys had\thit|hurt|seen\tkilled\n"
    "2\tthe man knew which girl the women had\thelped|met\tleft\n"
    "3\tthe man knew which women the girl had\tleft\tmet\n"
)


def test_words_that_stand_for_one_another_are_never_scored_as_one(tmp_path, model, bits):
    columns = "prefix=context,good=expected,bad=target"
    with pytest.raises(
        SuiteError,
        match=r"'expected' has several .*: "
        r"'hit\|hurt\|seen'.*\n.*alternatives=any",
    ):
        read(tmp_path / "a.tsv", ROLES, columns)
    verdicts = evaluate(model, read(tmp_path / "a.tsv", ROLES, columns + ",alternatives=any")).verdicts
    expected = []
    for line in ROLES.splitlines()[1:]:
        _, context, good, bad = line.split("\t")
        place = len(context.split())
        best = min(bits(f"{context} {one}", place) for one in good.split("|"))
        expected.append(best < bits(f"{context} {bad}", place))
    assert verdicts["correct"].tolist() == expected
    assert {*expected} == {True, False}
    single = ROLES.replace("hit|hurt|", "").replace("helped|", "")
    with pytest.raises(SuiteError, match=r"no continuation of a prefix has words with \| between"):
        read(tmp_path / "b.tsv", single, columns + ",alternatives=any")


def test_probabilities_of_words_in_a_cell_are_added(tmp_path, model, bits):
    rows = "item\tcontext\texpected\ttarget\n" + "".join(f"{row}\n" for row in (
        "1\tthe woman saw which man the boys had\thit|hurt|seen\tkilled|left",
        "2\tthe man knew which girl the women had\thelped|met\tleft|killed",
        "3\tthe man knew which women the girl had\tleft\tmet",
        "4\tthe man knew which women the girl had\tleft|met\tmet",
        "5\tthe man knew which women the girl had\tmet|met\tleft",
    ))  # fmt: skip
    suite = read(tmp_path / "a.tsv", rows, "prefix=context,good=expected,bad=target,alternatives=sum")

    def of_either(context, words):
        each = [bits(f"{context} {word}", len(context.split())) for word in {*words.split("|")}]
        return -math.log2(sum(2**-surprisal for surprisal in each))

    cells = [line.split("\t")[1:] for line in rows.splitlines()[1:]]
    expected = [of_either(context, bad) - of_either(context, good) for context, good, bad in cells]
    found = effects(model, suite)
    assert [effect for effect, _ in found] == pytest.approx(expected, abs=2e-4)
    verdicts = evaluate(model, suite).verdicts
    # In the fourth, both sides have the same terms for every model.
    assert verdicts["undecidable"].tolist() == [False, False, False, True, False]
    assert [right for _, right in found] == [effect > 0 and at != 3 for at, effect in enumerate(expected)]
    unlike = {effect > 0 for effect in expected[:3]}
    assert unlike == {True, False}


def test_a_run_says_what_several_words_in_a_cell_mean(tmp_path):
    write_file(tmp_path / "roles.tsv", ROLES)
    columns = "prefix=context,good=expected,bad=target,alternatives="
    for chosen, said in (("any", "a better word is more probable"), ("sum", "adds the probabilities")):
        run = "run", "--model", "bundled:lstm", "--suite", "./roles.tsv", "--columns", columns + chosen
        ended = succeed(*run, "--out", chosen, cwd=tmp_path)
        assert f"read roles.tsv (pairs, 3 items; alternatives={chosen})" in ended.stderr
        manifest = json.loads((tmp_path / chosen / "manifest.json").read_text())
        assert manifest["suite"]["columns"]["alternatives"] == chosen
        (note,) = (line for line in ended.stdout.splitlines() if f"alternatives={chosen}: " in line)
        assert said in note
        succeed("verify", chosen, "--suite", "./roles.tsv", cwd=tmp_path)
    assert "alternatives=some" in refuse(*run[:-1], columns + "some", "--out", "x", cwd=tmp_path).stderr


def test_roles_of_contexts_and_raters_can_be_named(tmp_path, model, bits):
    rows = (
        "item\tcontext_aff\tcontext_neg\ttarget_aff\ttarget_neg\n"
        "0\tthis city is very\tthis city is not very\tlarge\tsmall\n"
        "1\tthe old man was very\tthe old man was not very\told\tyoung\n"
    )
    columns = "Context1=context_aff,Context2=context_neg,Target1=target_aff,Target2=target_neg"
    found = effects(model, read(tmp_path / "neg.tsv", rows, columns))
    first = [bits("this city is not very large", 5) - bits("this city is very large", 4),
             bits("the old man was not very old", 6) - bits("the old man was very old", 5)]  # fmt: skip
    assert [effect for effect, _ in found[:2]] == pytest.approx(first, abs=2e-4)
    judged = "WorkerId,answer,sentence\na,6,x y\nb,5,x y\na,2,y x\nb,3,y x\na,7,z z\nb,6,z z\n"
    (case,) = read(tmp_path / "judged.csv", judged, "rating=answer,rater=WorkerId").cases
    assert case.features["rating"].to_pylist() == [5.5, 2.5, 6.5]
    assert case.features["n"].to_pylist() == [2, 2, 2]


def test_a_run_says_which_word_a_number_means(tmp_path):
    rows = "item,cond,sentence,{}\n1,a,the boy ran off,{}\n1,b,the boys ran off,{}\n"
    for name, number, start in (("critical", 3, 1), ("disambPosition_0idx", 2, 0)):
        suite = read(tmp_path / "a.csv", rows.format(name, number, number), "predict=b.critical > a.critical")
        said = f"{name} counts words from {start}: in the first row it means 'ran'"
        assert said in what_was_read(suite)
    twice = rows.format("critical", "ran", "ran").replace("boy ran", "ran ran")
    with pytest.raises(SuiteError, match=r"a\.csv:2: critical is 'ran', which stands 2 times in"):
        read(tmp_path / "a.csv", twice)


def test_what_fills_a_mask_is_given_once_or_by_a_column(tmp_path):
    path = tmp_path / "masked.csv"
    with pytest.raises(SuiteError, match=r"--columns 'candidates=he\|she'"):
        read(path, MASKED)
    (case,) = read(path, MASKED, "candidates=he|she").cases
    assert case.sentences["good"].to_pylist()[0] == "the man feared the woman because he was there ."
    assert case.sentences["bad"].to_pylist()[0] == "the man feared the woman because she was there ."
    columns = "fill=gender:m>he,f>she,condition=isHigh,better=1"
    (case,) = read(path, MASKED, columns).cases
    assert case.sentences["good"].to_pylist() == [
        "the man feared the woman because he was there .", "the woman feared the man because she was there ."
    ]  # fmt: skip
    with pytest.raises(
        SuiteError, match="'gender' has the value 'f', but the setting fill= of --columns has no word"
    ):
        read(path, MASKED, "fill=gender:m>he,condition=isHigh,better=1")


def test_agreement_of_nouns_and_adjectives_is_not_called_that_of_verbs(tmp_path):
    header = "pattern\tconstr_id\tsent_id\tcorrect_number\tform\tclass\ttype\tprefix\tn_attr\n"
    verbs = ("L__NOUN_VERB_VERB\t1\t7\tsing\tis\tcorrect\tgenerated\tthe man who left\t0\n"
             "L__NOUN_VERB_VERB\t1\t7\tsing\tare\twrong\tgenerated\tthe man who left\t0\n")  # fmt: skip
    nouns = verbs.replace("NOUN_VERB_VERB", "DET_ADJ_NOUN").replace("\t7\t", "\t8\t")
    assert read(tmp_path / "a.tab", header + verbs).cases[0].phenomenon == "Subject-verb agreement"
    assert read(tmp_path / "b.tab", header + verbs + nouns).cases[0].phenomenon == "Agreement"


GOLD = (
    "L!NOUN_VERB_VERB!Number=Sing!Number=Plur\t1\t0\t4\tVERB\tNumber=Sing|Person=3\tis\tare\tbe\t1\tNOUN\tx\n"
    "L!NOUN_VERB_VERB!Number=Sing!Number=Plur\t1\t7\t4\tVERB\tNumber=Plur|Person=3\thave\thas\thave\t1\tNOUN\tx\n"
)


def test_sentences_with_patterns_beside_them_give_the_items_of_the_table(tmp_path):
    table = "pattern\tconstr_id\tsent_id\tcorrect_number\tform\tclass\ttype\tprefix\tn_attr\n"
    for version, number, kind, prefix, forms in (
        (0, "sing", "original", "the man who left", ("is", "are")),
        (7, "plur", "generated", "the cars he saw", ("have", "has")),
    ):
        for form, label in zip(forms, ("correct", "wrong"), strict=True):
            table += f"L__NOUN_VERB_VERB\t1\t{version}\t{number}\t{form}\t{label}\t{kind}\t{prefix}\t0\n"
    for folder in ("tab", "gold"):
        (tmp_path / folder).mkdir()
    of_table = read(tmp_path / "tab/generated.tab", table)
    write_file(tmp_path / "gold/generated.gold", GOLD)
    write_file(
        tmp_path / "gold/generated.text", "the man who left is old <eos>\nthe cars he saw run on <eos>\n"
    )
    of_gold = load_suite(tmp_path / "gold")
    assert what_was_read(of_gold) == "gold: read generated.text (gulordava, 2 items)"
    for one, other in zip(of_table.cases, of_gold.cases, strict=True):
        assert (one.name, one.construction, one.phenomenon) == (
            other.name, other.construction, other.phenomenon
        )  # fmt: skip
        assert one.sentences.equals(other.sentences)
        assert one.entries.equals(other.entries)
        assert one.features.drop_columns(["n_attractors"]).equals(other.features)


@pytest.mark.parametrize(
    ("gold", "text", "said"),
    [
        (
            GOLD,
            "the man who left\nthe cars he saw run\n",
            r"generated\.text:1: the sentence has 4 words, but",
        ),
        (GOLD, "the man who left is\n", "the file has 2 lines, but"),
        (
            GOLD.replace("Number=Plur|Person", "Person"),
            "a b c d e\na b c d e\n",
            r"generated\.gold:2: this line",
        ),
    ],
)
def test_patterns_that_do_not_fit_their_sentences_are_named(tmp_path, gold, text, said):
    write_file(tmp_path / "generated.gold", gold)
    with pytest.raises(SuiteError, match=said):
        read(tmp_path / "generated.text", text)


def test_arrays_without_names_are_two_endings_of_one_beginning(tmp_path, model, bits):
    pairs = [[["the man near the cars", "the man near the cars"], ["is old .", "are old ."]]]
    found = effects(model, read(tmp_path / "suite.json", json.dumps(pairs)))
    expected = bits("the man near the cars are old .", 5) - bits("the man near the cars is old .", 5)
    assert [effect for effect, _ in found] == pytest.approx([expected], abs=2e-4)
    with pytest.raises(SuiteError, match="element 2 of the list is not a list of two pairs"):
        read(tmp_path / "suite.json", json.dumps([*pairs, ["a", "b"]]))


def test_the_surprisal_of_a_word_beside_its_context_is_that_of_the_word(tmp_path, bits):
    write_file(tmp_path / "cloze.csv", "sentence,word,sent_id\nthe boy hurt,him,1\nthe man saw,his,2\n")
    texts = table_texts(tmp_path / "cloze.csv")
    assert [(one.text, one.before, one.length) for one in texts] == [
        ("the boy hurt him", 3, 1), ("the man saw his", 3, 1)
    ]  # fmt: skip
    printed = succeed("surprisal", "--model", "bundled:lstm", "--format", "tsv", "cloze.csv", cwd=tmp_path)
    sums = [float(line.split("\t")[-1]) for line in printed.stdout.splitlines()[1:]]
    assert sums == pytest.approx([bits("the boy hurt him", 3), bits("the man saw his", 3)], abs=2e-4)
    assert "tseval reads word as the continuation of sentence" in printed.stderr


def test_a_table_under_another_ending_is_told_by_which_name_it_is_read(tmp_path):
    write_file(tmp_path / "story.tok", "word\tzone\titem\nthe\t1\t1\n")
    assert (
        "name a copy story.tsv"
        in refuse("run", "--model", "bundled:lstm", "--suite", "./story.tok", cwd=tmp_path).stderr
    )


def test_the_line_to_type_is_whole_in_the_message_of_a_wide_table(tmp_path):
    header = "Subject,Context,Ambiguous Verb,Unambiguous Verb,That,NP/S,Extension,Disambiguator,Rest"
    cells = "The chef,who cooked,understood,hoped,that,the meal,that he made,would be late,by far"
    write_file(tmp_path / "nps.csv", f"{header}\n{cells}\n")
    run = "run", "--model", "bundled:lstm", "--suite", "./nps.csv"
    message = refuse(*run, cwd=tmp_path).stderr
    layout = message.partition("--layout '")[2].partition("'")[0]
    assert layout == (
        'Subject Context "Ambiguous Verb" "Unambiguous Verb" That "NP/S" Extension Disambiguator *Rest'
    )
    chosen = (
        'Subject Context {"Ambiguous Verb"|"Unambiguous Verb"} {That|} "NP/S" Extension *Disambiguator Rest'
    )
    assert succeed(*run, "--layout", chosen, "--out", "a", cwd=tmp_path).returncode == 0
    names = [f"region_number_{n}_of_a_long_name" for n in range(30)]
    write_file(tmp_path / "nps.csv", ",".join(names) + "\n" + ",".join(names) + "\n")
    assert "--layout with the names of all regions, in their order" in refuse(*run, cwd=tmp_path).stderr


@pytest.mark.parametrize(
    ("content", "texts"),
    [
        ("sent_id\ttoken_id\ttoken\n0\t0\tThe\n0\t1\tboy\n", [("The boy", 0, 1), ("The boy", 1, 1)]),
        ("True\tthe boy runs .\nFalse\tthe boy run .\n", [("the boy runs .", 0, 4), ("the boy run .", 0, 4)]),
    ],
    ids=["a word a row", "sentences with labels"],
)
def test_the_header_and_the_labels_of_a_table_of_text_are_no_words_of_it(tmp_path, content, texts):
    write_file(tmp_path / "simple_agrmt.txt", content)
    assert [(one.text, one.before, one.length) for one in table_texts(tmp_path / "simple_agrmt.txt")] == texts
    asked = "surprisal", "--model", "bundled:lstm", "--format", "tsv", "simple_agrmt.txt"
    printed = succeed(*asked, cwd=tmp_path).stdout
    assert printed.startswith("row\t")
    assert len(printed.splitlines()) == 1 + len(texts)
    write_file(tmp_path / "simple_agrmt.txt", "the boy\truns .\nhe left .\n")
    assert succeed(*asked, cwd=tmp_path).stdout.startswith("sentence\tword\ttext\t")


def test_rows_are_chosen_by_a_column(tmp_path):
    columns = "where=pronoun:obj,prefix=sent,item=frameNum,condition=cond,better=Mismatch"
    suite = read(tmp_path / "a.csv", TARGETS, columns)
    assert suite.cases[0].sentences["good"].to_pylist() == ["the woman hurt him"]
    with pytest.raises(SuiteError, match="where=pronun:obj names the column 'pronun', but the table has no"):
        read(tmp_path / "a.csv", TARGETS, "where=pronun:obj")
    with pytest.raises(SuiteError, match=r"no row has 'him' in 'pronoun'.*\n.*Values: obj, poss"):
        read(tmp_path / "a.csv", TARGETS, "where=pronoun:him")
    masked = MASKED.replace("[MASK] was there .,1,m", "he was there .,1,x", 1)  # `where` skips the first row
    suite = read(tmp_path / "b.csv", masked, "where=gender:f,candidates=she|he")
    assert suite.cases[0].sentences["good"].to_pylist()[0].endswith("because she was there .")


def test_several_words_in_one_place_are_refused_or_named(tmp_path):
    rows = "item,cond,prefix,continuation\n1,a,the boy,ran|fell\n1,b,the boys,ran\n"
    message = r"a\.csv:2: the column 'continuation' has several words with .*: 'ran\|fell'"
    with pytest.raises(SuiteError, match=message):
        read(tmp_path / "a.csv", rows)
    said = what_was_read(read(tmp_path / "b.csv", "good,bad\nhe hit|hurt him .,he hits him .\nx y,y x\n"))
    assert "tseval scores the mark | unchanged, in 1 sentence such as 'he hit|hurt him .'" in said
    rows = "item,cond,a,b,c\n1,x,the boy,NA,ran\n1,y,the boy,who left,ran\n"
    said = what_was_read(read(tmp_path / "c.csv", rows, layout="a b *c"))
    assert "missing value (NA, NaN) as a word, in 1 sentence such as 'the boy NA ran'" in said


def test_the_better_condition_is_named_where_the_file_does_not_name_it(tmp_path):
    rows = (
        "item,context_had,target,Plausibility\n1,which man the boys had,killed,Plausible\n"
        "1,which boys the man had,killed,Implausible\n"
    )
    suite = read(tmp_path / "a.csv", rows)
    assert suite.cases[0].sentences["good"].to_pylist() == ["which man the boys had killed"]
    assert "tseval takes 'Plausible' as better (to change it: --columns better=VALUE)" in what_was_read(suite)
    other = read(tmp_path / "a.csv", rows, "better=Implausible")
    assert other.cases[0].sentences["good"].to_pylist() == ["which boys the man had killed"]
    assert "as better" not in what_was_read(other)


def test_the_conditions_that_all_items_have_are_offered(tmp_path):
    rows = "item,cond,prefix,continuation\n1,a,w,x\n1,b,v,x\n1,c,u,x\n2,a,w,z\n2,b,v,z\n"
    with pytest.raises(
        SuiteError, match=r"the item '2' has no sentence under the condition 'c'.*\n.*\n.*'where=cond:a\|b'"
    ):
        read(tmp_path / "a.csv", rows)
    assert read(tmp_path / "a.csv", rows, "where=cond:a|b").cases[0].n_items == 2


def test_pairs_whose_last_words_are_unknown_because_of_their_periods_are_warned_of(tmp_path):
    rows = (
        "good,bad\nthe women helped each other.,the women helped other.\nhe told her to go.,he told to go.\n"
    )
    write_file(tmp_path / "pairs.csv", rows)
    run = "run", "--model", "bundled:lstm", "--suite", "./pairs.csv"
    ended = succeed(*run, "--out", "glued", cwd=tmp_path)
    warned = ended.stdout + ended.stderr
    assert "4 of 4 sentences hold words that the model does not know" in warned
    assert "--tokenise" in warned
    ended = succeed(*run, "--tokenise", "--out", "apart", cwd=tmp_path)
    assert "hold words" not in ended.stdout + ended.stderr


def test_a_condition_at_the_end_of_an_item_is_read_by_its_suffix(tmp_path):
    rows = (
        ROLES.replace("hit|hurt|", "")
        .replace("helped|", "")
        .replace("\n2\t", "\n1-b\t")
        .replace("\n1\t", "\n1-a\t")
    )
    columns = "prefix=context,target=target,condition=item:suffix,better=a"
    (case,) = read(tmp_path / "a.tsv", "\n".join(rows.splitlines()[:3]) + "\n", columns).cases
    assert (case.n_items, case.entries["item"].to_pylist()) == (1, ["1"])
    assert case.sentences["good"].to_pylist() == ["the woman saw which man the boys had killed"]
    with pytest.raises(SuiteError, match="tseval cannot split '3' into an item and a condition"):
        read(tmp_path / "b.tsv", rows, columns)


def test_names_of_contexts_are_no_words_of_a_sentence(tmp_path):
    rows = "Context,Condition,Sentence\nframe1,R,he put on his boots .\nframe1,U,he put on his books .\n"
    with pytest.raises(
        SuiteError,
        match=r"by its name, the column 'Context' has .* its first cell is 'frame1', .*\n"
        r".*--columns item=Context",
    ):
        read(tmp_path / "a.csv", rows)
    (case,) = read(tmp_path / "a.csv", rows, "item=Context,better=R").cases
    assert case.sentences["good"].to_pylist() == ["he put on his boots ."]


def test_a_choice_of_words_in_a_context_is_refused(tmp_path):
    rows = "Context1,Context2,Target1,Target2\na trout is (a|an),a trout is not (a|an),fish,tool\n"
    with pytest.raises(
        SuiteError,
        match=r"a\.csv:2: the column 'Context1' has several words with .*: 'a trout is "
        r"\(a\|an\)'",
    ):
        read(tmp_path / "a.csv", rows)


def test_an_item_without_a_condition_of_the_prediction_is_left_out_and_counted(tmp_path):
    rows = "item,condition,sentence\n1,a,x y\n1,b,y x\n1,c,x x\n2,a,x z\n2,b,z x\n3,a,y z\n"
    suite = read(tmp_path / "a.csv", rows, "predict=b.* > a.*")
    assert suite.cases[0].sentences.to_pydict() == {"a": ["x y", "x z"], "b": ["y x", "z x"]}
    assert (
        "1 item left out, without a sentence under each condition of the prediction (a, b)"
        in what_was_read(suite)
    )


def test_crossed_factors_are_compared_within_a_factor(tmp_path):
    rows = "item,number,distance,sentence,critical\n" + "".join(
        f"1,{number},{distance},the {number} {distance} ran,4\n"
        for number in ("sing", "plur") for distance in ("none", "near", "far")
    )  # fmt: skip
    (case,) = read(tmp_path / "a.csv", rows, "condition=number+distance").cases
    assert [prediction.formula for prediction in case.question.predictions] == [
        f"{number}_{distance}.critical > {number}_none.critical"
        for number in ("sing", "plur") for distance in ("near", "far")
    ]  # fmt: skip


def test_a_letter_says_which_of_two_sentences_is_the_better_one(tmp_path):
    rows = "sentence_A,sentence_B,gold_label\nhe laughs .,he laugh .,A\nthey laughs .,they laugh .,B\n"
    suite = read(tmp_path / "a.csv", rows)
    assert suite.cases[0].sentences.to_pydict() == {
        "good": ["he laughs .", "they laugh ."], "bad": ["he laugh .", "they laughs ."]
    }  # fmt: skip
    assert "not used" not in what_was_read(suite)
    with pytest.raises(SuiteError, match=r"a\.csv:3: the column 'gold_label' has 'C', but must have A or B"):
        read(tmp_path / "a.csv", rows.replace(",B\n", ",C\n"))
    with pytest.raises(SuiteError, match=r"gold_label begins with '0', neither A nor B"):
        read(tmp_path / "a.csv", rows.replace(",A\n", ",0\n").replace(",B\n", ",1\n"))
    better = "Better,Worse\nhe laughs .,he laugh .\n"
    assert read(tmp_path / "b.csv", better).cases[0].sentences["good"].to_pylist() == ["he laughs ."]
