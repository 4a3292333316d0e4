"""Reports of programs, in the languages of operating systems; and lines that only resemble them."""

from __future__ import annotations

import pytest

from tests.normalize.shapes import read
from tooltrace.normalize.heuristics import programs
from tooltrace.normalize.heuristics.programs import read_output


@pytest.mark.parametrize(
    ("output", "code"),
    [
        ("date: invalid date ‘x’", "INVALID_PARAM"),
        ("id: ‘x’: no such user", "NOT_FOUND"),
        ("objdump: 'x': No such file", "NOT_FOUND"),
        ("mkdir: cannot create directory ‘d’: File exists", "ALREADY_EXISTS"),
        ("tar: Old option 'f' requires an argument.\nTry 'tar --help' or 'tar --usage' for more information.", "INVALID_PARAM"),
        ("unzip:  cannot find or open a.zip", "NOT_FOUND"),
        ("user@10.0.0.5: Permission denied (publickey,password).", "PERMISSION_DENIED"),
        ("bash: -c: line 1: unexpected EOF while looking for matching `\"'", "INVALID_FORMAT"),
        ("a.sh: line 2: syntax error: unexpected end of file", "INVALID_FORMAT"),
        ("zsh: command not found: foo", "NOT_FOUND"),
        ("foo : The term 'foo' is not recognized as the name of a cmdlet.", "NOT_FOUND"),
        ("cat: /nix: そのようなファイルやディレクトリはありません", "NOT_FOUND"),
        ("ls: Zugriff auf '/nix' nicht möglich: Datei oder Verzeichnis nicht gefunden", "NOT_FOUND"),
        ("rm: impossible de supprimer 'd': est un dossier", "IS_DIRECTORY"),
        ("cut: 分隔符必须是单个字符\n请尝试执行 \"cut --help\" 来获取更多信息。", "INVALID_PARAM"),
        ("cp: cannot stat 'a'\ncp: cannot stat 'b'", "EXECUTION_ERROR"),
        ("dial tcp: lookup x.invalid: no such host", "NETWORK_ERROR"),
        ("open /etc/x.yaml: no such file or directory", "NOT_FOUND"),
        ("more: a.txt: 系统找不到指定的文件。", "NOT_FOUND"),
    ],
)  # fmt: skip
def test_what_a_program_reports(output: str, code: str) -> None:
    found = read(output)
    assert (found.status, found.code, found.text) == ("error", code, output)


@pytest.mark.parametrize(
    "output",
    [
        "grep: fix bug with invalid unibyte sequence",
        "gpg: Do not close stdout after --export-ssh-key.\n\t+ commit 970e43\n\t* g10/export.c",
        "make: Nothing to be done for 'all'.",
        "curl: a tool for transferring data",
        "date: 2026-01-01",
        "time: 5 s",
        "warning: the option is deprecated",
        "usage: git config [<options>]",
        "host: db1",
        "configure: stop if m4 is not found",
    ],
)
def test_other_lines_with_a_colon(output: str) -> None:
    assert read(output).status == "success"


def test_every_message_of_the_table_is_read_after_the_name_of_a_program() -> None:
    messages = programs._messages()
    lines = {f"cat: x: {end}" for end in messages.ends} | {f"bash: {part}" for part in messages.parts}
    assert [line for line in lines if programs.report_of(line) is None] == []


@pytest.mark.parametrize(
    "words",
    [
        "date: not specified\nvenue: hall", "host: unknown\nport: 80", "time: not recorded", "file: missing, using default",
        "id: required, name: optional", "test: failed to reject H0", "who: unknown",
    ],
)  # fmt: skip
def test_a_record_whose_members_have_the_names_of_programs_is_data(words: str) -> None:
    assert read_output(words) is None
