/* The attention of a sentence: the tokens of the text that the model reads for each token of its translation. */
import { fill, set_language } from "./elements.js";
import { request } from "./server.js";

const MOST = 2000; // characters of a translation, whose sentences are listed
const LISTED = 4; // tokens whose weights are listed
const $ = id => document.getElementById(id);

const post = (path, fields, signal) => request(path,
  { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(fields), signal });

/* A token as it is shown. U+2581, with which SentencePiece marks the beginning of a word, becomes a gap. */
function show_token(element, token) {
  const is_first = token.startsWith("\u2581"), shown = is_first ? token.slice(1) : token;
  element.append(shown || "·");
  element.classList.toggle("first", is_first);
  return element;
}
const create = (name, token) => show_token(document.createElement(name), token);
const plain = token => token.replace("\u2581", "") || "·";

export class Attention {
  /* `chosen` returns the text, its translation and their languages. */
  constructor(show_error, chosen) {
    Object.assign(this, { show_error, chosen, running: null, sentences: [], answer: null, token: 0 });
    $("attend").addEventListener("click", () => $("attention").hidden ? this.open() : this.hide());
    $("attention-hide").addEventListener("click", () => { this.hide(); $("attend").focus(); });
    $("sentence").addEventListener("change", () => { this.token = 0; this.load(); });
    $("layer").addEventListener("change", () => this.load(Number($("layer").value)));
    $("target-tokens").addEventListener("change", event => this.choose(Number(event.target.value)));
    for (const type of ["pointerover", "click"]) {
      $("map").addEventListener(type, event => {
        const row = event.target.closest("tbody tr");
        if (row) this.choose(row.sectionRowIndex);
      });
    }
  }

  translation_changed(words) {
    $("attend").disabled = words.trim() === "" || words.length > MOST;
    this.hide();
  }

  hide() {
    this.running?.abort();
    this.set_busy(false);
    $("attention").hidden = true;
    $("attend").setAttribute("aria-expanded", "false");
  }

  set_busy(is_busy) {
    $("attend").setAttribute("aria-busy", String(is_busy));
    $("maps").classList.toggle("waiting", is_busy);
  }

  /* Runs `work` with a signal that the next call aborts; shows its failure. */
  async run(work) {
    this.running?.abort();
    const { signal } = this.running = new AbortController();
    this.set_busy(true);
    try {
      await work(signal);
      this.show_error("");
    } catch (error) {
      if (!signal.aborted) this.show_error(error.message);
    }
    if (!signal.aborted) this.set_busy(false);
  }

  open() {
    return this.run(async signal => {
      const { text, source, target, translation } = this.chosen();
      const answer = await post("v1/translate", { text, source, target }, signal);
      this.token = 0;
      this.languages = { source: answer.source, target };
      this.sentences = answer.translations[0].sentences;
      if (this.sentences.length === 1) this.sentences = [{ source: text, text: translation }]; // which may be an alternative
      fill($("sentence"), this.sentences.map((one, i) => [String(i), one.source]), "0");
      $("sentences").hidden = this.sentences.length < 2;
      await this.fetch(signal, null);
      $("attention").hidden = false;
      $("attend").setAttribute("aria-expanded", "true");
      $("attention").scrollIntoView({ block: "nearest" });
    });
  }

  load(layer = null) {
    return this.run(signal => this.fetch(signal, layer));
  }

  /* `layer`: counted from 1; null: the one whose weights are closest to an alignment. */
  async fetch(signal, layer) {
    const sentence = this.sentences[Number($("sentence").value)];
    const fields = { text: sentence.source, translation: sentence.text, ...this.languages, layer };
    this.answer = await post("v1/attention", fields, signal);
    this.show();
  }

  show() {
    const { source_tokens, target_tokens, weights, layer, layers, source, target } = this.answer;
    fill($("layer"), Array.from({ length: layers }, (_, i) => [String(i + 1), `${i + 1} of ${layers}`]), String(layer));
    $("source-tokens").replaceChildren(...source_tokens.map(token => create("span", token)));
    $("target-tokens").replaceChildren(...target_tokens.map((token, i) => {
      const label = document.createElement("label"), input = document.createElement("input");
      Object.assign(input, { type: "radio", name: "token", value: String(i), className: "unseen" });
      label.append(input);
      label.addEventListener("pointerenter", event => event.pointerType === "mouse" && this.choose(i));
      return show_token(label, token);
    }));
    set_language($("source-tokens"), source);
    set_language($("target-tokens"), target);
    this.show_map(source_tokens, target_tokens, weights);
    this.choose(this.token);
  }

  show_map(source_tokens, target_tokens, weights) {
    const head = $("map").createTHead(), body = document.createElement("tbody"), names = document.createElement("tr");
    names.append(document.createElement("td"), ...source_tokens.map(token => create("th", plain(token))));
    head.replaceChildren(names);
    body.append(...target_tokens.map((token, i) => {
      const row = document.createElement("tr");
      row.append(create("th", plain(token)), ...weights[i].map(weight => {
        const cell = document.createElement("td");
        cell.style.setProperty("--weight", String(Math.sqrt(weight ?? 0)));
        return cell;
      }));
      return row;
    }));
    $("map").replaceChildren(head, body);
  }

  /* Shows the weights for a token of the translation. */
  choose(i) {
    const { source_tokens, target_tokens, weights } = this.answer, row = weights[i] ?? [];
    this.token = i;
    [...$("source-tokens").children].forEach((token, j) => token.style.setProperty("--weight", String(Math.sqrt(row[j] ?? 0))));
    [...$("map").tBodies[0].rows].forEach((one, j) => one.classList.toggle("chosen", j === i));
    const input = $("target-tokens").children[i]?.querySelector("input");
    if (input) input.checked = true;
    const largest = row.map((weight, j) => [weight, j]).sort((a, b) => b[0] - a[0]).slice(0, LISTED);
    $("weights").textContent = i in target_tokens
      ? `${plain(target_tokens[i])}: ${largest.map(([weight, j]) => `${plain(source_tokens[j])} ${Math.round(100 * weight)}%`).join(", ")}` : "";
  }
}
