/* The two text areas. */
import { Attention } from "./attention.js";
import { fill, set_language } from "./elements.js";
import { Problem, Translation, request_translation } from "./server.js";

const MOST_FOR_ALTERNATIVES = 500; // characters of a text
const STORED = "clformer-languages";
const $ = id => document.getElementById(id);
const [source, target, text, shown] = ["source", "target", "text", "translation"].map($);

export const count_text = number => number.toLocaleString("en");
export const characters = text => { let count = 0; for (const _ of text) count++; return count; };

function stored_languages() {
  try {
    return JSON.parse(localStorage.getItem(STORED)) ?? {};
  } catch {
    return {};
  }
}

function store_languages(languages) {
  try {
    localStorage.setItem(STORED, JSON.stringify(languages));
  } catch { /* the browser does not allow it */ }
}

/* Without a secure connection, browsers have only the older API. */
async function copy_text(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea"), focused = document.activeElement;
  area.value = text;
  document.body.append(area);
  area.select();
  const copied = document.execCommand("copy");
  area.remove();
  focused?.focus();
  if (!copied) throw new Problem("The browser does not allow copying; select the text instead.");
}

export async function copy_with_label(text, label) {
  await copy_text(text);
  label.textContent = "Copied";
  setTimeout(() => label.textContent = "Copy", 2000);
}

export class Translator {
  constructor(languages, settings, show_error) {
    this.by_code = new Map(languages.map(language => [language.code, language]));
    this.sources = languages.filter(language => this.targets_of(language.code).length > 0);
    this.limit = settings.charLimit ?? -1;
    this.delay = settings.frontendTimeout ?? 500;
    Object.assign(this, { show_error, translation: "", detected: null, running: null, timer: 0 });
    this.attention = new Attention(show_error, () => ({ text: text.value.trim(), source: this.known_source() ?? "auto", target: target.value,
      translation: this.translation }));
    const given = settings.language ?? {}, wanted = { source: given.source?.code, target: given.target?.code, ...stored_languages() };
    const first = given.source?.code === "auto" ? [["auto", "Detect language"]] : [];
    fill(source, [...first, ...this.sources.map(one => [one.code, one.name])], wanted.source);
    this.fill_targets(wanted.target);
    this.listen();
    $("translator").hidden = false;
    this.show_languages();
    this.translate(); // text that the browser restored
    text.focus();
  }

  listen() {
    source.addEventListener("change", () => { this.fill_targets(target.value); this.languages_changed(); });
    target.addEventListener("change", () => this.languages_changed());
    text.addEventListener("input", () => this.schedule());
    text.addEventListener("keydown", event => {
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      this.translate();
    });
    $("swap").addEventListener("click", () => this.swap());
    $("clear").addEventListener("click", () => this.set_text(""));
    $("copy").addEventListener("click",
      () => copy_with_label(this.translation, $("copy-label")).catch(error => this.show_error(error.message)));
  }

  name(code) {
    return this.by_code.get(code)?.name ?? code;
  }

  /* The other languages into which the server translates a language. */
  targets_of(code) {
    return (this.by_code.get(code)?.targets ?? []).filter(other => other !== code && this.by_code.has(other));
  }

  fill_targets(wanted) {
    const sources = source.value === "auto" ? this.sources.map(one => one.code) : [source.value];
    const possible = new Set(sources.flatMap(code => this.targets_of(code)));
    fill(target, [...this.by_code.values()].filter(one => possible.has(one.code)).map(one => [one.code, one.name]), wanted);
  }

  /* The language of the text, chosen or detected; null if it is unknown. */
  known_source() {
    return source.value === "auto" ? this.detected?.language ?? null : source.value;
  }

  show_languages() {
    const from = this.known_source(), can_swap = from !== null && this.targets_of(target.value).includes(from);
    const is_detected = source.value === "auto" && this.detected?.confidence > 0;
    $("swap").disabled = !can_swap;
    $("swap").title = can_swap ? "Swap the languages" : from === null ? "The language of the text is not yet known"
      : `This server does not translate from ${this.name(target.value)} to ${this.name(from)}`;
    $("detected").textContent = is_detected ? `Detected: ${this.name(from)}` : "";
    set_language(text, from ?? "auto");
    set_language(shown, target.value);
  }

