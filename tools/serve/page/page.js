/* Starts the page: asks what the server offers, and shows errors. */
import { request, request_list } from "./server.js";
import { Translator } from "./translator.js";
import { start_files } from "./files.js";

const $ = id => document.getElementById(id);
let repeat = null;

/* Shows an error, with a button that calls `again` unless it is null. An empty text hides the error. */
function show_error(text, again = null) {
  repeat = again;
  $("message-text").textContent = text;
  $("message").hidden = text === "";
  $("again").hidden = again === null;
}

function set_titles(translates, transcribes) {
  const title = ["clformer", "Translate", "Transcribe", "Translate and transcribe"][translates + 2 * transcribes];
  const kinds = ["", "Documents", "Recordings", "Documents and recordings"][translates + 2 * transcribes];
  $("title").textContent = title;
  document.title = title === "clformer" ? title : `${title} – clformer`;
  $("files-title").textContent = kinds;
  $("files-hint").textContent = [translates ? "Documents are translated into the language above and keep their layout." : "",
    transcribes ? "Recordings become transcripts with timestamps, and subtitles." : ""].join(" ").trim();
}

async function start() {
  show_error("");
  try {
    const [languages, settings, models] = await Promise.all([request_list("languages"),
      request("frontend/settings").catch(error => error.status ? {} : Promise.reject(error)),
      request_list("v1/models", value => value.data)]);
    /* Without a target other than itself, a language is only a target. */
    const translates = languages.some(language => language.targets.some(code => code !== language.code));
    set_titles(translates, models.length > 0);
    const translator = translates ? new Translator(languages, settings, show_error) : null;
    if (translates || models.length > 0) start_files(translator, models, settings.supportedFilesFormat ?? [".txt"], settings.charLimit ?? -1, show_error);
    else show_error("This server neither translates nor transcribes.");
  } catch (error) {
    show_error(error.message, start);
  }
}

$("hide").addEventListener("click", () => { show_error(""); $("text").focus(); });
$("again").addEventListener("click", () => repeat?.());
start();
