import { randomUUID } from "node:crypto";
import { type DeadLetter, type LetterEvent, type Selection, tooLarge } from "../core/dead-letter.ts";
import { EngineError } from "../core/errors.ts";
import { originOfFeed } from "../sources/registry.ts";
import { numberOf, type DeadLetters } from "../state/dead-letters.ts";

/** The answer to a reprocess. */
export interface Reprocessed {
  request_id: string;
  /** `partial`: some ids name no letter, one that is being reprocessed already, or one without all of its event. */
  status: "accepted" | "partial";
  /** Letters whose batches are prepared. They leave the queue when their events are settled. */
  accepted_count: number;
  unknown: string[];
}

/** Limits of a batch of letters. */
const batchLetters = 1_000;
const batchBytes = 16 * 1024 * 1024;

/** The event of a letter, as the source received it. */
export function letterEvent(letter: DeadLetter): LetterEvent {
  const { source_message, original_message, encoding, feed } = letter;
  // Earlier versions stored the feed only.
  const origin = letter.origin ?? (feed === undefined ? undefined : originOfFeed(feed));
  const from = {
    ...(origin === undefined ? {} : { origin }),
    ...(encoding === undefined || source_message !== undefined ? {} : { encoding }),
  };
  return { number: numberOf(letter), text: source_message ?? original_message, ...from };
}

/**
 * Sends dead letters through their pipeline again, in batches of their own. A letter is locked in the queue when it is
 * selected: in memory until its batch is prepared, then by the record of the batch, also after a crash. It leaves the
 * queue in the write that settles its event: as a row, as a new letter, or dropped by a filter.
 */
export async function reprocess(
  pipeline_id: string,
  selection: Selection,
  letters: DeadLetters,
  send: (batch: LetterEvent[]) => Promise<void>,
): Promise<Reprocessed> {
  const selected = letters.select(pipeline_id, selection, ({ reason }) => reason !== tooLarge);
  const release = letters.hold(pipeline_id, selected.letters.map(numberOf));
  let accepted_count = 0;
  try {
    for (const batch of batchesOf(selected.letters.map(letterEvent))) {
      await send(batch);
      accepted_count += batch.length;
    }
  } catch (error) {
    const rest = accepted_count === 0 ? "no letter" : `only the first ${accepted_count} letters`;
    throw new EngineError("REPROCESS_FAILED", `${rest} could be sent again: ${(error as Error).message}`, {
      cause: error,
    });
  } finally {
    release();
  }
  const { unknown } = selected;
  const status = unknown.length === 0 ? "accepted" : "partial";
  return { request_id: `dlq-reprocess-${randomUUID()}`, status, accepted_count, unknown };
}

function* batchesOf(letters: readonly LetterEvent[]): Generator<LetterEvent[]> {
  let batch: LetterEvent[] = [];
  let bytes = 0;
  for (const letter of letters) {
    if (batch.length === batchLetters || (batch.length > 0 && bytes + letter.text.length > batchBytes)) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(letter);
    bytes += letter.text.length;
  }
  if (batch.length > 0) yield batch;
}
