import re
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from marqueue.units import (
    CLOCK,
    CYCLES,
    DENSITY,
    FREQUENCY,
    PACKETS,
    RATE,
    SIZE,
    TIME,
    Clock,
    Cycles,
    Density,
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
        (Size, "1.25 GB", 1_250_000_000),
        (Size, "2 GiB", 2**31),
        (Size, "2 MiB", 2_097_152),
        (Packets, "100 packets", 100),
        (Packets, "1 packet", 1),
        (Frequency, "30 /s", 30_000_000_000),
        (Frequency, "0.15 1/s", 150_000_000),
        (Frequency, "2 Hz", 2_000_000_000),
        (Rate, "+1 Gbit/s", 1_000_000_000),
        (Rate, "1.2 Tbit/s", 1_200_000_000_000),
        (Rate, ".5 kbit/s", 500),
        (Rate, "5. kbit/s", 5000),
        (Rate, "1e-3 Mbit/s", 1000),
        (Size, "3 MB", 3_000_000),
        (Duration, "1.5 ns", 2),
        (Duration, "3000000000 s", 3 * 10**18),
        (Packets, "1e9 packets", 10**9),
        (Clock, "25 Mcycles/s", 25_000_000),
        (Clock, "3 GHz", 3_000_000_000),
        (Clock, "7 kHz", 7000),
        (Density, "2 cycles/bit", 2_000_000),
        (Cycles, "1000 cycles", 1_000_000_000),
        (Cycles, "2 Mcycles", 2 * 10**12),
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
    ("kind", "value", "message"),
    [
        (
            Rate,
            "10 mbit/s",
            'got "10 mbit/s", expected a rate such as "10 Mbit/s" (units: bit/s, kbit/s, Mbit/s, '
            'Gbit/s, Tbit/s); did you mean "10 Mbit/s"?',
        ),
        (
            Duration,
            "-1 s",
            'got "-1 s", expected a time such as "40 ms" (units: ns, us, ms, s, min, h), not '
            "negative",
        ),
        (
            Packets,
            "2e9 packets",
            'got "2e9 packets", expected a number of packets such as "100 packets" (units: '
            "packets, packet), up to 1000000000 packets",
        ),
        (Packets, "1.5 packets", 'got "1.5 packets", expected a whole number of packets'),
        (
            Size,
            "0.1 B",
            'got "0.1 B", expected a size such as "1500 B" (units: B, kB, MB, GB, KiB, MiB, GiB), '
            "at least 1 B",
        ),
        (
            Clock,
            7,
            'got 7, expected a clock such as "25 Mcycles/s" (units: cycles/s, kcycles/s, '
            "Mcycles/s, Gcycles/s, Hz, kHz, MHz, GHz)",
        ),
        (
            Density,
            "2 cycles",
            'got "2 cycles", expected a density such as "2 cycles/bit" (units: cycles/bit)',
        ),
        (
            Cycles,
            "x",
            'got "x", expected a number of cycles such as "1000 cycles" (units: cycles, kcycles, '
            "Mcycles)",
        ),
        (
            Frequency,
            "5",
            'got "5", expected a number per second such as "30 /s" (units: /s, 1/s, Hz)',
        ),
    ],
)
def test_a_refusal_in_full(kind: type[Quantity], value: object, message: str):
    with pytest.raises(ValueError, match="got") as refused:
        kind.parse(value)
    assert str(refused.value) == message


def test_values_are_read_up_to_the_largest():
    for kind in (Rate, Duration, Size, Packets, Frequency, Clock, Density, Cycles):
        largest = kind(kind.largest)
        assert kind.parse(str(largest)) == largest
        with pytest.raises(ValueError, match=r", up to "):
            kind.parse(kind.dimension.write(Decimal(2 * kind.largest)))
        assert kind.parse(largest) is largest


def test_values_in_the_units_of_formulas():
    assert Duration.parse("40 ms").seconds == 0.04
    assert Frequency.parse("30 /s").per_second == 30
    assert Density.parse("2.5 cycles/bit").cycles_per_bit == 2.5
    assert Cycles.parse("1.5 kcycles").cycles == 1500


def test_a_quantity_as_a_field_of_a_model():
    field = TypeAdapter(Duration)
    assert field.validate_python("40 ms") == Duration(40_000_000)
    assert field.dump_json(Duration(40_000_000)) == b'"40 ms"'
    with pytest.raises(ValidationError) as refused:
        field.validate_python("40 MB")
    [problem] = refused.value.errors()
    assert problem["type"] == "mistake"
    assert problem["msg"].startswith('got "40 MB", expected a time such as "40 ms"')
    schema = field.json_schema()
    assert (schema["type"], schema["examples"]) == ("string", ["40 ms"])
    pattern = re.compile(schema["pattern"])
    for text in ("40 ms", " +.5e3h ", "0s"):
        assert pattern.search(text), text
    for text in ("-1 s", "40 MB", "40", "ms", "40 ms and more"):
        assert not pattern.search(text), text


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
        (Duration(1), "1 ns"),
        (Duration(1_000), "1 us"),
        (Duration(1_240), "1240 ns"),
        (Duration(999_900_000), "999.9 ms"),
        (Duration(999_990_000), "999990 us"),
        (Rate(0), "0 Mbit/s"),
        (Rate(1_000), "1 kbit/s"),
        (Rate(10**9), "1 Gbit/s"),
        (Size(2_500_000), "2.5 MB"),
        (Size(0), "0 B"),
        (Packets(0), "0 packets"),
        (Clock(400_000), "400 kcycles/s"),
        (Density(250_000), "0.25 cycles/bit"),
        (Cycles(2_000_000_000), "2 kcycles"),
    ],
)
def test_written_in_the_unit_that_keeps_it_short(quantity: Quantity, text: str):
    assert str(quantity) == text


@given(
    st.sampled_from([Rate, Duration, Size, Packets, Frequency, Clock, Density, Cycles]),
    st.integers(min_value=0, max_value=10**9),
)
def test_what_is_written_is_read_back(kind: type[Quantity], base: int):
    assert kind.parse(str(kind(base))) == kind(base)


@given(
    st.sampled_from([TIME, RATE, SIZE, PACKETS, FREQUENCY, CLOCK, DENSITY, CYCLES]),
    st.decimals(min_value="0", max_value="1e12", places=3),
)
def test_parameters_need_not_be_whole(dimension: Dimension, value: Decimal):
    assert dimension.read(dimension.write(value)) == value
