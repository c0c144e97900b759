"""Tests that want to be alone are, and others are not kept apart."""

import threading

import pytest

from turns import taken

LONG_S = 60.0
SHORT_S = 0.2


@pytest.mark.parametrize(
    ("mine", "its", "together"), [(False, False, True), (False, True, False), (True, False, False)]
)
def test_a_turn_alone_is_shared_with_nobody(tmp_path, mine, its, together):
    inside = threading.Event()

    def other():
        with taken(tmp_path, alone=its):
            inside.set()

    thread = threading.Thread(target=other)
    with taken(tmp_path, alone=mine):
        thread.start()
        met = inside.wait(LONG_S if together else SHORT_S)
    thread.join(LONG_S)

    assert met is together
    assert inside.is_set()


def test_who_waits_to_be_alone_is_not_overtaken(tmp_path):
    order, asked = [], threading.Event()

    def alone():
        asked.set()
        with taken(tmp_path, alone=True):
            order.append("alone")

    def later():
        with taken(tmp_path, alone=False):
            order.append("later")

    threads = [threading.Thread(target=alone), threading.Thread(target=later)]
    with taken(tmp_path, alone=False):
        threads[0].start()
        asked.wait(LONG_S)
        assert not threading.Event().wait(SHORT_S)  # until it stands in the doorway
        threads[1].start()
        threads[1].join(SHORT_S)
    for thread in threads:
        thread.join(LONG_S)

    assert order == ["alone", "later"]
