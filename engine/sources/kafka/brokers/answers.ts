import type { AnswerRoom } from "../../../peers/answer-room.ts";

/** An answer has at most as many bytes as a fetch asks for, or one batch of messages, which a broker sends whole. */
export const longestAnswer = 256 * 1024 * 1024;
/** Until the versions of a broker are known and the login is over, nothing is asked for that has a long answer. */
export const longestOfLogin = 1024 * 1024;
const lengthBytes = Int32Array.BYTES_PER_ELEMENT;

/** Milliseconds between two looks for room, and for how long they go on. */
export const [lookForRoom, waitForRoom] = [20, 10_000];

/** Why a connection ends at an answer of so many bytes. */
export function noRoom(bytes: number): Error {
  const found = `found none for ${waitForRoom / 1000} s: long answers of others take it`;
  return new Error(`expected room for an answer of ${bytes} bytes, ${found}`);
}

/** Bytes that an answer has at this moment of a connection. */
interface AnswerLengths {
  shortest: number;
  longest: number;
}

type Take = (answer: Buffer) => void;

/**
 * Puts the answers of one connection together from the bytes that it receives. Each byte is copied once, into a buffer
 * of the answer's own length: what was received may be written over afterwards. While there is no room for an answer, what
 * follows its length is kept, and nothing more should be received.
 */
export class Answers {
  readonly #room: AnswerRoom;
  readonly #length = Buffer.alloc(lengthBytes);
  #giveBack: (() => void) | undefined;
  /** The length of an answer for which there is no room yet, and what was received after it. */
  #waiting: { size: number; rest: Buffer } | undefined;
  #answer: Buffer | undefined;
  /** Bytes of the length, and then of the answer with its length, that were received. */
  #received = 0;

  constructor(room: AnswerRoom) {
    this.#room = room;
  }

  /** Bytes of the answer for which there is no room; undefined where none waits. */
  get waiting(): number | undefined {
    return this.#waiting?.size;
  }

  /**
   * Calls `take` with each answer that is complete: its length in four bytes, and then the answer. Throws where a length
   * is none that an answer has; the connection cannot be read any further then.
   *
   * @param shortest in bytes, without the length, as is `longest`
   */
  read(bytes: Buffer, { shortest, longest }: AnswerLengths, take: Take): void {
    for (let at = 0; at < bytes.length;) {
      if (this.#waiting !== undefined) {
        this.#waiting.rest = Buffer.concat([this.#waiting.rest, bytes.subarray(at)]);
        return;
      }
      const into = this.#answer ?? this.#length;
      const copied = bytes.copy(into, this.#received, at);
      this.#received += copied;
      at += copied;
      if (this.#received < into.length) return;
      if (into === this.#length) this.#begin(shortest, longest);
      if (this.#received === this.#answer?.length) this.#end(take);
    }
  }

  /** Looks for room again, and reads on where there is some. Throws as `read`. */
  goOn(lengths: AnswerLengths, take: Take): void {
    if (this.#waiting === undefined || !this.#make(this.#waiting.size)) return;
    const { rest } = this.#waiting;
    this.#waiting = undefined;
    this.read(rest, lengths, take);
  }

  /** The connection is over: what was received of an answer is none. */
  drop(): void {
    this.#giveBack?.();
    [this.#answer, this.#waiting, this.#received] = [undefined, undefined, 0];
  }

  #begin(shortest: number, longest: number): void {
    const size = this.#length.readInt32BE(0);
    if (size < shortest || size > longest) {
      const wayOut = "is it a Kafka broker, and is its listener with TLS or without as protocol says?";
      throw new Error(`expected an answer of ${shortest} to ${longest} bytes, found the length ${size}: ${wayOut}`);
    }
    if (!this.#make(size)) this.#waiting = { size, rest: Buffer.alloc(0) };
  }

  #make(size: number): boolean {
    this.#giveBack = this.#room.take(size);
    if (this.#giveBack === undefined) return false;
    this.#answer = Buffer.allocUnsafeSlow(lengthBytes + size);
    this.#length.copy(this.#answer);
    return true;
  }

  #end(take: Take): void {
    const answer = this.#answer!;
    [this.#answer, this.#received] = [undefined, 0];
    try {
      take(answer);
    } finally {
      this.#giveBack?.();
    }
  }
}
