import type { BatchRecord } from "../../../engine/core/journal.ts";
import type { Sink } from "../../../engine/core/sink.ts";
import { lossOf } from "../../../engine/delivery/recovery.ts";
import { uncertainText } from "../../../engine/delivery/sender.ts";
import { Target } from "../../../engine/delivery/target.ts";
import { EventList } from "../../../engine/event/event.ts";
import { overdueText } from "../../../engine/flow/retry-pause.ts";
import { fullPause } from "../../../engine/join/open-join.ts";
import { defaultDeadLetterLimits, type DeadLetterLimits } from "../../../engine/core/dead-letter.ts";
import { TargetPolicy, type TargetRules } from "../../../engine/peers/targets.ts";
import { DeadLetters } from "../../../engine/state/dead-letters.ts";
import { storageError } from "../../../engine/state/storage-error.ts";
import { RememberedKeys } from "../../../engine/transforms/dedup/remembered-keys.ts";
import { FileAndEnvSecrets } from "../../../reconciler/secrets/file-and-env.ts";
import { startPause } from "../../../engine/workers/runner.ts";
import { deathText, heldText, holdPause } from "../../../engine/workers/pool.ts";
import type { PauseCase, PauseSection, PauseText } from "./pauses.ts";

/** What the pauses of a batch wait for: the calls of its table by what they are named there. */
function overdue(when: string, ask: (target: Target) => Promise<unknown>): PauseCase {
  return {
    when,
    pause: async () => {
      let text = "";
      const pauses = {
        leave: new AbortController().signal,
        answerOf: (what: string) => {
          text = overdueText(what, "2026-05-31T12:00:00.000Z");
          return Promise.reject(new Error("no answer"));
        },
      };
      const target = new Target({
        pipeline_id: "orders",
        telemetry: { atLeastOnce: () => undefined },
        pauses,
        written: undefined,
      } as never);
      await ask(target).catch(() => undefined);
      return { class: "transient", text };
    },
  };
}

const silent = new Proxy({} as Sink, { get: () => () => Promise.resolve() });
const block = { events: new EventList(), body: Buffer.alloc(0), rejected: [] };

export const overdueCases: readonly PauseCase[] = [
  overdue("an insert has no answer for 10 s", (target) => target.insert(silent, block, "token", false)),
  overdue("the queries before inserts have no answer for 10 s", (target) => target.open(silent)),
  overdue("a query of the state of the table has no answer for 10 s", (target) => target.read(silent)),
  overdue("the search for bad rows has no answer for 10 s", (target) => target.probe(silent, block)),
  overdue("the search for any value that fits has no answer for 10 s", (target) => target.takesAny(silent)),
];

const refused = (when: string, rules: TargetRules, host: string): PauseCase => ({
  when,
  pause: () => startPause(new Error(thrownBy(() => new TargetPolicy(rules).check(host, 8123)))),
});

