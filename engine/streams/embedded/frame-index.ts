/** The least distance of two entries, in bytes. */
const between = 256 * 1024;

/**
 * A sparse index of a segment: where frames begin, one entry for 256 KiB, so that reading may start near any sequence;
 * and the newest time of receipt of the events up to the next entry.
 */
export class FrameIndex {
  readonly firsts: number[] = [];
  readonly offsets: number[] = [];
  readonly newest: number[] = [];

  /** Notes the next frame: the sequence of its first event, its offset, and when its events were received. */
  note(first: number, offset: number, receivedAt: number): void {
    const last = this.offsets.length - 1;
    if (last === -1 || offset - this.offsets[last]! >= between) {
      this.firsts.push(first);
      this.offsets.push(offset);
      this.newest.push(receivedAt);
    } else if (offset >= this.offsets[last]!) {
      this.newest[last] = Math.max(this.newest[last]!, receivedAt);
    }
  }

  /** The index of the last entry at or before a sequence; -1 where there is none. */
  placeOf(position: number): number {
    let low = 0;
    let high = this.firsts.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.firsts[middle]! <= position) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  /** About where the event with a sequence begins, of a segment that ends at the offset `end` before the sequence `next`. */
  offsetOf(position: number, next: number, end: number): number {
    if (position >= next) return end;
    const place = this.placeOf(position);
    if (place === -1) return this.offsets[0] ?? end;
    const [from, offset] = [this.firsts[place]!, this.offsets[place]!];
    const [to, afterwards] = [this.firsts[place + 1] ?? next, this.offsets[place + 1] ?? end];
    return Math.round(offset + ((afterwards - offset) * (position - from)) / (to - from));
  }

  /** The entries before a sequence. */
  before(position: number): FrameIndex {
    const frameIndex = new FrameIndex();
    const count = this.placeOf(position - 1) + 1;
    frameIndex.firsts.push(...this.firsts.slice(0, count));
    frameIndex.offsets.push(...this.offsets.slice(0, count));
    frameIndex.newest.push(...this.newest.slice(0, count));
    return frameIndex;
  }

  encode(): Buffer {
    const all = [this.firsts, this.offsets, this.newest].flatMap((values) => values);
    return Buffer.from(Float64Array.from(all).buffer);
  }

  static decode(bytes: Buffer): FrameIndex {
    const frameIndex = new FrameIndex();
    const count = bytes.length / 24;
    for (let index = 0; index < count; index += 1) {
      frameIndex.firsts.push(bytes.readDoubleLE(8 * index));
      frameIndex.offsets.push(bytes.readDoubleLE(8 * (count + index)));
      frameIndex.newest.push(bytes.readDoubleLE(8 * (2 * count + index)));
    }
    return frameIndex;
  }
}
