import pytest
from tests.clickhouse.test_loops import *
from tooltrace.clickhouse.sql.translate import to_clickhouse
from tests.clickhouse.compare import address
from tooltrace.store.base import open_store
def test_x(con, engine):
    sql="SELECT span_id, tool, text, CAST(result AS VARCHAR) AS result, answer_tokens(result_tokens, seen_text, seen_length, text, result, error_message, status, full_sizes) AS tokens, token_estimate(text) AS tt, full_sizes, seen_length FROM tool_calls ORDER BY span_id"
    a=con.execute(sql).fetchall()
    engine.command("USE loops"); b=engine.query(str(to_clickhouse(sql))).result_rows
    n=0
    for x,y in zip(a,b):
        if x!=y and n<5: print("DUCK",x); print("HOUSE",y); n+=1
    print(str(to_clickhouse("SELECT token_estimate(text) AS t FROM tool_calls")))
