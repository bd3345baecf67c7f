/** Something that happened in a partition, in milliseconds of the clock. */
export interface Moment {
  partition: number;
  id: number;
  at: number;
}

/** Messages by id: when each one arrived first. */
export type Arrivals = ReadonlyMap<number, number>;

/**
 * The longest time in which a partition had an acknowledged message to be read and nothing of it arrived, for each span of
 * the load that it reaches into; the spans begin at `begins`. Messages that never arrived are not counted: they are lost,
 * and no time tells more.
 */
export function standStills(acked: readonly Moment[], arrivals: Arrivals, begins: readonly number[]): number[] {
  const longest = begins.map(() => 0);
  for (const messages of byPartition(acked).values()) {
    const arrived = messages
      .flatMap(({ id, at }) => {
        const arrival = arrivals.get(id);
        return arrival === undefined ? [] : [{ at, arrival }];
      })
      .toSorted((a, b) => a.arrival - b.arrival);
    let [before, latest] = [-Infinity, -Infinity];
    for (const { at, arrival } of arrived) {
      if (arrival > latest) [before, latest] = [latest, arrival];
      const since = Math.max(at, before);
      for (const [span, begin] of begins.entries()) {
        const isWithin = arrival > begin && since < (begins[span + 1] ?? Infinity);
        if (isWithin) longest[span] = Math.max(longest[span]!, arrival - since);
      }
    }
  }
  return longest;
}

function byPartition(moments: readonly Moment[]): Map<number, Moment[]> {
  const parts = new Map<number, Moment[]>();
  for (const moment of moments) {
    const part = parts.get(moment.partition) ?? [];
    parts.set(moment.partition, part);
    part.push(moment);
  }
  return parts;
}

/** The middle one, 0 of none. */
export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
