"""Graphs of successive steps: every name survives, whatever a tool is called, and programs that draw them accept them."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

import tooltrace as tt
from tooltrace.cli import cli
from tooltrace.report.path_graph import PathEdge, PathNode, as_dot, as_mermaid

HOSTILE = (
    'a"]; evil [label="b',
    "back\\slash\\N\\",
    "<b>bold</b> &lt; &amp; &#34;",
    "end",
    'a-->b; click n0 href "javascript:alert(1)"',
    "%%{init: {'theme':'dark'}}%%",
    "two\nlines\r\tand \x1b[31mred\u202e",
    "subgraph x",
    "`**markdown**`",
    "|pipe|",
    "{}[]()#quot;",
    "搜索",
    "x" * 500,
)


def edges() -> list[PathEdge]:
    start, end = PathNode("start", "(start)"), PathNode("end", "(end)")
    tools = [PathNode("tool", name) for name in HOSTILE]
    chain = [PathEdge(a, b, "success", 1200, 0.25, False) for a, b in zip(tools, tools[1:], strict=False)]
    return [
        PathEdge(start, tools[0], "start", 3, 0.0, True),
        *chain,
        PathEdge(tools[-1], tools[-1], "error", 2, 0.5, True),
        PathEdge(tools[-1], end, "none", 1, None, True),
    ]


def test_labels_have_the_count_and_the_share_that_fails() -> None:
    assert [edge.label for edge in edges()][0] == "3"
    assert edges()[1].label == "1,200, 25 % fail"
    assert edges()[-2].label == "2, (50 % fail)"
    assert edges()[-1].label == "1"


def test_names_that_look_alike_are_nodes_of_their_own() -> None:
    marks = [PathEdge(PathNode("start", "(start)"), PathNode("tool", "(start)"), "start", 1, 0.0, True)]
    assert len(re.findall(r"label=\"\(start\)\"", as_dot(marks))) == 2
    assert len(re.findall(r"#40;start#41;", as_mermaid(marks))) == 2


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_cannot_leave_its_quotes(name: str) -> None:
    node = PathNode("tool", name)
    edge = [PathEdge(node, node, "success", 1, 0.0, False)]
    for graph in (as_dot(edge), as_mermaid(edge)):
        assert len(graph.splitlines()) == len([line for line in graph.split("\n") if line])
    assert re.fullmatch(r'  n0 \[label="(?:[^"\\]|\\.)*", shape=box\];', as_dot(edge).splitlines()[3])
    assert re.fullmatch(r'  n0\["(?:[\w ,.%…-]|#\d+;)*"\]', as_mermaid(edge).splitlines()[1])


@pytest.mark.processes
@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_graphviz_draws_every_name() -> None:
    done = subprocess.run(["dot", "-Tsvg"], input=as_dot(edges()).encode(), capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    drawn = done.stdout.decode()
    assert drawn.count('class="node"') == len(HOSTILE) + 2
    assert "evil [label=" in drawn
    assert "&lt;b&gt;bold&lt;/b&gt; &amp;lt; &amp;amp;" in drawn
    assert "back\\slash\\N\\" in drawn


@pytest.mark.long
def test_the_command_writes_a_table_and_both_graphs(tmp_path: Path) -> None:
    path = tmp_path / "t.duckdb"
    tt.configure(store=path)
    log = tt.TraceLogger()
    with tt.context(conversation_id="chat"):
        log.record("find", tt.ToolResponse.error("TIMEOUT", "late"))
        log.record("open", 1)
    tt.flush()

    def run(*args: str) -> str:
        done = CliRunner().invoke(cli, ["paths", str(path), *args])
        assert done.exit_code == 0, done.output
        return done.stdout

    assert "(start)" in run()
    assert run("--format", "csv", "--columns", "from_tool,to_tool,n") == (
        "from_tool,to_tool,n\n(start),find,1\nfind,open,1\nopen,(end),1\n"
    )
    assert run("-f", "mermaid").splitlines()[1:] == [
        '  n0(["#40;start#41;"])',
        '  n1["find"]',
        '  n2["open"]',
        '  n3(["#40;end#41;"])',
        '  n0 -->|"1, #40;100 % fail#41;"| n1',
        '  n1 -.->|"1"| n2',
        '  n2 -->|"1"| n3',
    ]
    assert run("-f", "dot", "--tool", "find").count("->") == 2
    grouped = run("--format", "csv", "--by", "version", "--columns", "version,to_tool,n")
    assert grouped.splitlines()[0] == "version,to_tool,n"
    refused = CliRunner().invoke(cli, ["paths", str(path), "--by", "agent", "-f", "dot"])
    assert refused.exit_code == 2
    assert "dot is one graph" in refused.stderr
