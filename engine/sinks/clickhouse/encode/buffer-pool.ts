/** Sizes of buffers are multiples of it, in bytes, so that bodies of nearly the same size share them. Less is not kept. */
const unit = 64 * 1024;

/**
 * Buffers that are used again and again: a new one for each batch counts as memory outside of the heap, for which V8
 * collects all garbage every few batches.
 */
export class BufferPool {
  readonly #most: number;
  #free: Buffer[] = [];
  #kept = 0;
  /** The memory of the buffers that are in use. */
  readonly #taken = new WeakSet<ArrayBufferLike>();

  /** `most`: bytes of free buffers that are kept. */
  constructor(most: number) {
    this.#most = most;
  }

  /** A buffer of at least `size` bytes, with any content. */
  take(size: number): Buffer {
    if (size < unit) return Buffer.allocUnsafe(size);
    // A much larger one is left for a larger body.
    const found = this.#free.find(({ length }) => length >= size && length <= 2 * size);
    const buffer = found ?? Buffer.allocUnsafeSlow(Math.ceil(size / unit) * unit);
    if (found !== undefined) this.#drop(found);
    this.#taken.add(buffer.buffer);
    return buffer;
  }

  /**
   * Takes back the whole buffer of which `bytes` are a part: nothing may read or write it any more. Ignores bytes of any
   * other memory, and what was given back already.
   */
  give(bytes: Buffer): void {
    if (!this.#taken.delete(bytes.buffer)) return;
    const buffer = Buffer.from(bytes.buffer);
    if (buffer.length > this.#most) return;
    this.#free.push(buffer);
    this.#kept += buffer.length;
    // The oldest go: their sizes are no longer asked for.
    while (this.#kept > this.#most) this.#drop(this.#free[0]!);
  }

  #drop(buffer: Buffer): void {
    this.#free = this.#free.filter((one) => one !== buffer);
    this.#kept -= buffer.length;
  }
}
