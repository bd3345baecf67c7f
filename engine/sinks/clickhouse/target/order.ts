import type { TableOrder } from "../../../core/readiness.ts";
import type { TableInfo } from "./table.ts";

/** What follows ORDER BY in the description of an engine. */
const clauses = [" PARTITION BY ", " PRIMARY KEY ", " SAMPLE BY ", " TTL ", " SETTINGS ", " COMMENT "];

/** Engine and ORDER BY of a table; undefined where the description of its engine has none. */
export function orderOf({ engine, engine_full }: Pick<TableInfo, "engine" | "engine_full">): TableOrder | undefined {
  const [start] = topLevel(engine_full, [" ORDER BY "]);
  if (start === undefined) return undefined;
  const rest = engine_full.slice(start + " ORDER BY ".length);
  const [end = rest.length] = topLevel(rest, clauses);
  const order = rest.slice(0, end).trim();
  const isTuple = order.startsWith("(") && order.endsWith(")");
  const list = isTuple ? order.slice(1, -1) : order === "tuple()" ? "" : order;
  return { engine, order_by: partsOf(list).map(unquoted) };
}

/** The texts between the commas that are in no parentheses. */
function partsOf(list: string): string[] {
  const commas = topLevel(list, [","]);
  const parts = [...commas, list.length].map((end, index) => list.slice(index === 0 ? 0 : commas[index - 1]! + 1, end));
  return parts.map((part) => part.trim()).filter((part) => part !== "");
}

/** Where one of the words begins, outside of quotes and parentheses. */
function topLevel(text: string, words: readonly string[]): number[] {
  const places: number[] = [];
  let [depth, quote] = [0, ""];
  for (let at = 0; at < text.length; at += 1) {
    const one = text[at]!;
    if (quote !== "") {
      if (one === "\\") at += 1;
      else if (one === quote) quote = "";
    } else if (one === "'" || one === "`" || one === '"') quote = one;
    else if (one === "(" || one === "[") depth += 1;
    else if (one === ")" || one === "]") depth -= 1;
    else if (depth === 0 && words.some((word) => text.startsWith(word, at))) places.push(at);
  }
  return places;
}

function unquoted(part: string): string {
  return /^`(?:[^`\\]|\\.)*`$/.test(part) ? part.slice(1, -1).replaceAll(/\\(.)/g, "$1") : part;
}
