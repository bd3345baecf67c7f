/** The open parts of a process. They are closed in the opposite order, each of them even if another one fails. */
export class Parts {
  readonly #opened: { close(): Promise<void> }[] = [];

  add<Part extends { close(): Promise<void> }>(part: Part): Part {
    this.#opened.push(part);
    return part;
  }

  /** Throws the first error of a part, after all were closed. */
  async close(): Promise<void> {
    const failures: unknown[] = [];
    for (let part = this.#opened.pop(); part !== undefined; part = this.#opened.pop()) {
      await part.close().catch((error: unknown) => failures.push(error));
    }
    if (failures.length > 0) throw failures[0];
  }
}
