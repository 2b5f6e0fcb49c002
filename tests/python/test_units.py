from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marqueue.units import (
    FREQUENCY,
    PACKETS,
    RATE,
    SIZE,
    TIME,
    Dimension,
    Duration,
    Frequency,
    Packets,
    Quantity,
    Rate,
    Size,
)


@pytest.mark.parametrize(
    ("kind", "text", "base"),
    [
        (Rate, "10 Mbit/s", 10_000_000),
        (Rate, "2.5Gbit/s", 2_500_000_000),
        (Rate, "1e3 bit/s", 1000),
        (Rate, " 64  kbit/s ", 64_000),
        (Duration, "40 ms", 40_000_000),
        (Duration, "0.1 s", 100_000_000),
        (Duration, "2 min", 120_000_000_000),
        (Duration, "1 h", 3_600_000_000_000),
        (Duration, "7 us", 7000),
        (Duration, "3 ns", 3),
        (Duration, "0 s", 0),
        (Size, "1500 B", 1500),
        (Size, "150 kB", 150_000),
        (Size, "1 KiB", 1024),
        (Size, "2 MiB", 2_097_152),
        (Packets, "100 packets", 100),
        (Packets, "1 packet", 1),
        (Frequency, "30 /s", 30_000_000_000),
        (Frequency, "0.15 1/s", 150_000_000),
    ],
)
def test_text_with_a_unit_becomes_whole_base_units(kind: type[Quantity], text: str, base: int):
    assert kind.parse(text).base == base


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (Rate, "10 parsec", 'got "10 parsec", expected a rate such as "10 Mbit/s"'),
        (Rate, "10 MB/s", "expected a rate"),
        (Rate, "ten Mbit/s", 'got "ten Mbit/s"'),
        (Rate, "-1 Mbit/s", "not negative"),
        (Rate, "nan Mbit/s", 'got "nan Mbit/s"'),
        (Rate, "inf Mbit/s", 'got "inf Mbit/s"'),
        (Rate, "1e400 Mbit/s", "up to"),
        (Rate, 10, "got 10, expected a rate"),
        (Rate, True, "got true, expected a rate"),
        (Duration, "40", 'got "40", expected a time such as "40 ms"'),
        (Duration, "40 MS", 'got "40 MS"'),
        (Duration, "0.1 ns", "at least 1 ns"),
        (Duration, ["40 ms"], "got a list of 1"),
        (Packets, "1.5 packets", "a whole number of packets"),
        (Size, "150 kb", 'expected a size such as "1500 B"'),
        (Frequency, "", 'got "", expected a number per second'),
    ],
)
def test_anything_else_is_refused_with_the_value_and_what_was_expected(
    kind: type[Quantity], value: object, expected: str
):
    with pytest.raises(ValueError, match="got") as refused:
        kind.parse(value)
    assert expected in str(refused.value)


@pytest.mark.parametrize(
    ("quantity", "text"),
    [
        (Duration(40_000_000), "40 ms"),
        (Duration(100_000_000), "100 ms"),
        (Duration(150_000_000_000), "150 s"),
        (Duration(0), "0 ms"),
        (Rate(2_500_000), "2.5 Mbit/s"),
        (Size(1040), "1040 B"),
        (Packets(100), "100 packets"),
        (Frequency(150_000_000), "0.15 /s"),
    ],
)
def test_written_in_the_unit_that_keeps_it_short(quantity: Quantity, text: str):
    assert str(quantity) == text


@given(
    st.sampled_from([Rate, Duration, Size, Packets, Frequency]),
    st.integers(min_value=0, max_value=10**9),
)
def test_what_is_written_is_read_back(kind: type[Quantity], base: int):
    assert kind.parse(str(kind(base))) == kind(base)


@given(
    st.sampled_from([TIME, RATE, SIZE, PACKETS, FREQUENCY]),
    st.decimals(min_value="0", max_value="1e12", places=3),
)
def test_parameters_need_not_be_whole(dimension: Dimension, value: Decimal):
    assert dimension.read(dimension.write(value)) == value
