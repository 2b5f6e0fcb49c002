"""Which loads `make bench-store-stalls` counts."""

from benches.store_stalls import NEAR, Pair, stalls

WORDS = ["I  10,4", " S 1000,8", "I  14,4", " S 1008,8"]
"""Two words are written."""


def counted(*lines: str) -> dict[Pair, int]:
    return dict(stalls(lines)[0])


def test_two_words_read_as_one_value_wait_for_the_second():
    found, between = stalls([*WORDS, "I  18,5", " L 1000,16"])
    pair = Pair(load=0x18, store=0x14, read=16, written=8)
    assert found == {pair: 1}
    assert between == {pair: 1}


def test_each_word_alone_does_not_wait():
    assert not counted(*WORDS, "I  18,5", " L 1000,8", "I  20,5", " L 100c,4")


def test_bytes_beside_the_store_do_not_wait():
    assert not counted("I  10,4", " S 1000,4", "I  14,4", " L 1004,4")


def test_a_store_over_both_serves_the_load():
    assert not counted(*WORDS, "I  18,4", " S 1000,16", "I  1c,4", " L 1000,16")


def test_old_stores_have_reached_the_cache():
    since = ["I  18,4"] * NEAR
    assert counted(*WORDS, *since[1:], "I  1c,4", " L 1000,16")
    assert not counted(*WORDS, *since, "I  1c,4", " L 1000,16")
