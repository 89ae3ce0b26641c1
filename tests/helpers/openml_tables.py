"""Data sets as OpenML stores them, in both of its formats."""

import io

import numpy as np
import pandas as pd

from privreg.paper.datasets import Task

MIXED, NUMERIC, PARQUET, ABSENT = (
    Task(i, name, 0, 0) for i, name in [(11, "mixed"), (12, "numeric"), (13, "in-parquet"), (99, "no_such_task")]
)
MIXED_ARFF = """% comment
@RELATION mixed
@ATTRIBUTE id INTEGER
@ATTRIBUTE colour {red,green,'light blue'}
@ATTRIBUTE rooms {3,1,2}
@ATTRIBUTE sold {TRUE,FALSE}
@ATTRIBUTE size REAL
@ATTRIBUTE count INTEGER
@ATTRIBUTE note STRING
@ATTRIBUTE y NUMERIC
@ATTRIBUTE small INTEGER
@DATA
1,'light blue',1,TRUE,0.1,70000,one,1.5,0
2,red,3,FALSE,?,?,two,-2.25,255
3,?,1,?,1e-3,-4,three,?,7
4,red,?,TRUE,12345.678901,16777217,four,1e300,7
"""
MIXED_EXTRA = "<oml:row_id_attribute>id</oml:row_id_attribute><oml:ignore_attribute>note</oml:ignore_attribute>"
NUMERIC_ARFF = "@RELATION n\n@ATTRIBUTE a REAL\n@ATTRIBUTE y INTEGER\n@DATA\n0.5,1\n1.5,2\n-2.5,300\n"
ARFF_PATH, PARQUET_PATH = "/data/12.arff", "/datasets/13/dataset_13.pq"


def parquet_file(**columns):
    buffer = io.BytesIO()
    pd.DataFrame(columns).to_parquet(buffer)
    return buffer.getvalue()


PARQUET_BYTES = parquet_file(
    pixel=np.array([0, 255, 3], np.uint8),
    single=np.array([0.5, np.nan, 2], np.float32),
    target=np.array([1, 2, 3], np.int16),
    target_=pd.array([1, None, 3], "Int64"),
    shape=pd.Categorical(["round", "flat", None], categories=["round", "cubic", "flat"]),
    always=[True, True, True],
    maybe=[True, None, False],
    text=["b", "a", None],
    y=np.array([10, 20, 30], np.uint8),
)
