"""Translates the column `text` of a Parquet file with Dask, one process per device: dask_dataframe.py MODEL INPUT OUTPUT DEVICE...

OUTPUT is a folder that receives Parquet files with the column `translation` added. On several machines, start a scheduler and
workers named 0, 1, ..., and pass the address of the scheduler to Client().
"""

import functools
import sys
from typing import Any, List

import dask.dataframe
from dask.distributed import Client, LocalCluster, get_worker

import clformer


@functools.lru_cache(maxsize=None)
def open_translator(model: str, device: str) -> clformer.Translator:
    return clformer.Translator(model, device=device, beam=1)


def translate(part: Any, model: str, names: List[str]) -> Any:
    translator = open_translator(model, names[int(get_worker().name)])
    return part.assign(translation=[str(x) for x in translator.translate_batch(part["text"])])


if __name__ == "__main__":
    model, lines, folder, *names = sys.argv[1:]
    with LocalCluster(n_workers=len(names), threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster):
        frame = dask.dataframe.read_parquet(lines).repartition(npartitions=2 * len(names))
        columns = frame._meta.assign(translation="")
        frame.map_partitions(translate, model, names, meta=columns).to_parquet(folder)
