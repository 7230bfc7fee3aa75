/* Requests to the server. A failure is a Problem, whose message is a sentence for the user. */

const PART = 4000; // characters of a text that are sent at a time
const LARGE = 1 << 20; // bytes of a body that a server may refuse

export class Problem extends Error {}

/* Browsers do not say why a request got no answer; if the server is alive, it refused a large body. */
async function find_reason(bytes) {
  const alive = bytes > LARGE && await fetch("health").then(response => response.ok, () => false);
  return alive ? "The server closed the connection; the file or text may be larger than it accepts."
    : "The server does not answer; check that it is running and that the network is up.";
}

function error_text(answer) {
  const error = answer?.error?.message ?? answer?.error;
  return typeof error === "string" && error !== "" ? error.replace(/\.$/, "") + "." : "";
}

async function explain(response) {
  const text = error_text(await response.json().catch(() => null));
  if (response.status === 413) return `The text or file is too long for this server. ${text}`.trim();
  return text || `The server answered with status ${response.status}.`;
}

/* Returns the JSON value of an answer. */
export async function request(path, options = {}, bytes = 0) {
  let response, value;
  try {
    response = await fetch(path, options);
    value = response.ok ? await response.json() : null;
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new Problem(error instanceof SyntaxError ? "The server's answer is not JSON; check its address." : await find_reason(bytes));
  }
  if (!response.ok) throw Object.assign(new Problem(await explain(response)), { status: response.status });
  return value;
}

/* Returns the list at a path, or an empty list if the server lacks the path. */
export async function request_list(path, take = value => value) {
  try {
    return take(await request(path)) ?? [];
  } catch (error) {
    if (error.status === 404) return [];
    throw error;
  }
}

export function request_translation(q, source, target, signal, alternatives = 0) {
  const body = JSON.stringify({ q, source, target, format: "text", alternatives });
  return request("translate", { method: "POST", headers: { "Content-Type": "application/json" }, body, signal }, body.length);
}

/* Sends a form with a document; returns the translated document as a Blob. */
export async function request_file(form, signal, bytes) {
  const answer = await request("translate_file", { method: "POST", body: form, signal }, bytes);
  const response = await fetch(`download_file/${answer.translatedFileUrl.split("/").pop()}`, { signal }).catch(async error => {
    if (signal?.aborted) throw error;
    throw new Problem(await find_reason(0));
  });
  if (!response.ok) throw new Problem(await explain(response));
  return response.blob();
}

/* Returns where to end a part of a long text: after a line, or else a sentence, or else a word. */
function find_end(text) {
  const head = text.slice(0, PART), line = head.lastIndexOf("\n") + 1;
  if (line > 0) return line;
  const sentence = /^.*[.!?…]["'”»)]*\s|^.*[。！？]/su.exec(head), word = /^.*\s/su.exec(head);
  const end = (sentence ?? word ?? [head])[0].length;
  return /[\ud800-\udbff]/.test(text[end - 1]) ? end - 1 : end;
}

/* Splits a text into pairs: words to translate, and the white space after them. */
export function cut(text) {
  const parts = [];
  for (let rest = text; rest !== "";) {
    const part = rest.slice(0, rest.length > PART ? find_end(rest) : rest.length), words = part.trimEnd();
    parts.push([words, part.slice(words.length)]);
    rest = rest.slice(part.length);
  }
  return parts;
}

/* A translation in parts. After a failure, run() continues with the first missing part. */
export class Translation {
  constructor(text, source, target) {
    Object.assign(this, { parts: cut(text.toWellFormed?.() ?? text), source, target, text: "", done: 0, detected: null });
  }
  async run(signal, part_done = () => {}) {
    for (; this.done < this.parts.length; part_done(this)) {
      const [words, space] = this.parts[this.done];
      if (words !== "") {
        const answer = await request_translation(words, this.source, this.target, signal);
        this.text += answer.translatedText;
        this.detected ??= answer.detectedLanguage ?? null;
        if (this.detected?.confidence > 0) this.source = this.detected.language; // for all parts
      }
      this.text += space;
      this.done++;
    }
  }
}
