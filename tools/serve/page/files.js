/* Documents and recordings: each becomes a job in the list below the text areas. Jobs run one after another. */
import { fill, set_language } from "./elements.js";
import { Problem, Translation, request, request_file } from "./server.js";
import { characters, copy_with_label, count_text } from "./translator.js";

const $ = id => document.getElementById(id);
const RECORDING = /\.(aac|aif{1,2}|amr|flac|m4a|m4v|mka|mkv|mov|mp3|mp4|mpe?g|oga|ogg|opus|wav|webm|wma)$/i;
const is_recording = file => /^(audio|video)\//.test(file.type) || RECORDING.test(file.name);
const is_text = file => file.type === "text/plain" || /\.(txt|text|md)$/i.test(file.name) || (file.type === "" && !file.name.includes("."));
const MOST_SHOWN = 20000; // characters of a translation
const suffix = name => /\.[^.]*$/.exec(name.toLowerCase())?.[0] ?? "";
const stem = name => name.replace(/\.[^.]*$/, "") || name;

/* "1:05" or "1:00:05" */
function clock(seconds) {
  const whole = Math.floor(seconds), minutes = Math.floor(whole / 60), two = number => String(number).padStart(2, "0");
  return minutes < 60 ? `${minutes}:${two(whole % 60)}` : `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(whole % 60)}`;
}

/* The time of a subtitle: "00:00:01,500", with a comma in SRT and a point in WebVTT. */
function stamp(seconds, mark) {
  const all = Math.round(1000 * seconds), two = number => String(number).padStart(2, "0");
  return [two(Math.floor(all / 3600000)), two(Math.floor(all / 60000) % 60),
    two(Math.floor(all / 1000) % 60) + mark + String(all % 1000).padStart(3, "0")].join(":");
}

function subtitles(segments, mark, has_numbers) {
  return segments.map(({ start, end, text }, i) =>
    `${has_numbers ? `${i + 1}\n` : ""}${stamp(start, mark)} --> ${stamp(end, mark)}\n${text.trim().replaceAll("-->", "->")}\n`).join("\n");
}

/* Reads UTF-8, or UTF-16 with a byte order mark. */
async function read_text(file, limit) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  const encoding = bytes[0] === 0xff && bytes[1] === 0xfe ? "utf-16le" : bytes[0] === 0xfe && bytes[1] === 0xff ? "utf-16be" : "utf-8";
  let text;
  try {
    text = new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch {
    throw new Problem("The file is not UTF-8 text; save it as UTF-8.");
  }
  if (text.includes("\0")) throw new Problem("The file is not a text file.");
  if (text.trim() === "") throw new Problem("The file is empty.");
  if (limit >= 0 && characters(text) > limit) throw new Problem(`The file has more than ${count_text(limit)} characters, the limit of this server.`);
  return text;
}

