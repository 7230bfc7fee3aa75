/* The two text areas. */
import { Problem, Translation, request_translation } from "./server.js";

const MOST_FOR_ALTERNATIVES = 500; // characters of a text
const STORED = "clformer-languages";
const $ = id => document.getElementById(id);

export const count_text = number => number.toLocaleString("en");
export const characters = text => { let count = 0; for (const _ of text) count++; return count; };

/* The direction in which a language is written, for the attribute dir. */
export function direction(code) {
  if (code === "auto") return "auto";
  return /^(ar|arc|ary|arz|azb|ckb|dv|fa|glk|he|iw|ks|lrc|mzn|nqo|pnb|prs|ps|sd|syr|ug|ur|yi|.*[-_](Arab|Hebr))\b/i.test(code) ? "rtl" : "ltr";
}

export function set_language(element, code) {
  element.dir = direction(code);
  element.lang = code === "auto" ? "" : code;
}

export function fill(select, rows, wanted) {
  select.replaceChildren(...rows.map(([value, text]) => new Option(text, value)));
  if (rows.some(row => row[0] === wanted)) select.value = wanted;
}

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

/* Without a secure connection, a browser has only the older way. */
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

export function start_translator(languages, settings, show_error) {
  const by_code = new Map(languages.map(language => [language.code, language]));
  const targets_of = code => (by_code.get(code)?.targets ?? []).filter(target => target !== code && by_code.has(target));
  const sources = languages.filter(language => targets_of(language.code).length > 0);
  const name = code => by_code.get(code)?.name ?? code;
  const limit = settings.charLimit ?? -1, delay = settings.frontendTimeout ?? 500;
  const source = $("source"), target = $("target"), text = $("text"), shown = $("translation");
  let translation = "", detected = null, running = null, timer = 0;

  function fill_targets(wanted) {
    const possible = source.value === "auto" ? sources.flatMap(one => targets_of(one.code)) : targets_of(source.value);
    fill(target, languages.filter(one => possible.includes(one.code)).map(one => [one.code, one.name]), wanted);
  }

  /* The language of the text: chosen or detected; null: unknown. */
  const known_source = () => source.value === "auto" ? detected?.language ?? null : source.value;

  function show_languages() {
    const from = known_source(), can_swap = from !== null && targets_of(target.value).includes(from);
    $("swap").disabled = !can_swap;
    $("swap").title = can_swap ? "Swap the languages" : from === null ? "The language of the text is not known yet"
      : `This server does not translate from ${name(target.value)} to ${name(from)}`;
    $("detected").textContent = source.value === "auto" && detected?.confidence > 0 ? `Detected: ${name(detected.language)}` : "";
    set_language(text, from ?? "auto");
    set_language(shown, target.value);
  }

  function show_translation(words) {
    translation = words;
    shown.textContent = words;
    $("copy").disabled = words === "";
  }

  function show_alternatives(list) {
    $("others").hidden = list.length === 0;
    $("alternatives").replaceChildren(...list.map((words, i) => {
      const item = document.createElement("li"), button = document.createElement("button");
      button.type = "button";
      button.textContent = words;
      set_language(button, target.value);
      button.addEventListener("click", () => {
        const others = list.map((other, j) => j === i ? translation : other);
        show_translation(words);
        show_alternatives(others);
        $("alternatives").children[i].firstChild.focus();
      });
      item.append(button);
      return item;
    }));
  }

  function set_busy(is_busy) {
    $("translator").classList.toggle("busy", is_busy);
    shown.setAttribute("aria-busy", String(is_busy));
    $("state").textContent = is_busy ? "Translating…" : "";
  }

  /* Stops the request that the user no longer waits for. */
  function cancel() {
    clearTimeout(timer);
    running?.abort();
    running = null;
    set_busy(false);
  }

  function show_count() {
    const count = characters(text.value), is_over = limit >= 0 && count > limit;
    $("count").textContent = `${count_text(count)}${limit >= 0 ? ` of ${count_text(limit)}` : ""} ${count === 1 && limit < 0 ? "character" : "characters"}`;
    $("count").classList.toggle("over", is_over);
    $("clear").hidden = count === 0;
    if (is_over) show_error(`The text has ${count_text(count - limit)} characters more than this server accepts.`);
    return !is_over;
  }

  async function find_alternatives(words, signal) {
    if (words.length > MOST_FOR_ALTERNATIVES || words.includes("\n")) return;
    const answer = await request_translation(words, known_source() ?? "auto", target.value, signal, 3).catch(() => null);
    if (!signal.aborted && answer?.translatedText === translation) show_alternatives(answer.alternatives ?? []);
  }

  async function translate() {
    cancel();
    show_error("");
    show_alternatives([]);
    if (text.value.trim() === "") {
      detected = null;
      show_translation("");
      show_languages();
    }
    if (!show_count() || text.value.trim() === "") return;
    const { signal } = running = new AbortController(), work = new Translation(text.value, source.value, target.value);
    set_busy(true);
    try {
      await work.run(signal, () => {
        if (signal.aborted) return;
        detected = work.detected;
        show_translation(work.text);
        show_languages();
      });
      if (signal.aborted) return;
      set_busy(false);
      await find_alternatives(text.value.trim(), signal);
    } catch (error) {
      if (signal.aborted) return;
      set_busy(false);
      show_translation(work.text);
      show_error(error.message, translate);
    }
  }

  function schedule() {
    clearTimeout(timer);
    running?.abort();
    show_count();
    timer = setTimeout(translate, text.value.trim() === "" ? 0 : delay);
  }

  function languages_changed() {
    detected = source.value === "auto" ? detected : null;
    store_languages({ source: source.value, target: target.value });
    show_languages();
    translate();
  }

  function swap() {
    const from = known_source(), words = translation || text.value;
    source.value = target.value;
    fill_targets(from);
    text.value = words;
    languages_changed();
    text.focus();
  }

  const chosen = { source: settings.language?.source?.code, target: settings.language?.target?.code, ...stored_languages() };
  const has_auto = settings.language?.source?.code === "auto";
  fill(source, [...has_auto ? [["auto", "Detect language"]] : [], ...sources.map(one => [one.code, one.name])], chosen.source);
  fill_targets(chosen.target);
  source.addEventListener("change", () => { fill_targets(target.value); languages_changed(); });
  target.addEventListener("change", languages_changed);
  text.addEventListener("input", schedule);
  text.addEventListener("keydown", event => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    translate();
  });
  $("swap").addEventListener("click", swap);
  $("clear").addEventListener("click", () => { text.value = ""; translate(); text.focus(); });
  $("copy").addEventListener("click", () => copy_with_label(translation, $("copy-label")).catch(error => show_error(error.message)));
  $("translator").hidden = false;
  show_languages();
  translate(); // a text that the browser kept
  text.focus();

  return {
    languages: () => ({ source: source.value, target: target.value, name: name(target.value) }),
    set_text(words) {
      text.value = words;
      translate();
      text.scrollIntoView({ block: "center" });
      text.focus();
    },
  };
}
