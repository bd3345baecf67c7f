import type { Passage } from "./expected.ts";
import type { Inlet, SentEvent } from "./flow.ts";

/** How often each id stands in the tables. */
type Counts = ReadonlyMap<number, number>;

/**
 * Inlets of which other events become rows than before the merge, or more or fewer rows, although the plan says that what
 * becomes of them stays the same. It is counted, whatever the files say.
 */
export function fatesUnsaid(
  sent: readonly SentEvent[],
  passages: readonly Passage[],
  [before, after]: [Counts, Counts],
): string[] {
  const inlets = [...new Set(sent.map(({ inlet }) => inlet))];
  return inlets.flatMap((inlet) => {
    const readers = passages.filter((passage) => reads(passage, inlet));
    if (!readers.every(isSaidToBeTheSame)) return [];
    return (["error", "x"] as const).flatMap((level) => {
      const of = (phase: SentEvent["phase"]): SentEvent[] =>
        sent.filter((one) => one.inlet === inlet && one.level === level && one.phase === phase && !one.isRepeated);
      const [early, late] = [rate(of("before"), before), rate(of("after"), after)];
      if (early === undefined || late === undefined || early === late) return [];
      return [
        `${inlet.name}: ${early} rows of an event with ${level} before the merge, ${late} after it, which was not said`,
      ];
    });
  });
}

function reads({ id, before, after }: Passage, { kind, name }: Inlet): boolean {
  if (kind === "webhook") return id === name;
  return [before, after].some((one) => one?.config.sources.some((of) => of.type === "kafka" && of.topic === name));
}

function isSaidToBeTheSame({ before, after, change }: Passage): boolean {
  if (before?.directives.state !== "Running" || after?.directives.state !== "Running") return false;
  return change === undefined || (change.events === "same" && change.level !== "delete");
}

/** Rows of an event; undefined where none was sent. */
function rate(events: readonly SentEvent[], counts: Counts): number | undefined {
  if (events.length === 0) return undefined;
  return events.reduce((sum, { id }) => sum + (counts.get(id) ?? 0), 0) / events.length;
}
