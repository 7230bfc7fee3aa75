/* Languages and lists in elements of the page. */

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
