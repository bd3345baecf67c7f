import type { BatchRecord, SourceNotes } from "../../../core/journal.ts";
import type { SourceJournal } from "../../../core/source.ts";
import { Mutex } from "../../../flow/mutex.ts";

/**
 * The journal of one pipeline for several readers, of which each knows only its own topics: what one notes leaves the notes
 * of the others as they are, and a batch that one has given up is pending for none.
 */
export class SharedJournal {
  readonly #journal: SourceJournal;
  /** What the journal has. */
  #notes: SourceNotes;
  readonly #places = new Mutex();
  readonly #givenUp = new Set<number>();

  constructor(journal: SourceJournal, pipeline_id: string) {
    this.#journal = journal;
    this.#notes = journal.progress(pipeline_id).notes ?? {};
  }

  /** The journal as one of the readers sees it. */
  reader(): SourceJournal {
    let known = this.#notes;
    return {
      pending: (pipeline_id) => this.#journal.pending(pipeline_id).filter(({ batch }) => !this.#givenUp.has(batch)),
      // The values of its own notes stay the same objects: `mergedNotes` tells by them what has changed.
      progress: (pipeline_id) => ({ ...this.#journal.progress(pipeline_id), notes: known }),
      giveUp: (record) => this.#giveUp(record),
      // One after the other: a write that fails has changed nothing, also for the one after it.
      place: (pipeline_id, positions, { notes, ...options } = {}) =>
        this.#places.run(async () => {
          if (notes === undefined) return this.#journal.place(pipeline_id, positions, options);
          const all = mergedNotes(this.#notes, known, notes);
          await this.#journal.place(pipeline_id, positions, { ...options, notes: all });
          [this.#notes, known] = [all, notes];
        }),
    };
  }

  async #giveUp(record: BatchRecord): Promise<void> {
    await this.#journal.giveUp(record);
    this.#givenUp.add(record.batch);
  }
}

/** `present` with the changes from `before` to `after`. */
function mergedNotes(present: SourceNotes, before: SourceNotes, after: SourceNotes): SourceNotes {
  return {
    topicIds: merged(present.topicIds, before.topicIds, after.topicIds),
    cutLogs: merged(present.cutLogs, before.cutLogs, after.cutLogs),
    starts: merged(present.starts, before.starts, after.starts),
    rewound: merged(present.rewound, before.rewound, after.rewound),
  };
}

function merged<Value>(
  present: Readonly<Record<string, Value>> = {},
  before: Readonly<Record<string, Value>> = {},
  after: Readonly<Record<string, Value>> = {},
): Record<string, Value> {
  const result = { ...present };
  for (const key of Object.keys(before)) if (!(key in after)) delete result[key];
  // A reader makes a new value where it changes one.
  for (const [key, value] of Object.entries(after)) if (before[key] !== value) result[key] = value;
  return result;
}
