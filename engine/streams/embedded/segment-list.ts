import type { StreamState } from "../../core/stream.ts";
import { cutBefore, headerSize, type Segment } from "./segment.ts";

/** The segments of a stream, ascending, and what they hold: only the first one may be settled in part. */
export class SegmentList {
  #segments: Segment[] = [];
  #trimmed: number;
  /** Of all segments, including the settled events of the first one. */
  #messages = 0;
  #bytes = 0;

  constructor(segments: readonly Segment[], trimmed: number) {
    this.#trimmed = trimmed;
    for (const segment of segments) this.add(segment);
  }

  /** Events up to this sequence are settled. */
  get trimmed(): number {
    return this.#trimmed;
  }

  get all(): readonly Segment[] {
    return this.#segments;
  }

  /** The one that events are appended to. */
  get active(): Segment {
    return this.#segments.at(-1)!;
  }

  get state(): StreamState {
    const { last } = this.active;
    const oldest = this.#segments[0]!;
    const settled = Math.max(0, Math.min(this.#trimmed, oldest.last) - oldest.first + 1);
    const messages = this.#messages - settled;
    if (messages === 0) return { messages, bytes: 0, first: last + 1, last };
    const from =
      settled === 0 ? headerSize : oldest.frameIndex.offsetOf(this.#trimmed + 1, oldest.last + 1, oldest.end);
    const bytes = this.#bytes - (from - headerSize);
    return { messages, bytes, first: Math.max(oldest.first, this.#trimmed + 1), last };
  }

  add(segment: Segment): void {
    this.#segments.push(segment);
    this.#messages += countOf(segment);
    this.#bytes += bytesOf(segment);
  }

  /** Events were appended to the active segment. */
  grew(count: number, bytes: number): void {
    this.active.last += count;
    this.active.end += bytes;
    this.#messages += count;
    this.#bytes += bytes;
  }

  /** Settles events up to `position`. Removes the segments without other events from the list, and returns them. */
  settle(position: number): Segment[] {
    this.#trimmed = Math.max(this.#trimmed, position);
    let count = 0;
    while (count < this.#segments.length - 1 && this.#segments[count]!.last <= this.#trimmed) count += 1;
    const settled = this.#segments.splice(0, count);
    for (const segment of settled) {
      this.#messages -= countOf(segment);
      this.#bytes -= bytesOf(segment);
    }
    return settled;
  }

  /** The last closed segment that begins at or before `position`. */
  closedAt(position: number): Segment | undefined {
    return this.#segments.slice(0, -1).findLast(({ first }) => first <= position);
  }

  /**
   * Drops the segments after `position`; the active one, which is empty, stays. If the one before has events after it,
   * it ends where `end` begins. Returns the segments that it has removed from the list.
   */
  release(position: number, end: Segment | undefined): Segment[] {
    const closed = this.#segments.slice(0, -1);
    const { active } = this;
    const kept = closed.filter(({ first }) => first <= position);
    const whole = end === undefined ? kept : kept.filter(({ first }) => first < end.first);
    const left = whole.map((segment) =>
      end === undefined || segment.last < end.first ? segment : cutBefore(segment, end.first),
    );
    this.#segments = [];
    this.#messages = 0;
    this.#bytes = 0;
    for (const segment of [...left, ...(end === undefined ? [] : [end]), active]) this.add(segment);
    return closed.filter(({ first }) => first > position && first !== end?.first);
  }
}

function countOf({ first, last }: Segment): number {
  return last - first + 1;
}

function bytesOf({ end }: Segment): number {
  return end - headerSize;
}
