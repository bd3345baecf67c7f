/** Cuts a stream into what stands behind each length. */
export class Frames {
  #bytes: Buffer = Buffer.alloc(0);

  *take(chunk: Buffer): Generator<Buffer> {
    this.#bytes = this.#bytes.length === 0 ? chunk : Buffer.concat([this.#bytes, chunk]);
    while (this.#bytes.length >= 4 && this.#bytes.length >= 4 + this.#bytes.readInt32BE(0)) {
      const end = 4 + this.#bytes.readInt32BE(0);
      yield this.#bytes.subarray(4, end);
      this.#bytes = this.#bytes.subarray(end);
    }
  }
}
