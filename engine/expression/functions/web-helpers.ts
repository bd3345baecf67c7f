import type { FunctionDefinition } from "./catalog.ts";
import { bare, textOf } from "../values/printing.ts";
import { map, text, unknown } from "../values/types.ts";
import { put, textList, type TextMap } from "../values/values.ts";

/** `+` is a space and `%XX` a byte. Undefined where a `%` is not followed by two hexadecimal digits. */
function decoded(encoded: string): string | undefined {
  const spaced = encoded.replaceAll("+", " ");
  if (!spaced.includes("%")) return spaced;
  if (/%(?![\da-fA-F]{2})/.test(spaced)) return undefined;
  const bytes: Buffer[] = [];
  for (const [part] of spaced.matchAll(/(?:%[\da-fA-F]{2})+|[^%]+/g)) {
    bytes.push(part.startsWith("%") ? Buffer.from(part.replaceAll("%", ""), "hex") : Buffer.from(part));
  }
  return Buffer.concat(bytes).toString();
}

/** The names and values of a query, in order. Undefined if any part of it is invalid. */
function queryPairs(query: string): [string, string][] | undefined {
  const found: [string, string][] = [];
  for (const part of query.split("&")) {
    if (part === "") continue;
    const at = part.indexOf("=");
    const name = decoded(at === -1 ? part : part.slice(0, at));
    const value = decoded(at === -1 ? "" : part.slice(at + 1));
    if (part.includes(";") || name === undefined || value === undefined) return undefined;
    found.push([name, value]);
  }
  return found;
}

/** A single name has a text, a repeated name an array of texts. */
function parseQuery(query: string): TextMap {
  const lists = new Map<string, string[]>();
  for (const [name, value] of queryPairs(query) ?? []) {
    const list = lists.get(name);
    if (list === undefined) lists.set(name, [value]);
    else list.push(value);
  }
  const made: TextMap = {};
  for (const [name, list] of lists) put(made, name, list.length === 1 ? list[0] : textList(list));
  return made;
}

function parameter(query: string, name: string): unknown {
  const values = (queryPairs(query) ?? []).flatMap(([key, value]) => (key === name ? [value] : []));
  return values.length > 1 ? textList(values) : (values[0] ?? "");
}

const queryParameter: FunctionDefinition = {
  takes: ["any", "any"],
  rest: "any",
  gives: unknown,
  run: ({ budget }, query, name) => {
    budget.make(bare(query).length);
    return parameter(bare(query), bare(name));
  },
};

const pathTypes: ReadonlyMap<string, string> = new Map([
  ["/g/collect", "collect"],
  ["/_/set_cookie", "set_cookie"],
]);

/** Helpers for URLs and their queries. */
export const queryHelpers: Readonly<Record<string, FunctionDefinition>> = {
  parseQuery: {
    takes: ["any"],
    optional: 1,
    rest: "any",
    gives: map,
    run: ({ budget }, query = null) => {
      budget.make(bare(query).length);
      return parseQuery(bare(query));
    },
  },
  getQueryParam: queryParameter,
  getNestedParam: queryParameter,
  urlDecode: {
    takes: ["any"],
    gives: text,
    run: ({ budget, fail }, value) => {
      const written = typeof value === "string" ? value : (textOf(value) ?? "");
      budget.make(written.length);
      return decoded(written) ?? fail("urlDecode expects two hexadecimal digits after each %");
    },
  },
  extractPathType: {
    takes: ["any"],
    rest: "any",
    gives: text,
    run: (_, path) => pathTypes.get(bare(path)) ?? "unknown",
  },
};

/** The results, each with the words of a user agent that mean it; the first match counts. */
type Rules = readonly (readonly [answer: string, ...words: string[]])[];

const browsers: Rules = [
  ["Edge", "edg/"],
  ["Chrome", "chrome", "crios"],
  ["Firefox", "firefox", "fxios"],
  ["Safari", "safari"],
];

const systems: Rules = [
  ["iOS", "iphone", "ipad", "ipod"],
  ["Android", "android"],
  ["Windows", "windows"],
  ["macOS", "mac os", "macintosh"],
  ["Linux", "linux"],
];

function firstOf(rules: Rules, agent: string): string {
  return rules.find(([, ...words]) => words.some((word) => agent.includes(word)))?.[0] ?? "Unknown";
}

function device(agent: string): string {
  if (agent.includes("ipad") || (agent.includes("android") && !agent.includes("mobile"))) return "Tablet";
  return ["mobile", "iphone", "android"].some((word) => agent.includes(word)) ? "Mobile" : "Desktop";
}

function answer(agent: string, what: string): string {
  if (what === "device") return device(agent);
  if (what === "browser") return firstOf(browsers, agent);
  return what === "os" ? firstOf(systems, agent) : "";
}

/** The helper for user agents: browser, system and device. */
export const userAgentHelpers: Readonly<Record<string, FunctionDefinition>> = {
  parseUserAgent: {
    takes: ["any", "any"],
    rest: "any",
    gives: text,
    run: ({ budget }, agent, what) => {
      const named = bare(agent);
      budget.make(named.length);
      return named === "" ? "" : answer(named.toLowerCase(), bare(what));
    },
  },
};
