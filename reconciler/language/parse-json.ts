import { printable, problem, type Problem } from "./problem.ts";
import { maxDepth, maxValues } from "./limits.ts";
import type { Entry, Node } from "./node.ts";
import { Refusal } from "./refusal.ts";
import type { SourceText } from "./source-text.ts";

const token = /[ \t\r\n]*(?:([{}[\]:,])|("[^"\\]*(?:\\.[^"\\]*)*")|(-?\d[\d.eE+-]*|true|false|null)(?![\w.])|$)/suy;

interface Token {
  at: number;
  /** Punctuation, or empty. */
  mark: string;
  /** The value of a text, number or word, by JSON.parse. */
  value?: string | number | boolean | null;
}

/** The value of a strict JSON text (RFC 8259: no comments, no trailing commas), or the problem that stopped the reading. */
export function parseJson(source: SourceText): Node | Problem {
  return Refusal.caught(() => new Reader(source).document());
}

class Reader {
  readonly #source: SourceText;
  #token: Token;
  #offset = 0;
  #values = 0;

  constructor(source: SourceText) {
    this.#source = source;
    this.#token = this.#read();
  }

  document(): Node {
    const node = this.#value(0);
    if (this.#token.at < this.#source.text.length) this.#refuse("the end of the file");
    return node;
  }

  #value(depth: number): Node {
    const { at, mark, value } = this.#token;
    this.#values += 1;
    if (depth > maxDepth) this.#refuse(`at most ${maxDepth} collections inside each other`, "NESTING");
    if (this.#values > maxValues) this.#refuse(`at most ${maxValues} values`, "TOO_MANY_VALUES");
    if (value !== undefined) {
      this.#token = this.#read();
      return { kind: "scalar", at, value };
    }
    if (mark === "[") return { kind: "list", at, items: this.#sequence("]", () => this.#value(depth + 1)) };
    if (mark === "{") return { kind: "map", at, entries: this.#sequence("}", () => this.#entry(depth + 1)) };
    return this.#refuse("a value");
  }

  #entry(depth: number): Entry {
    const { at, value: key } = this.#token;
    if (typeof key !== "string") return this.#refuse("a key in double quotes");
    this.#token = this.#read();
    if (this.#token.mark !== ":") this.#refuse('":"');
    this.#token = this.#read();
    return { key, at, value: this.#value(depth) };
  }

  #sequence<Part>(end: "]" | "}", part: () => Part): Part[] {
    const parts: Part[] = [];
    this.#token = this.#read();
    if (this.#token.mark !== end) {
      parts.push(part());
      while (this.#token.mark === ",") {
        this.#token = this.#read();
        parts.push(part());
      }
      if (this.#token.mark !== end) this.#refuse(`"," or "${end}"`);
    }
    this.#token = this.#read();
    return parts;
  }

  #read(): Token {
    token.lastIndex = this.#offset;
    const match = token.exec(this.#source.text);
    const [whole = "", mark = "", quoted, word] = match ?? [];
    const text = quoted ?? word;
    const at = this.#offset + whole.length - mark.length - (text?.length ?? 0);
    if (match === null)
      return {
        at: this.#offset + (/^[ \t\r\n]*/.exec(this.#source.text.slice(this.#offset))?.[0].length ?? 0),
        mark: "",
      };
    this.#offset += whole.length;
    if (text === undefined) return { at, mark };
    try {
      return { at, mark, value: JSON.parse(text) as string | number | boolean | null };
    } catch {
      return { at, mark: "" };
    }
  }

  #refuse(expected: string, code: Problem["code"] = "JSON_SYNTAX"): never {
    const { at } = this.#token;
    const character = this.#source.text.slice(at, at + 1);
    const found = character === "" ? "the end of the file" : `"${printable(character)}"`;
    throw new Refusal(problem(code, this.#source.place(at), { subject: "file", expected, found }));
  }
}