/* A row of the list. `work` is called with the job to start, and again to continue after a failure. */
class Job {
  constructor(file, work) {
    const item = $("job").content.firstElementChild.cloneNode(true), part = name => item.querySelector(name);
    Object.assign(this, { file, work, item, bar: part("progress"), content: part(".content"), actions: part(".actions"), ended: false, can_repeat: true });
    this.parts = { state: part(".state"), percent: part(".percent") };
    part(".name").textContent = file.name;
    this.remover = part(".remove");
    this.remover.addEventListener("click", () => this.remove());
    $("jobs").prepend(item);
  }
  show(state, fraction = null) {
    if (this.parts.state.textContent !== state) this.parts.state.textContent = state; // or screen readers repeat it
    this.parts.percent.textContent = fraction === null ? "" : `${Math.floor(100 * fraction)} %`;
    if (fraction === null) this.bar.removeAttribute("value");
    else this.bar.value = fraction;
    this.remover.title = this.ended ? "Remove" : "Cancel";
    this.remover.setAttribute("aria-label", `${this.remover.title} ${this.file.name}`);
  }
  async run() {
    if (this.removed) return;
    this.controller = new AbortController();
    try {
      await this.work(this, this.controller.signal);
      this.end(this.done_text);
    } catch (error) {
      if (this.removed) return;
      this.end(error.message);
      this.item.classList.add("failed");
      if (error instanceof Problem && this.can_repeat) this.add_button("Try again", () => enqueue(this));
    }
  }
  end(state) {
    this.ended = true;
    this.bar.hidden = true;
    this.show(state);
  }
  remove() {
    const next = this.item.nextElementSibling ?? this.item.previousElementSibling;
    this.removed = true;
    this.controller?.abort();
    for (const link of this.actions.querySelectorAll("a")) URL.revokeObjectURL(link.href);
    jobs.delete(this);
    this.item.remove();
    (next?.querySelector(".remove") ?? $("file")).focus();
  }
  add_button(text, action) {
    const button = document.createElement("button");
    Object.assign(button, { type: "button", textContent: text });
    button.addEventListener("click", action);
    this.actions.append(button);
    return button;
  }
  add_download(text, name, content) {
    const link = document.createElement("a");
    Object.assign(link, { className: "button", textContent: text, download: name });
    link.href = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type: "text/plain;charset=utf-8" }));
    this.actions.append(link);
  }
  add_copy(text) {
    const button = this.add_button("Copy", () => copy_with_label(text, button).catch(error => this.show(error.message)));
  }
  show_content(label, language, ...nodes) {
    this.content.setAttribute("aria-label", `${label} of ${this.file.name}`);
    set_language(this.content, language);
    this.content.replaceChildren(...nodes);
    this.content.hidden = false;
  }
}

const jobs = new Set();
let last = Promise.resolve();
function enqueue(job) {
  jobs.add(job);
  job.ended = job.bar.hidden = false;
  job.item.classList.remove("failed");
  job.actions.replaceChildren();
  job.show("Waiting");
  last = last.then(() => job.run());
}

/* Returns the work for a text file, with the languages that are selected when the file arrives. */
function translate_file({ source, target, name }, limit) {
  let translation = null;
  return async (job, signal) => {
    job.show(`Translating into ${name}`, translation === null ? 0 : translation.done / translation.parts.length);
    if (translation === null) {
      job.can_repeat = false;
      translation = new Translation(await read_text(job.file, limit), source, target);
      job.can_repeat = true;
    }
    await translation.run(signal, ({ done, parts, text }) => {
      job.show(`Translating into ${name}`, done / parts.length);
      if (job.content.textContent.length < MOST_SHOWN) job.show_content("Translation", target, text.slice(0, MOST_SHOWN));
    });
    job.done_text = `Translated into ${name}${translation.text.length > MOST_SHOWN ? "; only the beginning is shown" : ""}`;
    job.add_download("Download .txt", `${stem(job.file.name)}.${target}.txt`, translation.text);
    job.add_copy(translation.text);
  };
}

/* Returns the work for a document of another format, which the server translates as a whole. */
function translate_document({ source, target, name }) {
  return async (job, signal) => {
    job.show(`Translating into ${name}`);
    const form = new FormData(), end = suffix(job.file.name);
    form.append("source", source);
    form.append("target", target);
    form.append("file", job.file, stem(job.file.name) + end);
    const content = await request_file(form, signal, job.file.size);
    job.done_text = `Translated into ${name}`;
    job.add_download(`Download ${end}`, `${stem(job.file.name)}.${target}${end}`, content);
  };
}

function segment_row({ start, text }) {
  const row = document.createElement("p"), time = document.createElement("time"), words = document.createElement("span");
  time.textContent = clock(start);
  words.textContent = text.trim();
  row.className = "segment";
  row.append(time, words);
  return row;
}