function thrownBy(work: () => void): string {
  try {
    work();
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error("expected an error");
}

/** A reference that cannot be resolved where only an empty variable is set. */
function secret(when: string, reference: string): PauseCase {
  return {
    when,
    pause: async () => {
      const resolved = new FileAndEnvSecrets({ SLUICE_SECRET_EMPTY: "" }).resolve(reference);
      const error = await resolved.then(
        () => undefined,
        (reason: unknown) => reason as Error,
      );
      if (error === undefined) throw new Error(`expected a reference that cannot be resolved, found ${reference}`);
      return startPause(error);
    },
  };
}

/** What keeps a pipeline from starting. */
export const startCases: readonly PauseCase[] = [
  secret("a variable with a secret is not set", "${env:SLUICE_SECRET_DB}"),
  secret("a variable with a secret is empty", "${env:SLUICE_SECRET_EMPTY}"),
  secret("a file with a secret is missing", "${file:/run/secrets/no-such-file}"),
  secret("a folder is named in place of a file with a secret", "${file:/}"),
  secret("the path of a file with a secret is not from the root", "${file:secrets/db}"),
  secret("a reference has no known form", "${vault:db}"),
  refused(
    "the operator lists targets, and this server is not among them",
    { allowed: ["db.example:8123"] },
    "10.0.0.7",
  ),
  refused("the target is link-local", {}, "169.254.169.254"),
  {
    when: "a name has a link-local address",
    pause: async () => {
      const found = [{ address: "169.254.169.254", family: 4 }];
      const resolve = (_host: string, _options: object, callback: (error: null, all: typeof found) => void): void =>
        callback(null, found);
      const lookup = new TargetPolicy({}, resolve as never).lookupFor(8123);
      const text = await new Promise<string>((told) => {
        lookup("clickhouse", {}, (error) => told(error?.message ?? ""));
      });
      return startPause(new Error(text));
    },
  },
  refused("what a cluster advertises is no host", {}, "kafka:9092:b"),
  refused("the operator denies private targets", { allowed: ["*"], deniesPrivate: true }, "10.0.0.7"),
];

const batch = { batch: 7, rows: 500 };

export const uncertain: PauseSection = {
  class: "uncertain",
  cases: [
    {
      when: "`on_uncertain: pause` is set, and an insert had no answer for so long that a repeat may not be recognised",
      pause: () => ({
        class: "uncertain",
        text: uncertainText({ ...batch, state: { kind: "uncertain" } } as never, { class: "uncertain", reading: {} }),
      }),
    },
    {
      when: "`on_uncertain: pause` is set, a view failed, and the server was started since",
      pause: () => ({
        class: "uncertain",
        text: uncertainText(
          {
            ...batch,
            state: { kind: "viewFailed", view: "default.orders_by_day", error: "CANNOT_PARSE_TEXT" },
          } as never,
          { class: "uncertain", reading: {} },
        ),
      }),
    },
  ],
};

const ofView = (when: string, state: object, reading: { forgetful?: string }): PauseCase => ({
  when,
  pause: () => ({
    class: "view",
    text: uncertainText({ ...batch, state: { kind: "viewFailed", ...state } } as never, { class: "view", reading }),
  }),
});

export const viewCases: readonly PauseCase[] = [
  ofView(
    "a view failed, and a table remembers no insert",
    { view: "default.orders_by_day", error: "CANNOT_PARSE_TEXT" },
    { forgetful: "default.by_day remembers no insert" },
  ),
  ofView(
    "a view failed so long ago that its batch is not sent again",
    { view: "default.orders_by_day", error: "CANNOT_PARSE_TEXT" },
    {},
  ),
  ofView("a view failed before an upgrade of Sluice, which did not note its name", {}, {}),
];

const record = {
  madeOf: { kind: "positions", ranges: [{ feed: "", first: 41, last: 90, count: 50, base: 0 }] },
} as unknown as BatchRecord;

export const lostCases: readonly PauseCase[] = [
  {
    when: "a file of a stream is gone that holds events of a pending batch",
    pause: () => lossOf(record, 50, {}),
  },
];

const [little, much] = [4096, Infinity];

function keysOf(limits: { storage: number; memory: number }): PauseText {
  const keys = new RememberedKeys(limits);
  for (let key = 1; key <= 1000; key += 1) keys.see(new Uint32Array([key, 2, 3, 4]), key, 1, 0, 3_600_000);
  return { class: "storage", text: keys.full()! };
}

export const storage: PauseSection = {
  class: "storage",
  cases: [
    { when: "the keys of dedup take all of `storage.size`", pause: () => keysOf({ storage: little, memory: much }) },
    { when: "the keys of dedup take all of `limits.memory`", pause: () => keysOf({ storage: much, memory: little }) },
    {
      when: "a join buffers as much as it may",
      pause: () => {
        const held = { events: 2_000_000, memory: 134_217_728, storage: 268_435_456 };
        return { class: "storage", ...fullPause(held, { memory: 134_217_728, storage: 1_073_741_824 }) };
      },
    },
  ],
};

const letters = (when: string, limits: Partial<DeadLetterLimits>, free = Infinity): PauseCase => ({
  when,
  pause: () => {
    const empty = { getRange: () => [], get: () => undefined };
    const store = { table: () => empty, freeBytes: () => free };
    const queue = new DeadLetters(store as never, () => new Set(), { ...defaultDeadLetterLimits, ...limits });
    return { class: "letters", text: thrownBy(() => queue.checkRoom("orders", { count: 1000, bytes: 500_000_000 })) };
  },
});

export const letterBounds: PauseSection = {
  class: "letters",
  cases: [
    letters("as many dead letters are held as may be", { maxCount: 1000 }),
    letters("they take as many bytes as they may", { maxBytes: 500_000_000 }),
    letters("they take half of what is free on a disk that fills up", {}, 40_000_000),
  ],
};

const disk = (code: string, message: string): PauseCase => ({
  when: `the system answers ${code}`,
  pause: () => {
    const error = storageError(Object.assign(new Error(`${code}: ${message}`), { code }));
    if (error.code === "STORAGE_FAILED") throw new Error(`expected an error that passes, found ${error.message}`);
    return { class: "disk", text: error.message };
  },
});

export const disks: PauseSection = {
  class: "disk",
  cases: [
    disk("ENOSPC", "no space left on device, write"),
    disk("EMFILE", "too many open files, open 'streams/orders/1.segment'"),
    disk("ENFILE", "file table overflow, open 'streams/orders/1.segment'"),
    disk("ENOMEM", "not enough memory, mmap"),
    disk("EAGAIN", "resource temporarily unavailable, open"),
    disk("EBUSY", "resource busy or locked, rename"),
    disk("EIO", "i/o error, fsync"),
    disk("ESTALE", "stale file handle, open"),
    disk("EROFS", "read-only file system, open 'streams/orders/2.segment'"),
    disk("EACCES", "permission denied, open 'streams/orders/2.segment'"),
  ],
};

export const threads: PauseSection = {
  class: "thread",
  cases: [
    {
      when: "an event takes more memory than the thread has",
      pause: () => ({
        class: "thread",
        text: deathText("Worker terminated due to reaching memory limit: JS heap out of memory"),
      }),
    },
    {
      when: "the thread died of another pipeline",
      pause: () => ({
        class: "thread",
        text: deathText("Worker terminated due to reaching memory limit: JS heap out of memory", ["clicks"]),
      }),
    },
    { when: "it keeps its thread from other pipelines, and gets one of its own", pause: () => holdPause },
    {
      when: "another pipeline kept the thread for so long that it lost it",
      pause: () => ({ class: "thread", text: deathText(heldText("clicks"), ["clicks"]) }),
    },
  ],
};
