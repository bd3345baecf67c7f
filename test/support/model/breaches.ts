import { modelEvent, type ModelEvent } from "./events.ts";
import type { World } from "./world.ts";

/** The reference: what must be true of every event when all has come to its end. */
export function breaches(world: World, hasDedup: boolean): string[] {
  const { source, target, letters: queue, terminated, hasForgotten, skipsLost } = world;
  const rows = counted(target.rows.map(({ id }) => id));
  const dead = counted(queue.map(({ original_message }) => (JSON.parse(original_message) as ModelEvent).id));
  const keys = counted(target.rows.map(keyOf));
  const inDoubt = new Set([...world.missedInDoubt].map((id) => keyOf(modelEvent(source.events[id - 1]!))));
  const found: string[] = [];
  source.events.forEach((read, index) => {
    const position = index + 1;
    const times = (rows.get(position) ?? 0) + (dead.get(position) ?? 0);
    if (times > 1) found.push(`doubled: ${position} is there ${times} times`);
    if (times > 0 || read === undefined || position <= terminated) return;
    if (skipsLost && source.missed.has(position)) return;
    const { fate, ...one } = modelEvent(read);
    if (fate === "even" || (hasDedup && (keys.has(keyOf(one)) || inDoubt.has(keyOf(one))))) return;
    found.push(`lost: ${position}, ${one.key}, ${fate}`);
  });
  if (hasDedup && !hasForgotten) {
    for (const [key, times] of keys) if (times > 1) found.push(`doubled: key ${key} has ${times} rows`);
  }
  return found;
}

/** What a dedup tells events apart by: a topic has one of its own. */
function keyOf({ key, source = "" }: Pick<ModelEvent, "key" | "source">): string {
  return `${source}/${key}`;
}

function counted<T>(list: readonly T[]): Map<T, number> {
  const counts = new Map<T, number>();
  for (const one of list) counts.set(one, (counts.get(one) ?? 0) + 1);
  return counts;
}
