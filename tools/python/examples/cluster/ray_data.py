"""Translates the column `text` of a Parquet file with Ray Data, one actor per device: ray_data.py MODEL INPUT OUTPUT DEVICE...

OUTPUT is a folder that receives Parquet files with the column `translation` added. A device that several machines have, such
as gpu, is named once for each of them.
"""

import sys
from typing import Any, Dict, List

import ray

import clformer


@ray.remote
class Devices:
    """Gives each actor another device."""

    def __init__(self, names: List[str]) -> None:
        self.names = names

    def take(self) -> str:
        name = self.names.pop(0)
        self.names.append(name)  # for an actor that replaces a failed one
        return name


class Translate:
    def __init__(self, model: str) -> None:
        device = ray.get(ray.get_actor("devices").take.remote())
        self.translator = clformer.Translator(model, device=device, beam=1)

    def __call__(self, batch: Dict[str, Any]) -> Dict[str, Any]:
        return {**batch, "translation": [str(x) for x in self.translator.translate_batch(batch["text"])]}


model, lines, folder, *names = sys.argv[1:]
ray.init(log_to_driver=False)  # the cluster of $RAY_ADDRESS, or one of this machine
devices = Devices.options(name="devices").remote(names)
dataset = ray.data.read_parquet(lines).repartition(2 * len(names))
actors = ray.data.ActorPoolStrategy(size=len(names))
# The devices translate, so the actors reserve no processors.
dataset.map_batches(Translate, fn_constructor_args=[model], compute=actors, num_cpus=0).write_parquet(folder)
