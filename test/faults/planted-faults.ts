/** One place of a source file that is changed: `find` stands there once. */
export interface Edit {
  file: string;
  find: string;
  replace: string;
}

/** A fault that somebody could make, each against a rule of the delivery protocol. */
export interface PlantedFault {
  name: string;
  edits: readonly Edit[];
}

export const plantedFaults: readonly PlantedFault[] = [
  {
    name: "commit before the answer",
    edits: [
      {
        file: "engine/delivery/protocol.ts",
        find: `event.answer.kind === "ok" ?`,
        replace: `event.answer.kind !== "refused" ?`,
      },
    ],
  },
  {
    name: "fresh token at resend",
    edits: [
      {
        file: "engine/delivery/sender.ts",
        find: `target.insert(this.#sink, this.#block, this.#record.token, ignoreViews)`,
        replace:
          "target.insert(this.#sink, this.#block, this.#sending.failures === 0 ? this.#record.token : `${this.#record.token}-${this.#sending.failures}`, ignoreViews)",
      },
    ],
  },
  {
    name: "keys not released on exclusion",
    edits: [
      {
        file: "engine/state/journal.ts",
        find: `finishInWrite(pipeline_id, batch, new Set(deadPositions(record)))`,
        replace: `finishInWrite(pipeline_id, batch, new Set(deadPositions({ excluded: [], rejections: [] } as never)))`,
      },
      {
        file: "engine/transforms/dedup/remembered-keys.ts",
        find: `new Set(reserving.length === 0 ? [] : deadPositions(record))`,
        replace: `new Set(reserving.length === 0 ? [] : deadPositions({ ...record, excluded: [], rejections: [] }))`,
      },
    ],
  },
  {
    name: "waiting drops dropped",
    edits: [
      {
        file: "engine/delivery/released-duplicates.ts",
        find: `if (record.waiting.length === 0) return undefined;`,
        replace: `if (record.waiting.length >= 0) return undefined;`,
      },
    ],
  },
  {
    name: "offsets before the journal",
    edits: [
      {
        file: "engine/delivery/pipeline.ts",
        find: `    await this.#journal.commit(record, released?.record);`,
        replace: `    if (holdsPositions(record)) source.acknowledge(rangesOf(record));
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    await this.#journal.commit(record, released?.record);`,
      },
      {
        file: "engine/delivery/pipeline.ts",
        find: `    this.#inFlight.committed(record);
    if (holdsPositions(record)) source.acknowledge(rangesOf(record));`,
        replace: `    this.#inFlight.committed(record);`,
      },
    ],
  },
  {
    name: "what was answered forgotten at a start",
    edits: [
      {
        file: "engine/streams/embedded/embedded-stream.ts",
        find: `answered: Number(answered.found),`,
        replace: `answered: 0,`,
      },
    ],
  },
  {
    name: "torn tail not cut",
    edits: [
      {
        file: "engine/streams/embedded/segment-file.ts",
        find: `if (size > segment.end) await file.truncate(segment.end);`,
        replace: `if (size < 0) await file.truncate(segment.end);`,
      },
      {
        file: "engine/streams/embedded/segment-file.ts",
        find: `    await this.#file.truncate(this.segment.end);`,
        replace: ``,
      },
    ],
  },
  {
    name: "trim past a pending batch",
    edits: [
      {
        file: "engine/state/journal.ts",
        find: `return Math.min(this.#streamPosition(pipeline_id), ...named.map(({ first }) => first - 1));`,
        replace: `return Math.max(this.#streamPosition(pipeline_id), ...named.map(({ last }) => last));`,
      },
    ],
  },
  {
    name: "fdatasync left out of an append",
    edits: [
      {
        file: "engine/streams/embedded/segment-file.ts",
        find: `    await this.#sync("datasync");`,
        replace: ``,
      },
    ],
  },
  {
    name: "replay by today's clock",
    edits: [
      {
        file: "engine/batch/reader.ts",
        find: `const builder = this.#begin(compiled, { clock, batch, oldest, ranges, ...plan });`,
        replace: `const builder = this.#begin(compiled, { clock: this.#parts.clock.now(), batch, oldest, ranges, ...plan });`,
      },
    ],
  },
  {
    name: "exclusions not synced before a resend",
    edits: [
      {
        file: "engine/delivery/sender.ts",
        find: `    await this.#amend({
      rows: this.#record.rows - rows.length,
      excluded: [...excluded, ...letters.map(({ position }) => position)],
      rejections: [...rejections, ...letters],
      state: this.#sending.state,
    });`,
        replace: `    this.#record = {
      ...this.#record,
      rows: this.#record.rows - rows.length,
      excluded: [...excluded, ...letters.map(({ position }) => position)],
      rejections: [...rejections, ...letters],
      state: this.#sending.state,
    };`,
      },
    ],
  },
  {
    name: "keys not released of events that are gone",
    edits: [
      {
        file: "engine/delivery/recovery.ts",
        find: `if (gone.length === 0) return record;`,
        replace: `if (gone.length >= 0) return record;`,
      },
    ],
  },
  {
    name: "a folder not synced",
    edits: [
      {
        file: "engine/streams/embedded/segment-file.ts",
        find: `      await disk.syncFolder(folderPath);`,
        replace: ``,
      },
    ],
  },
  {
    name: "a second owner",
    edits: [
      {
        file: "engine/workers/supervisor.ts",
        find: `    this.#placement?.abort();
    await this.#placement?.left;`,
        replace: ``,
      },
      {
        file: "engine/workers/supervisor.ts",
        find: `const left = await this.#placement.left;`,
        replace: `const { signal } = this.#round;
    const anew = new Promise<Left>((resolve) => signal.addEventListener("abort", () => resolve({ kind: "ended" } as Left)));
    const left = await Promise.race([this.#placement.left, anew]);`,
      },
      {
        file: "engine/workers/pool.ts",
        find: `if (this.#places.has(pipeline_id)) {`,
        replace: `if (this.#isClosed) {`,
      },
    ],
  },
  {
    name: "an error after the only part called a refusal",
    edits: [
      {
        file: "engine/sinks/clickhouse/transport/failures.ts",
        find: `return failure.row !== undefined && target.isOneBlock;`,
        replace: `return failure.row !== undefined || target.views.length === 0;`,
      },
    ],
  },
  {
    name: "an owner check that is open while it asks",
    edits: [
      {
        file: "engine/sources/kafka/group/owner-check.ts",
        find: `      await this.#check();
      this.#confirmed = asked;`,
        replace: `      this.#confirmed = asked;
      await this.#check();`,
      },
    ],
  },
  {
    name: "a claim after reading",
    edits: [
      {
        file: "engine/sources/kafka/group/membership.ts",
        find: `    await this.commit(placed);`,
        replace: `    this.#hold(new Set(placed.keys()));
    await this.commit(placed);`,
      },
    ],
  },
  {
    name: "members that cannot be read taken for none",
    edits: [
      {
        file: "engine/sources/kafka/group/group.ts",
        find: `return found.isAbsent === true && committed.length === 0 ? [] : undefined;`,
        replace: `return [];`,
      },
    ],
  },
  {
    name: "a log taken for the one that was read",
    edits: [
      {
        file: "engine/sources/kafka/brokers/divergences.ts",
        find: `else if (end.epoch < epoch || end.end < next)`,
        replace: `else if (end.end < 0)`,
      },
    ],
  },
  {
    name: "a partition without a leader that all others wait for",
    edits: [
      {
        file: "engine/sources/kafka/group/group.ts",
        find: `partitions.every(({ missing }) => missing !== undefined)`,
        replace: `partitions.some(({ missing }) => missing !== undefined)`,
      },
    ],
  },
];