  show_translation(words) {
    this.translation = words;
    shown.textContent = words;
    $("copy").disabled = words === "";
    this.attention.translation_changed(words);
  }

  show_alternatives(list) {
    $("others").hidden = list.length === 0;
    $("alternatives").replaceChildren(...list.map((words, i) => {
      const item = document.createElement("li"), button = document.createElement("button");
      Object.assign(button, { type: "button", textContent: words });
      set_language(button, target.value);
      button.addEventListener("click", () => this.choose(list, i));
      item.append(button);
      return item;
    }));
  }

  /* The i-th alternative and the translation change places. */
  choose(list, i) {
    const others = list.map((words, j) => j === i ? this.translation : words);
    this.show_translation(list[i]);
    this.show_alternatives(others);
    $("alternatives").children[i].firstChild.focus();
  }

  set_busy(is_busy) {
    $("translator").classList.toggle("busy", is_busy);
    shown.setAttribute("aria-busy", String(is_busy));
    $("state").textContent = is_busy ? "Translating…" : "";
  }

  /* Shows the number of characters; returns false if there are too many. */
  check_count() {
    const count = characters(text.value), { limit } = this, is_over = limit >= 0 && count > limit;
    const most = limit >= 0 ? ` of ${count_text(limit)}` : "";
    $("count").textContent = `${count_text(count)}${most} ${count === 1 && most === "" ? "character" : "characters"}`;
    $("count").classList.toggle("over", is_over);
    $("clear").hidden = count === 0;
    if (is_over) this.show_error(`The text is ${count_text(count - limit)} characters longer than this server accepts.`);
    return !is_over;
  }

  /* Translates after a pause, and cancels a running request. */
  schedule() {
    clearTimeout(this.timer);
    this.running?.abort();
    this.check_count();
    this.timer = setTimeout(() => this.translate(), text.value.trim() === "" ? 0 : this.delay);
  }

  async translate() {
    clearTimeout(this.timer);
    this.running?.abort();
    this.set_busy(false);
    this.show_error("");
    this.show_alternatives([]);
    const is_empty = text.value.trim() === "";
    if (is_empty) {
      this.detected = null;
      this.show_translation("");
      this.show_languages();
    }
    if (!this.check_count() || is_empty) return;
    const { signal } = this.running = new AbortController(), work = new Translation(text.value, source.value, target.value);
    this.set_busy(true);
    this.attention.hide();
    try {
      await work.run(signal, () => signal.aborted || this.show_part(work));
      if (signal.aborted) return;
      this.set_busy(false);
      await this.find_alternatives(text.value.trim(), signal);
    } catch (error) {
      if (signal.aborted) return;
      this.set_busy(false);
      this.show_translation(work.text);
      this.show_error(error.message, () => this.translate());
    }
  }

  show_part(work) {
    this.detected = work.detected;
    this.show_translation(work.text);
    this.show_languages();
  }

  async find_alternatives(words, signal) {
    if (words.length > MOST_FOR_ALTERNATIVES || words.includes("\n")) return;
    const answer = await request_translation(words, this.known_source() ?? "auto", target.value, signal, 3).catch(() => null);
    if (!signal.aborted && answer?.translatedText === this.translation) this.show_alternatives(answer.alternatives ?? []);
  }

  languages_changed() {
    this.detected = source.value === "auto" ? this.detected : null;
    store_languages({ source: source.value, target: target.value });
    this.show_languages();
    this.translate();
  }

  swap() {
    const from = this.known_source();
    source.value = target.value;
    this.fill_targets(from);
    text.value = this.translation || text.value;
    this.languages_changed();
    text.focus();
  }

  set_text(words) {
    text.value = words;
    this.translate();
    text.scrollIntoView({ block: "nearest" });
    text.focus();
  }

  /* The languages for a file. */
  chosen() {
    return { source: source.value, target: target.value, name: this.name(target.value) };
  }
}
