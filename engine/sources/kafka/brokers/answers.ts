/** An answer has at most as many bytes as a fetch asks for, or one batch of messages, which a broker sends whole. */
export const longestAnswer = 256 * 1024 * 1024;
/** Until the versions of a broker are known and the login is over, nothing is asked for that has a long answer. */
export const longestOfLogin = 1024 * 1024;
const lengthBytes = Int32Array.BYTES_PER_ELEMENT;

/** Bytes that an answer has at this moment of a connection. */
interface AnswerLengths {
  shortest: number;
  longest: number;
}

/**
 * Puts the answers of one connection together from the bytes that it receives. Each byte is copied once, into a buffer
 * of the answer's own length: what was received may be written over afterwards.
 */
export class Answers {
  readonly #length = Buffer.alloc(lengthBytes);
  #answer: Buffer | undefined;
  /** Bytes of the length, and then of the answer with its length, that were received. */
  #received = 0;

  /**
   * Calls `take` with each answer that is complete: its length in four bytes, and then the answer. Throws where a length
   * is none that an answer has; the connection cannot be read any further then.
   *
   * @param shortest in bytes, without the length, as is `longest`
   */
  read(bytes: Buffer, { shortest, longest }: AnswerLengths, take: (answer: Buffer) => void): void {
    for (let at = 0; at < bytes.length;) {
      const into = this.#answer ?? this.#length;
      const copied = bytes.copy(into, this.#received, at);
      this.#received += copied;
      at += copied;
      if (this.#received < into.length) return;
      if (into === this.#length) this.#begin(shortest, longest);
      if (this.#received === this.#answer?.length) this.#end(take);
    }
  }

  #begin(shortest: number, longest: number): void {
    const size = this.#length.readInt32BE(0);
    if (size < shortest || size > longest) {
      const wayOut = "is it a Kafka broker, and is its listener with TLS or without as protocol says?";
      throw new Error(`expected an answer of ${shortest} to ${longest} bytes, found the length ${size}: ${wayOut}`);
    }
    this.#answer = Buffer.allocUnsafeSlow(lengthBytes + size);
    this.#length.copy(this.#answer);
  }

  #end(take: (answer: Buffer) => void): void {
    const answer = this.#answer!;
    [this.#answer, this.#received] = [undefined, 0];
    take(answer);
  }
}
