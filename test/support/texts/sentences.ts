/** A sentence of the source: a literal of several words. */
export interface Sentence {
  line: number;
  /** What stands between the places where values are put in. */
  parts: readonly string[];
}

/** Two words, or a word beside a value. */
const severalWords = /\p{Ll}{2}[,;:]? \S|\S \p{Ll}{2}/u;

/** The sentences of a TypeScript source, in order. Comments, imports, patterns and raw templates hold none. */
export function sentencesOf(source: string): Sentence[] {
  return new Literals(source).all().filter(({ parts }) => severalWords.test(parts.join("…")));
}

/** A sentence as lists name it. */
export function named({ parts }: Sentence): string {
  return parts.join("…");
}

/** Whether a text holds the parts of a sentence, in their order. */
export function holds(text: string, { parts }: Pick<Sentence, "parts">): boolean {
  let at = 0;
  return parts.every((part) => {
    const found = text.indexOf(part, at);
    at = found + part.length;
    return found !== -1;
  });
}

/** What stands before a slash that begins a pattern; after anything else it divides. */
const beforePattern = /(?:^|[([{,;:=!&|?>]|\breturn)\s*$/;

/** Reads the literals of a source that Prettier has formatted. */
class Literals {
  readonly #source: string;
  readonly #found: Sentence[] = [];
  #at = 0;

  constructor(source: string) {
    this.#source = source;
  }

  all(): Sentence[] {
    while (this.#at < this.#source.length) this.#step();
    return this.#found.toSorted((one, other) => one.line - other.line);
  }

  #step(): void {
    const rest = this.#source.slice(this.#at, this.#at + 2);
    if (rest === "//") this.#skipTo("\n");
    else if (rest === "/*") this.#skipTo("*/");
    else if (rest[0] === '"' || rest[0] === "'") this.#text(rest[0]);
    else if (rest[0] === "`") this.#template();
    else if (rest[0] === "/" && beforePattern.test(this.#source.slice(Math.max(0, this.#at - 80), this.#at)))
      this.#pattern();
    else this.#at += 1;
  }

  #skipTo(end: string): void {
    const found = this.#source.indexOf(end, this.#at + 2);
    this.#at = found === -1 ? this.#source.length : found + end.length;
  }

  #text(quote: string): void {
    const start = this.#at;
    this.#at = this.#end(quote, start + 1);
    this.#add(start, [this.#source.slice(start + 1, this.#at - 1)]);
  }

  #template(): void {
    const start = this.#at;
    const isRaw = this.#source.endsWith("String.raw", start);
    const parts: string[] = [];
    for (let from = (this.#at += 1); ; from = this.#at) {
      while (this.#source[this.#at] !== "`" && !this.#source.startsWith("${", this.#at)) {
        this.#at += this.#source[this.#at] === "\\" ? 2 : 1;
      }
      parts.push(this.#source.slice(from, this.#at));
      if (this.#source[this.#at] === "`") break;
      this.#value();
    }
    this.#at += 1;
    if (!isRaw) this.#add(start, parts);
  }

  /** The value in a template, which may hold literals itself. */
  #value(): void {
    let depth = 0;
    do {
      const letter = this.#source[this.#at];
      depth += letter === "{" ? 1 : letter === "}" ? -1 : 0;
      this.#step();
    } while (depth > 0 || this.#source[this.#at - 1] !== "}");
  }

  #pattern(): void {
    let isInClass = false;
    for (this.#at += 1; isInClass || this.#source[this.#at] !== "/"; this.#at += 1) {
      const letter = this.#source[this.#at];
      if (letter === "\\") this.#at += 1;
      else if (letter === "[" || letter === "]") isInClass = letter === "[";
    }
    this.#at += 1;
  }

  #end(quote: string, from: number): number {
    let at = from;
    while (this.#source[at] !== quote) at += this.#source[at] === "\\" ? 2 : 1;
    return at + 1;
  }

  #add(start: number, parts: readonly string[]): void {
    const line = this.#source.slice(0, start).split("\n").length;
    this.#found.push({ line, parts: parts.map(unescaped) });
  }
}

function unescaped(text: string): string {
  return text.replace(/\\(?:u([0-9a-fA-F]{4})|(.))/gs, (_, code: string | undefined, letter: string) =>
    code === undefined ? (letter === "n" ? "\n" : letter) : String.fromCharCode(Number.parseInt(code, 16)),
  );
}