function show_transcript(job, translator, answer) {
  const name = stem(job.file.name), words = (answer.text ?? "").trim(), segments = answer.segments ?? [], language = answer.language ?? "";
  const lines = segments.length > 0 ? segments.map(segment => segment.text.trim()).join("\n") : words;
  job.done_text = ["Transcribed", language === "" ? "" : `language: ${language[0].toUpperCase()}${language.slice(1)}`].filter(Boolean).join("; ");
  if (words === "") {
    job.done_text = "The recording contains no speech.";
    return;
  }
  job.show_content("Transcript", "auto", ...segments.length > 0 ? segments.map(segment_row) : [words]);
  job.add_download("Download .txt", `${name}.txt`, `${lines}\n`);
  if (segments.length > 0) {
    job.add_download("Download .srt", `${name}.srt`, subtitles(segments, ",", true));
    job.add_download("Download .vtt", `${name}.vtt`, `WEBVTT\n\n${subtitles(segments, ".", false)}`);
  }
  job.add_copy(words);
  if (translator !== null) job.add_button("Translate", () => translator.set_text(words));
}

function transcribe(translator, model) {
  return async (job, signal) => {
    const form = new FormData(), start = performance.now();
    form.append("file", job.file);
    form.append("model", model);
    form.append("response_format", "verbose_json");
    const tick = () => {
      job.show("Transcribing");
      job.parts.percent.textContent = clock((performance.now() - start) / 1000);
    };
    const timer = setInterval(tick, 1000);
    tick();
    try {
      const answer = await request("v1/audio/transcriptions", { method: "POST", body: form, signal }, job.file.size);
      show_transcript(job, translator, answer);
    } finally {
      clearInterval(timer);
    }
  };
}

/* Calls `take` with files that are dropped anywhere on the page. Other drops, such as selected text, behave as usual. */
function accept_drops(take) {
  const has_files = event => event.dataTransfer?.types.includes("Files");
  const cover = is_shown => document.body.classList.toggle("dropping", is_shown);
  document.addEventListener("dragover", event => {
    if (!has_files(event)) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = "copy";
    cover(true);
  });
  document.addEventListener("dragleave", event => event.relatedTarget === null && cover(false));
  document.addEventListener("drop", event => {
    cover(false);
    if (!has_files(event)) return;
    event.preventDefault();
    take(event.dataTransfer.files);
  });
}

/* `translator`: null without languages. `models`: speech models; may be empty. `formats`: suffixes of documents. */
export function start_files(translator, models, formats, limit, show_error) {
  function work_for(file) {
    if (is_recording(file)) {
      if (models.length === 0) throw new Problem(`${file.name}: this server does not transcribe recordings.`);
      return transcribe(translator, $("model").value);
    }
    if (translator === null) throw new Problem(`${file.name}: is not a recording, and this server does not translate texts.`);
    if (formats.includes(suffix(file.name)) && suffix(file.name) !== ".txt") return translate_document(translator.chosen());
    if (!is_text(file)) throw new Problem(`${file.name}: is not a document that this server translates (${formats.join(", ")})${models.length > 0 ? " or a recording" : ""}.`);
    return translate_file(translator.chosen(), limit);
  }
  function take(files) {
    const refused = [];
    for (const file of files) {
      try {
        enqueue(new Job(file, work_for(file)));
      } catch (error) {
        refused.push(error.message);
      }
    }
    show_error(refused.join(" "));
  }
  fill($("model"), models.map(model => [model.id, model.id]));
  $("speech").hidden = models.length < 2;
  $("file").accept = [translator !== null ? [...formats, ".text", ".md", "text/plain"].join() : "", models.length > 0 ? "audio/*,video/*" : ""].filter(Boolean).join();
  $("file").addEventListener("change", () => { take([...$("file").files]); $("file").value = ""; });
  accept_drops(take);
  addEventListener("beforeunload", event => [...jobs].some(job => !job.ended) && event.preventDefault());
  $("files").hidden = false;
}
