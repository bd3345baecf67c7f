const lineBreak = 10;

/** The lines of a body of JSONEachRow, one for each row, as views of its bytes. */
export class BodyLines {
  readonly #body: Buffer;
  /** Where each line starts, and where the last one ends. */
  readonly #starts: number[] = [0];

  constructor(body: Buffer) {
    this.#body = body;
    for (let at = body.indexOf(lineBreak); at !== -1; at = body.indexOf(lineBreak, at + 1)) this.#starts.push(at + 1);
  }

  get count(): number {
    return this.#starts.length - 1;
  }

  /** The lines with these indexes, in ascending order. Neighbours are not copied. */
  take(rows: readonly number[]): Buffer {
    const runs: Buffer[] = [];
    for (let first = 0; first < rows.length;) {
      let next = first + 1;
      while (next < rows.length && rows[next] === rows[next - 1]! + 1) next += 1;
      runs.push(this.#body.subarray(this.#starts[rows[first]!], this.#starts[rows[next - 1]! + 1]));
      first = next;
    }
    return runs.length === 1 ? runs[0]! : Buffer.concat(runs);
  }
}
