"""Several processes on one file of records: nothing is lost, nothing is done twice, and the file stays whole."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.records.processes import SECONDS, House, deleted_files

FORK = """
import os, sys, threading
from lore.records.records import Records
from tests.records.answers import small_answer

def add(records, who, number):
    for one in range(number):
        records.add(small_answer(f"{who}-{one}"))

parent = Records.open(sys.argv[1], str)
add(parent, "parent", 1)
writers = [threading.Thread(target=add, args=(parent, f"thread{one}", 50)) for one in range(4)]
for writer in writers:
    writer.start()
for _ in range(20):  # forks while others write; each child writes too
    if not (child := os.fork()):
        add(parent, f"child{os.getpid()}", 1)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        raise SystemExit(1)
for writer in writers:
    writer.join()
opened, closed = os.pipe(), os.pipe()
if child := os.fork():
    os.read(opened[0], 1)
    parent.close()
    os.write(closed[1], b".")
    raise SystemExit(os.waitpid(child, 0)[1])
own = Records.open(sys.argv[1], str)
add(own, "child", 1)
os.write(opened[1], b".")
os.read(closed[0], 1)
add(own, "afterwards", 5)
add(parent, "inherited", 5)
os._exit(0)
"""
HAS_PROC = Path("/proc/self/fd").is_dir()


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with House(tmp_path, f"sqlite:///{tmp_path}/records.db") as opened:
        yield opened


def stop(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGTERM)
    assert process.wait(SECONDS) == 0


@pytest.mark.slow
def test_what_is_answered_while_others_list_is_recorded_and_not_answered_again(house: House) -> None:
    bot = house.start_bot()
    threads = house.ask(*(f"Question {number}?" for number in range(3)))
    house.list_answers()
    threads += house.ask(*(f"Question {number}?" for number in range(3, 8)))
    house.wait_until_recorded({house.answers(thread)[0] for thread in threads})
    assert not HAS_PROC or deleted_files(bot) == []
    bot.kill()
    bot.wait()
    house.start_bot()
    house.deliver_again(threads)
    new = house.ask("Is all else done?")  # it came last
    assert [len(house.answers(thread)) for thread in threads] == [1] * 8
    house.wait_until_recorded({house.answers(new[0])[0]})
    assert len(house.recorded()) == 9
    assert house.integrity() == "ok"


@pytest.mark.slow
def test_bots_and_commands_that_take_turns_leave_the_file_whole(house: House) -> None:
    house.start_bot()
    threads = house.ask("Question 0?")
    house.list_answers()
    asked = house.ask_in_shells(*(f"Question {number} in a shell?" for number in range(4)))
    threads += house.ask(*(f"Question {number}?" for number in range(1, 5)))
    house.wait_until_recorded({*asked, *(house.answers(thread)[0] for thread in threads)})
    assert len(house.recorded()) == 9
    assert house.integrity() == "ok"


@pytest.mark.slow
def test_two_bots_of_which_one_is_started_again_answer_each_question_once(house: House) -> None:
    house.start_bot()
    second = house.start_bot()
    house.ask_each("Are you there?")
    stop(second)
    house.ask("Are you alone?")
    house.start_bot()
    threads = house.ask_all(*(f"Question {number}?" for number in range(15)))
    last = house.ask("Is all else done?")
    assert [len(house.answers(thread)) for thread in threads] == [1] * 15
    house.wait_until_recorded({house.answers(thread)[0] for thread in [*threads, *last]})
    assert len(house.recorded()) == 19
    assert house.integrity() == "ok"


def test_records_that_one_process_opens_twice(house: House) -> None:
    process = house.start("twice", *(f"Question {number}?" for number in range(5)))
    assert process.stdin and process.stdout
    asked = []
    for number in range(5):
        asked.append(process.stdout.readline().strip())
        if number == 1:
            house.list_answers()
        if number < 4:
            process.stdin.write("\n")
            process.stdin.flush()
    assert not HAS_PROC or deleted_files(process) == []
    process.communicate(timeout=SECONDS)
    assert process.returncode == 0
    assert sorted(house.recorded()) == sorted(asked)
    assert house.integrity() == "ok"


@pytest.mark.slow
def test_a_process_that_was_forked_loses_nothing_when_the_other_closes(house: House) -> None:
    house.run(sys.executable, "-c", FORK, house.records_url)
    wanted = {"parent": 1, "thread": 200, "child": 21, "afterwards": 5, "inherited": 5}
    assert Counter(re.sub("[^a-z].*", "", one) for one in house.recorded()) == wanted
    assert house.integrity() == "ok"
