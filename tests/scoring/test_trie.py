"""The trie and the layouts for transformers against prefixes collected with plain sets and loops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tseval.scoring.trie import PADDING, attends, build_trie, contexts_of, packed_batches, path_batches

START = 9
SENTENCES = st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=7), min_size=1, max_size=40)
WIDER = st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=7), min_size=1, max_size=40)
STARTS = st.sampled_from([None, START])


def trie_of(sentences):
    return build_trie(
        np.array([token for sentence in sentences for token in sentence]),
        np.array([len(sentence) for sentence in sentences]),
    )


def prefixes_by_level(trie):
    prefixes, before = [], [()]
    for level in trie.levels:
        before = [(*before[p], int(t)) for p, t in zip(level.parents, level.tokens, strict=True)]
        prefixes.append(before)
    return prefixes


def prefixes_of_nodes(trie):
    return [prefix for level in prefixes_by_level(trie) for prefix in level]


def spell(contexts):
    """The tokens of every context, by following its parents."""
    spelt = []
    for token, parent in zip(contexts.tokens.tolist(), contexts.parents.tolist(), strict=True):
        spelt.append((*(spelt[parent] if parent >= 0 else ()), token))
    return spelt


def proper_prefixes(sentences, start):
    whole = [((start,) if start is not None else ()) + tuple(sentence) for sentence in sentences]
    return {sentence[:n] for sentence in whole for n in range(1, len(sentence))}


@given(SENTENCES, STARTS)
def test_contexts_are_the_distinct_proper_prefixes_in_preorder(sentences, start):
    contexts = contexts_of(trie_of(sentences), start)
    spelt = spell(contexts)
    assert spelt == sorted(proper_prefixes(sentences, start))
    assert contexts.depths.tolist() == [len(prefix) - 1 for prefix in spelt]
    for number, (prefix, end) in enumerate(zip(spelt, contexts.ends.tolist(), strict=True)):
        below = [other for other in range(len(spelt)) if spelt[other][: len(prefix)] == prefix]
        assert below == list(range(number, end))


@given(SENTENCES, STARTS)
def test_targets_are_the_nodes_that_follow_a_context(sentences, start):
    trie = trie_of(sentences)
    contexts = contexts_of(trie, start)
    spelt, nodes = spell(contexts), prefixes_of_nodes(trie)
    begin = () if start is None else (start,)
    seen = {}
    for context, token, node in zip(contexts.followed, contexts.targets, contexts.nodes, strict=True):
        seen[int(node)] = (*spelt[context], int(token))
    scored = {i for i, prefix in enumerate(nodes) if start is not None or len(prefix) > 1}
    assert seen == {i: begin + nodes[i] for i in scored}
    some = np.arange(len(spelt))[::-2]
    which, at = contexts.targets_of(some)
    assert (contexts.followed[at] == some[which]).all()
    assert sorted(at) == [i for i, context in enumerate(contexts.followed) if context in some]


@given(SENTENCES, STARTS, st.integers(1, 20), st.integers(1, 60))
def test_packed_rows_hold_all_that_each_context_attends_to(sentences, start, width, batch_tokens):
    contexts = contexts_of(trie_of(sentences), start)
    spelt = spell(contexts)
    asked = []
    for batch in packed_batches(contexts, width, batch_tokens):
        asked += batch.contexts[batch.asked].tolist()
        mask = attends(contexts, batch)
        for row, may in zip(batch.contexts.tolist(), mask, strict=True):
            for here, number in enumerate(row):
                attended = [row[there] for there in np.flatnonzero(may[here])]
                if number == PADDING:
                    assert attended == [PADDING]
                else:
                    prefix = spelt[number]
                    assert [spelt[k] for k in attended] == [prefix[: n + 1] for n in range(len(prefix))]
    assert asked == list(range(len(spelt)))


@given(SENTENCES, STARTS, st.integers(1, 60))
def test_paths_are_whole_rows_of_one_length(sentences, start, batch_tokens):
    contexts = contexts_of(trie_of(sentences), start)
    spelt = spell(contexts)
    asked = []
    for batch in path_batches(contexts, batch_tokens):
        asked += batch.contexts[batch.asked].tolist()
        assert batch.contexts.shape[0] == 1 or batch.contexts.size <= batch_tokens
        for row in batch.contexts.tolist():
            assert [spelt[k] for k in row] == [spelt[row[-1]][: n + 1] for n in range(len(row))]
    assert sorted(asked) == list(range(len(spelt)))


@pytest.mark.parametrize("start", [None, START])
def test_rows_are_full_and_repeat_only_the_path_to_their_first_context(start):
    sentences = [[a, b, c, 0] for a in range(4) for b in range(4) for c in range(4)]
    contexts = contexts_of(trie_of(sentences), start)
    batches = list(packed_batches(contexts, 16, 32))
    assert [batch.contexts.shape for batch in batches[:-1]] == [(2, 16)] * (len(batches) - 1)
    read = sum((batch.contexts != PADDING).sum() for batch in batches)
    n_rows = sum(len(batch.contexts) for batch in batches)
    assert read <= len(contexts.tokens) + n_rows * (contexts.depths.max() + 1)


# The trie itself.
@given(WIDER)
def test_nodes_are_the_distinct_prefixes_each_once(sentences):
    expected = {tuple(sentence[:n]) for sentence in sentences for n in range(1, len(sentence) + 1)}
    nodes = prefixes_of_nodes(trie_of(sentences))
    assert len(nodes) == len(set(nodes))
    assert set(nodes) == expected


@given(WIDER)
def test_contexts_are_the_distinct_proper_prefixes(sentences):
    proper = {tuple(sentence[:n]) for sentence in sentences for n in range(len(sentence))}
    trie = trie_of(sentences)
    assert trie.n_contexts == len(proper)
    for prefixes, level in zip(prefixes_by_level(trie), trie.levels, strict=True):
        assert {prefixes[i] for i in level.inner} == proper & set(prefixes)


@given(WIDER)
def test_a_sentences_path_spells_it(sentences):
    trie = trie_of(sentences)
    nodes = prefixes_of_nodes(trie)
    start = 0
    for sentence in sentences:
        path = trie.paths[start : start + len(sentence)]
        assert [nodes[i] for i in path] == [tuple(sentence[: n + 1]) for n in range(len(sentence))]
        start += len(sentence)


@given(WIDER)
def test_children_follow_the_order_of_their_parents(sentences):
    # The engine takes the children of a block of parents as one slice.
    for level in trie_of(sentences).levels:
        assert (np.diff(level.parents) >= 0).all()
        assert (np.diff(level.inner) > 0).all()
