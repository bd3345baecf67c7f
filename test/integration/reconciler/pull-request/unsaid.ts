import type { TestEngine } from "../../../support/engine.ts";
import { lettersOf, type Passage, type Range, rowsOf, sum, takesEvents } from "./expected.ts";
import type { Flow, SentEvent } from "./flow.ts";

/** Events of which there are more or fewer rows than the plan lets expect. */
export function eventsUnsaid(
  sent: readonly SentEvent[],
  passages: readonly Passage[],
  counts: ReadonlyMap<number, number>,
): string[] {
  const isDoubled = passages.some(({ before, after }) =>
    [before, after].some((one) => one?.config.transforms.some(({ type }) => type === "stateless")),
  );
  const expected = new Map<SentEvent["id"], { range: Range; event: SentEvent }>();
  for (const event of sent) {
    const range = sum(
      [expected.get(event.id)?.range, ...passages.map((one) => rowsOf(one, event))].flatMap((one) => one ?? []),
    );
    expected.set(event.id, { range, event });
  }
  return [...expected].flatMap(([id, { range, event }]) => {
    const found = (counts.get(id) ?? 0) + (isDoubled ? (counts.get(2 * id) ?? 0) : 0);
    if (found >= range.least && found <= range.most) return [];
    return [
      `event ${id}, sent ${event.phase} the merge to ${event.inlet.name}: ${range.least} to ${range.most} rows, found ${found}`,
    ];
  });
}

/** Pipelines that have more or fewer dead letters than the plan lets expect. */
export function lettersUnsaid(
  sent: readonly SentEvent[],
  passages: readonly Passage[],
  { engine }: TestEngine,
): string[] {
  return passages.flatMap((passage) => {
    if (passage.after === undefined || passage.change?.kind === "recreate") return [];
    const { pipeline_id } = passage.after;
    const { least, most } = sum(sent.map((event) => lettersOf(passage, event)));
    const found = engine.deadLetters(pipeline_id).state().total_messages;
    return found >= least && found <= most ? [] : [`${pipeline_id}: ${least} to ${most} dead letters, found ${found}`];
  });
}

/** Senders are refused, and need other tokens, where the plan says so, and nowhere else. */
export function refusalsUnsaid({ refused, newTokens }: Flow, passages: readonly Passage[]): string[] {
  return passages.flatMap(({ id, before, after, change }) => {
    const wasOpen = takesEvents(before);
    const codes = [...(change?.costs ?? []), ...(change?.losses ?? [])].map(({ code }) => code);
    const needsToken = after !== undefined && codes.includes("AccessToken");
    const found = refused.filter((one) => one.pipeline_id === id && !(needsToken && one.status === 401));
    const isSaid = codes.includes("SendersRefused") || change?.kind === "recreate" || !wasOpen;
    const isRefused = found.some(({ phase }) => phase === "after");
    const mustBe = codes.includes("SendersRefused");
    return [
      ...(found.length > 0 && !isSaid ? [`${id}: senders met ${found[0]!.status}, which was not said`] : []),
      ...(mustBe && !isRefused ? [`${id}: senders were to be refused, and were not`] : []),
      ...(newTokens.has(id) && !needsToken ? [`${id}: another token was needed`] : []),
    ];
  });
}
