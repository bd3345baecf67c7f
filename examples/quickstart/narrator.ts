/** Prints the steps of the quickstart, and counts its checks. */
export class Narrator {
  #checks = 0;
  readonly #wrong: string[] = [];
  #step = 0;

  /** Begins a new step. */
  chapter(title: string): void {
    this.#step += 1;
    console.log(`\n${this.#step}. ${title}\n`);
  }

  say(text: string): void {
    for (const line of text.split("\n")) console.log(`   ${line}`.trimEnd());
  }

  /** Output of Sluice, or a command that a person would type. */
  show(text: string): void {
    for (const line of text.split("\n")) console.log(`   | ${line}`.trimEnd());
  }

  /** Compares a count with the expected one. */
  check(what: string, found: unknown, expected: unknown): void {
    this.#checks += 1;
    const isRight = JSON.stringify(found) === JSON.stringify(expected);
    if (!isRight) this.#wrong.push(`${what}: expected ${JSON.stringify(expected)}, found ${JSON.stringify(found)}`);
    const text = typeof found === "number" ? found.toLocaleString("en") : String(found);
    this.say(`${isRight ? "✓" : "✗"} ${what}: ${text}${isRight ? "" : ` (expected ${JSON.stringify(expected)})`}`);
  }

  /** Prints the result; true if every count was right. */
  sum(): boolean {
    console.log();
    if (this.#wrong.length === 0) this.say(`All ${this.#checks} counts are right.`);
    else this.say(`${this.#wrong.length} of ${this.#checks} counts are wrong:\n${this.#wrong.join("\n")}`);
    return this.#wrong.length === 0;
  }
}
