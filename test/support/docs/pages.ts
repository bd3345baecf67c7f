import { readdirSync, readFileSync } from "node:fs";
import { load } from "js-yaml";

/** Folders that hold no page of the project. */
const elsewhere = /^(?:node_modules|dist|\.git|\.cache|\.sluice)(?:\/|$)/;

/** A Markdown file of the project. */
export interface Page {
  /** From the top of the project, such as `docs/api.md`. */
  path: string;
  text: string;
}

/** A fenced block of a page. */
export interface Block {
  page: string;
  /** Of its first fence, from 1. */
  line: number;
  /** Such as `sh`; empty where the fence names none. */
  language: string;
  /** Of a block of commands: why no test runs it. */
  skip?: string;
  /** A server that the commands find at its default address, such as `kafka`. */
  needs?: string;
  /** A block of commands that starts Sluice, which runs on beside the blocks after it. */
  isBackground: boolean;
  /** The file that a reader writes the block to, from the folder that the commands run in. */
  file?: string;
  text: string;
}

/** Every Markdown file of the project, in the order of their paths. */
export function pages(): Page[] {
  const below = readdirSync(".", { withFileTypes: true })
    .filter(({ name }) => !elsewhere.test(name))
    .flatMap((entry) =>
      entry.isDirectory()
        ? readdirSync(entry.name, { recursive: true, encoding: "utf8" }).map((path) => `${entry.name}/${path}`)
        : [entry.name],
    );
  return below
    .filter((path) => path.endsWith(".md") && !path.includes("node_modules/"))
    .toSorted()
    .map((path) => ({ path, text: readFileSync(path, "utf8") }));
}

/** The fenced blocks of a page. Throws where a fence says what no reader of these pages knows. */
export function blocksOf({ path, text }: Page): Block[] {
  const blocks: Block[] = [];
  let open: { block: Block; lines: string[]; fence: string } | undefined;
  for (const [index, line] of text.split("\n").entries()) {
    const [, fence = "", info = ""] = /^ *(`{3,})(.*)$/.exec(line) ?? [];
    if (open === undefined && fence !== "") open = { block: blockOf(path, index + 1, info.trim()), lines: [], fence };
    else if (open !== undefined && fence === open.fence && info.trim() === "") {
      blocks.push({ ...open.block, text: `${open.lines.join("\n")}\n` });
      open = undefined;
    } else open?.lines.push(line);
  }
  if (open !== undefined) throw new Error(`${path}:${open.block.line}: the block has no end`);
  return blocks;
}

function blockOf(page: string, line: number, info: string): Block {
  const [, language = "", rest = ""] = /^(\w*)\s*(.*)$/.exec(info) ?? [];
  const [, skip] = /^skip="([^"]+)"$/.exec(rest) ?? [];
  const [, file] = /^file=(\S+)$/.exec(rest) ?? [];
  const [, needs, background] = /^needs=(kafka)( background)?$/.exec(rest) ?? [];
  const isBackground = rest === "background" || background !== undefined;
  if (rest !== "" && skip === undefined && file === undefined && needs === undefined && !isBackground) {
    const expected = `expected skip="REASON", file=PATH, needs=kafka or background after the language`;
    throw new Error(`${page}:${line}: ${expected}, got ${rest}`);
  }
  const given = {
    ...(skip !== undefined && { skip }),
    ...(file !== undefined && { file }),
    ...(needs !== undefined && { needs }),
  };
  return { page, line, language, isBackground, ...given, text: "" };
}

/** A page without its fenced blocks, line by line as before. */
export function prose({ text }: Page): string {
  let fence: string | undefined;
  const lines = text.split("\n").map((line) => {
    const [, found] = /^ *(`{3,})/.exec(line) ?? [];
    if (fence === undefined && found !== undefined) fence = found;
    else if (fence === undefined) return line;
    else if (found === fence) fence = undefined;
    return "";
  });
  return lines.join("\n");
}

/** Texts in single backquotes. */
export function codeSpans(page: Page): string[] {
  return [...prose(page).matchAll(/(?<!`)`([^`\n]+)`(?!`)/g)].map(([, text = ""]) => text);
}

/** The names that lead to a place of a page: those of its headings as GitHub makes them, and those that it gives itself. */
export function anchorsOf(page: Page): Set<string> {
  const anchors = new Set([...page.text.matchAll(/<a id="([^"]+)">/g)].map(([, id = ""]) => id));
  const seen = new Map<string, number>();
  for (const [, heading = ""] of prose(page).matchAll(/^#{1,6} +(.+)$/gm)) {
    const slug = slugOf(heading);
    const before = seen.get(slug) ?? 0;
    seen.set(slug, before + 1);
    anchors.add(before === 0 ? slug : `${slug}-${before}`);
  }
  return anchors;
}

function slugOf(heading: string): string {
  const words = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").replaceAll(/[`*]/g, "");
  return words
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_ -]/gu, "")
    .replaceAll(" ", "-");
}

/** The values of a document of YAML. */
export function yamlOf({ text }: Block): unknown {
  return load(text);
}
