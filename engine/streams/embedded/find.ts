import { EngineError } from "../../core/errors.ts";
import type { Front } from "../../core/stream.ts";
import type { Arrival } from "./arrival-times.ts";
import type { Frame } from "./frame.ts";
import { FrameWalk } from "./frame-walk.ts";
import type { SegmentList } from "./segment-list.ts";
import type { Folder, Segment } from "./segment.ts";

/** The frame with the event `position` of a segment, which holds it. */
export async function frameHolding(folder: Folder, segment: Segment, position: number): Promise<Frame> {
  for await (const frame of framesFrom(folder, segment, position)) {
    if (frame.first + frame.count > position) return frame;
  }
  throw new EngineError("STORAGE_FAILED", `${folder.path}: the event ${position} is missing: restore the folder`);
}

/** The events of a stream that were received before `time`, up to the first younger push. */
export async function frontBefore(folder: Folder, segments: SegmentList, time: number): Promise<Front> {
  const { trimmed } = segments;
  let last = trimmed;
  for (const segment of segments.all) {
    if (segment.last <= trimmed || segment.last < segment.first) continue;
    const upTo = await lastBefore(folder, segment, trimmed, time);
    if (upTo >= segment.first) last = Math.max(last, upTo);
    if (upTo < segment.last) break;
  }
  return { count: countUpTo(segments, last), last };
}

/** When the events that a stream holds were received, as far as its indexes tell: the first of each part, or one before it. */
export async function arrivalsIn(folder: Folder, segments: SegmentList): Promise<Arrival[]> {
  const { trimmed } = segments;
  const held = segments.all.filter(({ first, last }) => last > trimmed && last >= first);
  const [oldest] = held;
  if (oldest === undefined) return [];
  let { receivedAt: time } = await frameHolding(folder, oldest, Math.max(oldest.first, trimmed + 1));
  const arrivals: Arrival[] = [];
  for (const { last: end, frameIndex } of held) {
    for (const [place, newest] of frameIndex.newest.entries()) {
      const last = (frameIndex.firsts[place + 1] ?? end + 1) - 1;
      if (last <= trimmed) continue;
      arrivals.push({ last, time });
      time = newest;
    }
  }
  return arrivals;
}

/** The last event of a segment up to which all are settled, or were received before `time`. */
async function lastBefore(folder: Folder, segment: Segment, trimmed: number, time: number): Promise<number> {
  const { firsts, newest } = segment.frameIndex;
  let place = Math.max(0, segment.frameIndex.placeOf(trimmed + 1));
  while (place < firsts.length && newest[place]! < time) place += 1;
  if (place === firsts.length) return segment.last;
  let last = firsts[place]! - 1;
  for await (const { first, count, receivedAt } of framesFrom(folder, segment, last + 1)) {
    if (receivedAt >= time && first + count - 1 > trimmed) break;
    last = Math.min(first + count - 1, segment.last);
  }
  return last;
}

function countUpTo({ all, trimmed }: SegmentList, last: number): number {
  let count = 0;
  for (const segment of all) {
    count += Math.max(0, Math.min(last, segment.last) - Math.max(trimmed, segment.first - 1));
  }
  return count;
}

/** The frames of a segment from the last entry of the index before `position` on. */
async function* framesFrom(
  folder: Folder,
  { first, last, frameIndex }: Segment,
  position: number,
): AsyncGenerator<Frame> {
  const walk = await FrameWalk.open(folder, first);
  try {
    const place = frameIndex.placeOf(position);
    if (place !== -1) walk.goTo(frameIndex.firsts[place]!, frameIndex.offsets[place]!);
    while (walk.next <= last) {
      const frame = await walk.peek();
      if (frame.kind !== "frame" || frame.first !== walk.next) return;
      walk.pass(frame);
      yield frame;
    }
  } finally {
    await walk.close();
  }
}
