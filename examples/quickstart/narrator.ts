/** Prints the story, and keeps the count of what was checked on the way. */
export class Narrator {
  #checks = 0;
  readonly #wrong: string[] = [];
  #step = 0;

  /** A new chapter. */
  chapter(title: string): void {
    this.#step += 1;
    console.log(`\n${this.#step}. ${title}\n`);
  }

  say(text: string): void {
    for (const line of text.split("\n")) console.log(`   ${line}`.trimEnd());
  }

  /** Something that was printed by Sluice, or that a person would type. */
  show(text: string): void {
    for (const line of text.split("\n")) console.log(`   | ${line}`.trimEnd());
  }

  /** Compares a count with what it must be. */
  check(what: string, found: unknown, expected: unknown): void {
    this.#checks += 1;
    const isRight = JSON.stringify(found) === JSON.stringify(expected);
    if (!isRight) this.#wrong.push(`${what}: expected ${JSON.stringify(expected)}, found ${JSON.stringify(found)}`);
    const told = typeof found === "number" ? found.toLocaleString("en") : String(found);
    this.say(`${isRight ? "✓" : "✗"} ${what}: ${told}${isRight ? "" : ` (expected ${JSON.stringify(expected)})`}`);
  }

  /** Says how it went; true if every count was right. */
  sum(): boolean {
    console.log();
    if (this.#wrong.length === 0) this.say(`All ${this.#checks} counts are right.`);
    else this.say(`${this.#wrong.length} of ${this.#checks} counts are wrong:\n${this.#wrong.join("\n")}`);
    return this.#wrong.length === 0;
  }
}
