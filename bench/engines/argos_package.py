"""Makes an Argos package of the demo model, which LibreTranslate and clformer read: the same weights and search settings."""
import json
import pathlib
import shutil
import subprocess

KINDS = {"fp32": "float32", "int8": "int8"}


def argos_folder(model, place, precision, venv_python, say):
    """Returns the package folder in a folder of packages; creates the folder if it is missing."""
    packages = place / f"argos-{precision}"
    folder = packages / "translate-fr_en-1_0"
    if (folder / "metadata.json").exists():
        return folder
    converted = place / f"ctranslate2-{KINDS[precision]}"
    if not converted.exists():
        say(f"converting {model}")
        converter = pathlib.Path(venv_python(say)).with_name("ct2-transformers-converter")
        subprocess.run([str(word) for word in (converter, "--model", model, "--output_dir", converted, "--quantization",
                                               KINDS[precision])], check=True, capture_output=True)
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(converted, folder / "model")
    settings = json.loads((folder / "model" / "config.json").read_text(encoding="utf8"))
    # Argos' tokenizer does not add the end token, unlike that of transformers.
    (folder / "model" / "config.json").write_text(json.dumps({**settings, "add_source_eos": True}), encoding="utf8")
    shutil.copy(model / "source.spm", folder / "sentencepiece.model")
    (folder / "metadata.json").write_text(json.dumps({
        "package_version": "1.0", "argos_version": "1.9", "from_code": "fr", "from_name": "French", "to_code": "en",
        "to_name": "English"}), encoding="utf8")
    return folder
