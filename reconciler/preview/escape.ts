import { fenceOf } from "../language/markdown.ts";

/** Text of a repository as inline text of a Markdown comment: no markup, no mention of a person, no link to an issue. */
export function inline(text: string): string {
  return clean(text)
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(/[\\`*[\]|~]/g, "\\$&")
    .replaceAll(/#(?=\d)/g, "&#35;")
    .replaceAll("@", "&#64;");
}

/** The same as code. */
export function code(text: string): string {
  const escaped = clean(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll("|", "&#124;");
  return `<code>${escaped.replaceAll(/[\\`*[\]~_@#]/g, (character) => `&#${character.codePointAt(0)};`)}</code>`;
}

/** Lines as a fenced block, which no line of them ends. */
export function fenced(language: string, lines: readonly string[]): string {
  const text = lines.map(clean).join("\n");
  const fence = fenceOf(text, 3);
  return `${fence}${language}\n${text}\n${fence}`;
}

/** On one line, without control characters. */
function clean(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "\uFFFD");
}
