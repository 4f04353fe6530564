"""Every message about a user's data: a file, the options for its columns, and the error."""

import json
import re

import pytest

from tseval.errors import SuiteError
from tseval.suites import load_suite
from tseval.suites.data.roles import read_columns

TAB = (
    "pattern\tconstr_id\tsent_id\tcorrect_number\tform\tclass\ttype\tprefix\tn_attr\n"
    'P\t1\t0\tplur\twere\tcorrect\toriginal\t"the ""big"" dogs"\t0\n'
    'P\t1\t0\tplur\twas\twrong\toriginal\t"the ""big"" dogs"\t0\n'
)
RATED = "sentence,rating\na,1\nb,2\nc,3\n"
RATED_IN_JSON = [{"sentence": text, "rating": place} for place, text in enumerate("abc")]

PREFIXED = {"prefix": "the author", "good": "laughs .", "bad": "laugh .", "number": "sing"}
CROSSED = {"Context1": "a b", "Context2": "b a", "Target1": "c", "Target2": "d"}
PAIRS = "Satz;Falsch\na b;b a\n"

# File name, content, options for its columns, and the message: a text or a pattern.
ROWS = [
    # Tables of sentences and pairs, with the line to type.
    *(("a.csv", *row) for row in [
        ("item,condition,sentence\n1,animate,a x\n1,inanimate,a y\n", None,
         "a.csv:1: no column says which of these conditions is better: 'animate', 'inanimate'.\n"
         "  Name the better condition, as in --columns better=animate. Or compare surprisals: --columns"),
        ("item,condition,sentence\n1,no violation,a x\n1,violation,a y\n", None,
         "as in --columns 'better=no violation'. Or compare"),
        ("sentence,label\na b,1\nb a,0\n", None,
         "no column says which sentences form a pair.\n"
         "  Name the column that numbers the pairs: --columns item=NAME."),
        ("item,label,sentence\n1,good,a b\n1,bad,\n", None, "a.csv:3: the cell in the column 'sentence' "
                                                            "has no sentence"),
        ("item,label,sentence\n1,good,a b\n,bad,b a\n", None, "a.csv:3: the cell in the column 'item' "
                                                              "names no item"),
        ("item,label,sentence\n1,good,a b\n1,bad,b a\n2,good,c\n", None,
         "a.csv:4: the item '2' has no ungrammatical sentence.\n  Add the ungrammatical sentence, or remove"),
        ("item,label,sentence\n1,good,a\n1,bad,b\n1,good,c\n1,bad,d\n", None,
         "the item '1' has 2 grammatical and 2 ungrammatical sentences, so tseval cannot pair them.\n"
         "  Name all columns that identify an item: --columns item=NAME+NAME."),
        ("item,label,sentence\n1,good,a b\n1,bad,b a\n1,bad,b a\n", None, "a.csv:4: the item '1' has the "
                                                                          "same sentence twice"),
        ("item,label,sentence\n1,good,a b\n1,maybe,b a\n", None,
         "a.csv:3: the column 'label' has the value 'maybe', and tseval does not know whether this"),
        ("item_id,pair_id,label,sentence\n1,1,good,a b\n1,1,bad,b a\n", None,
         "tseval does not know which column has the role 'item': 'item_id' or 'pair_id'.\n"
         "  Add --columns item=item_id or --columns item=pair_id."),
        ("item,condition,sentence\n1,A,a b\n1,B,b a\n", "better=C", "--columns better=C: no sentence has "
                                                                    "the label or condition 'C'"),
        ("item,condition,sentence,critical\n1,A,a b,3\n1,B,b a,1\n", None,
         "a.csv:2: the column 'critical' has '3', which is no word of the sentence 'a b'"),
        ("item,condition,sentence,critical\n1,A,a b,1\n1,B,b a,1\n2,A,c d,1\n", None,
         "a.csv:4: the item '2' has no sentence under the condition 'B'"),
        ("item,condition,sentence,critical\n1,A,a b,1\n1,B,b a,1\n1,A,c d,1\n", None,
         "a.csv:4: the item '1' has two sentences under the condition 'A'. The other is at "),
        ("good,bad\nthe boy runs,*the boy run\nx y,y x\n", None,
         "a.csv:2: this ungrammatical sentence begins with the mark *, but "),
        ("sentence,candidates\nthe [MASK] [MASK],a|b\n", None, "'the [MASK] [MASK]' has 2 masks, but must "
                                                               "have one"),
        ("sentence,candidates\nthe [MASK],a\n", None, "the candidates are 'a', but there must be at least "
                                                      "two"),
        ("sentence,options,answer\nthe [MASK],a|b,c\n", None, "a.csv:2: the answer in the column 'answer' "
                                                              "is nei"),
        ("rating_good,rating_bad,x\n1,2,y\n", None, "a.csv:1: no pair of sentence"),
        ("good_text,bad_text,good_example,bad_example\na b,b a,c d,d c\n", None,
         "several pairs of columns could have the good and the bad sentences.\n"
         "  Choose a pair: add --columns good=good_text,bad=bad_text or "),
        ("one,two,three\nthe dog,ran,home\n", None, "--layout 'one two *three', with {A|B} for conditions"),
    ]),
    *(("a.csv", PAIRS, *row) for row in [
        ("good=Satz", "a.csv:1: no bad sentence found in this table. The columns are 'Satz', 'Falsch'"),
        ("case=Falsch",
         "a.csv:1: no pair of sentences found in this table. The columns are 'Satz', 'Falsch'.\n"
         "  Rename the columns good and bad, or name them: --columns good=NAME,bad=NAME."),
        ("good=Satz,bad=Satz", "the column 'Satz' cannot have both the good and the bad sentences."),
        ("good=Satz,good=Falsch", "--columns gives the role 'good' to two columns: 'Satz' and 'Falsch'."),
        ("goood=Satz", "'goood' is neither a role nor a setting.\n  Did you mean 'good'? Roles and "
                       "settings: "),
        ("good", "--columns: 'good' does not have the form ROLE=NAME.\n  Write the role and the name of "
                 "its col"),
    ]),
    # Rated sentences.
    *(("a.csv", text, None, said) for text, said in [
        (RATED + "d,good\n", "a.csv:5: the column 'rating' has 'good', which is not a number"),
        (RATED + ",4\n", "a.csv:5: the cell of the sentence has '', which is not a sentence"),
        (RATED + "b,4\n", "a.csv:5: this sentence has the rating 4 here, but 2 at "),
        (RATED + "b,9\n", "If the rows are ratings by different people, add a column 'rater'."),
        ("sentence,rating\na,1\nb,2\n",
         "has 2 rated sentences, but a correlation needs at least 3.\n  Add rows with a sentence and its"),
        ("sentence,rating\na,2\nb,2\nc,2\n", "all ratings are 2, so there is no correlation"),
        ("sentence,rating,n\na,1,4\nb,2,0\nc,3,4\n",
         "a.csv:3: the column 'n' has '0', but must have a number of ratings.\n  Write a whole number: 1, "
         "2,"),
        ("sentence,rating,rating_se\na,1,0.1\nb,2,-0.1\nc,3,0\n",
         "a.csv:3: the column 'rating_se' has '-0.1', but a standard error is never negative."),
        ("sentence,rating,rater\na,1,x\na,2,x\nb,1,x\nc,2,x\n",
         "a.csv:3: the rater 'x' rates this sentence a second time. The first rating is at "),
        ("sentence,rating,rater,rating_se\na,1,x,1\n",
         "a.csv:2: the table has single ratings, and also their standard errors in the column 'rating_se'"),
        ("sentence,rating,rater,item\na,1,x,1\na,2,y,2\n", "but its item or case differs"),
        ("sentence,ratings\na,4 x\nb,1\nc,2\n",
         "a.csv:2: the column 'ratings' has 'x', which is not a number"),
        ("sentence,rating,tie\na,1,x\nb,2,y\nc,3,z\n", "a feature cannot have the name 'tie'"),
        ("text,score\na,1\n", "'text', 'score'.\n  If each row is a pair, add --columns good=NAME,bad=N"),
        ("", "For rated sentences, name two columns sentence and rating."),
    ]),
    *(("a.jsonl", [*RATED_IN_JSON, line], None, said) for line, said in [
        ({"sentence": "d", "rating": True}, "a.jsonl:4: the column 'rating' has True, which is not a number"),
        ({"sentence": 4, "rating": 1}, "a.jsonl:4: the cell of the sentence has 4, which is not a sentence"),
        ({"sentence": "d", "rating": 1, "ratings": []}, "a.jsonl:4: ratings is empty"),
        ({"sentence": "d", "ratings": [1, 2]}, "no value in the columns 'rater' and 'ratings', but other"),
    ]),
    # Pairs in JSON lines, and content that is not allowed in a table.
    *(("p.jsonl", f'{{"good": "a", "bad": "b", "n": 1}}\n{line}\n', None, said) for line, said in [
        ("{", "p.jsonl:2: no JSON"),
        ("[1]", "p.jsonl:2: this line is not a JSON object"),
        ('{"right": "a", "bad": "b"}', "p.jsonl:2: no pair of sentences found in this table. The columns"),
        ('{"good": 1, "bad": "b"}', "p.jsonl:2: the good sentence is 1, but must be a text"),
        ('{"good": " ", "bad": "b", "n": 2}', "p.jsonl:2: the good sentence has no words"),
        ('{"good": "a", "bad": "b", "n": "x"}', "p.jsonl:2: the value of 'n' is 'x' here, but 1 at "
                                                ".*p.jsonl:1"),
        ('{"good": "a", "bad": "b", "m": 1}',
         r"p.jsonl:2: the features of this item are \['m'\], but those of .*p.jsonl:1 are \['n'\]\."),
        ('{"good": "a", "bad": "b", "n": 1, "phenomenon": "x"}',
         "p.jsonl:2: the case, construction, phenomenon and dependency of this item are "),
    ]),
    *((name, text, None, said) for name, text, said in [
        ("t.csv", "good;bad,x\n", r"t\.csv:1: tseval does not know which mark separates .*: ',' and ';'\."),
        ("t.csv", "\n\ngood;bad;n\na;b\n", r"t\.csv:4: this row has 2 columns, but the header has 3"),
        ("t.csv", "good,bad\na,b,c\n", r"t\.csv:2: this row has 3 columns, but the header has 2"),
        ("t.csv", "good;bad\na,b\n", r"t\.csv:2: this row has 1 columns, .*\n  Use one separator: this "
                                     r"row seems to"),
        ("t.csv", 'good,bad\na,b\n"c,d\n', r"t\.csv:3: a cell begins with a quotation mark, but"),
        ("t.csv", 'good,bad\n"a" b,c\n', r't\.csv:2: a cell begins .* missing or not at its end'),
        ("t.csv", "good,bad,good\n", r"t\.csv:1: the header has an empty name, or .*'bad', 'good'"),
        ("t.csv", "good,bad\ra,b\r", r"t\.csv:1: the lines end in a carriage return without"),
        ("t.csv", "good,bad\na b\rc,d\n", r"t\.csv:2: a cell without quotes has a carriage return"),
        ("t.csv", b"good,bad\na,b\nc,\xe9t\xe9\n", r"t\.csv: line 3 is not UTF-8 text .* at byte 15 of"),
        ("t.csv", "good,bad\na,b\n".encode("utf-16")[:-1], r"t\.csv: the file is not text in the encoding "
                                                           r"utf-16 \(truncated data\)"),
        ("t.tsv", b"good\tbad\n", "t.tsv: tseval found no pair of sentences.\n  Add at least one row with"),
        ("t.tsv", b"good\tbad\n\xff\t\xfe\n", "t.tsv: line 2 is not UTF-8 text .* at byte 9"),
        ("t.tsv", b"good\tbad\ttie\na\tb\t1\n", "t.tsv:2: a feature cannot have the name "
                                                "'tie'.*\n.*ignore=tie"),
        ("simple_agrmt.txt", "False\ta b\n", "txt:1: the file begins with an ungrammatical sentence"),
        ("simple_agrmt.txt", "True\ta b\nMaybe\ta c\n", r"txt:2: .* True or False and a tab: 'Maybe\\ta "
                                                        r"c'\."),
        ("poetry.txt", "True\ta\nFalse\tb\n", "CLAMS has no construction 'poetry'"),
        ("a.text", "the dog barks\n", "a.gold: tseval cannot read this file"),
        ("t.tab", TAB.replace("n_attr", "attractors"), "a table of agreement items needs the column "
                                                       "'n_attr'"),
        ("t.tab", TAB.rsplit("P", 1)[0], "t.tab:2: each item needs two rows, but the last row has no "
                                         "partner"),
        ("t.tab", TAB.replace("wrong", "correct"), "t.tab:2: this row and the next row are not"),
        ("t.tab", TAB.replace("P\t1", "P\tone"), "t.tab:2: the column 'constr_id' has 'one'.*\n  Write a "
                                                 "whole number"),
        ("t.tab", TAB.replace("original", "invented"), "t.tab:2: the column 'type' has 'invented'.\n  "
                                                       "Write one of these: original, generated."),
    ]),
    *(("a.gold", text, None, said) for text, said in [
        ("2\tbarks\tbark\n", "a.gold:1: a line must have 4 cells with tabs between them, but this line is "
                             "'2"),
        ("1\tbarks\tbark\t0\n", "a.gold:1: word 1 of the sentence is not the form 'barks'"),
        ("2\tbarks\tbark\t0\n" * 2, "a.gold: the file has 2 lines"),
    ]),
    # JSON records; the second has no value for a column.
    *(("a.jsonl", f'{{"{name}": 1, {row}}}\n{{{row}}}\n', None, said) for row, name, said in [
        ('"item": 1, "label": "good", "sentence": "a b"', "critical", "a.jsonl:2: the column 'critical' "
                                                                      "has ''"),
        ('"sent_id": 1, "word": "a"', "word_index", "a.jsonl:2: the column 'word_index' has ''.*\n  Write "
                                                    "a whole number"),
    ]),
    # Continuations.
    *(("c.jsonl", records, None, said) for records, said in [
        ([PREFIXED, {"prefix": "the", "good": "author ."}], "c.jsonl:2: no columns have a prefix and its"),
        ([PREFIXED, PREFIXED | {"good": 3}], "c.jsonl:2: good is 3, but must be a text"),
        ([PREFIXED | {"bad": " "}], "c.jsonl:1: a continuation of this item is empty"),
        ([{"good": "a b .", "bad": "b a .", "number": "sing"}, PREFIXED],
         "c.jsonl:1: this item has no prefix, but other items of the folder have one.\n"
         "  Add a prefix to each item"),
        ([CROSSED, {"Context1": "a", "Target1": "b"}], "c.jsonl:2: the column 'Context2' is missing"),
    ]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "columns", "said"), ROWS)
def test_what_is_wrong_is_named_with_its_place(tmp_path, name, content, columns, said):
    if isinstance(content, list):
        content = "".join(json.dumps(record) + "\n" for record in content)
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    if name == "a.gold":
        (tmp_path / "a.text").write_text("the dog barks at me <eos>\n")
        name = "a.text"
    with pytest.raises(SuiteError) as error:
        load_suite(tmp_path / name, columns=None if columns is None else read_columns(columns))
    assert said in str(error.value) or re.search(said, str(error.value)), str(error.value)


def test_a_list_of_something_else_is_not_said_to_be_of_syntaxgyms(tmp_path):
    (tmp_path / "a.json").write_text('[{"gap": {"tokens": ["a"]}, "no_gap": {"tokens": ["b"]}}]')
    with pytest.raises(SuiteError, match=r"The columns are 'gap', 'no_gap'(?s:.)*Rename the columns good"):
        load_suite(tmp_path / "a.json")
