import { expect, test } from "vitest";
import { EngineError } from "../../../engine/core/errors.ts";
import type { Journal } from "../../../engine/core/journal.ts";
import { JournalWriter, Pauses } from "../../../engine/delivery/pauses.ts";
import { storageError } from "../../../engine/state/storage-error.ts";
import type { Telemetry } from "../../../engine/telemetry/telemetry.ts";
import { RetryPause } from "../../../engine/flow/retry-pause.ts";

const failed = (code: string | number): Error => Object.assign(new Error("the call failed"), { code });

test.each([
  ["ENOSPC", "DISK_FULL", "make room"],
  ["EDQUOT", "DISK_FULL", "make room"],
  ["EMFILE", "STORAGE_UNAVAILABLE", "ulimit -n"],
  ["ENFILE", "STORAGE_UNAVAILABLE", "fs.file-max"],
  ["ENOMEM", "STORAGE_UNAVAILABLE", "memory"],
  ["EIO", "STORAGE_UNAVAILABLE", "its disk cannot be read or written"],
  ["EROFS", "STORAGE_UNAVAILABLE", "read-only"],
  ["EACCES", "STORAGE_UNAVAILABLE", "owner and mode"],
  // As LMDB gives them.
  [5, "STORAGE_UNAVAILABLE", "its disk cannot be read or written"],
  [28, "DISK_FULL", "make room"],
  [-30_796, "STORAGE_FAILED", "the call failed"],
  ["EISDIR", "STORAGE_FAILED", "the call failed"],
] as const)("the error %s of the system is %s", (code, expected, named) => {
  const error = storageError(failed(code));
  expect(error).toMatchObject({ code: expected, message: expect.stringContaining(named) });
  expect(error.policy).toBe(expected === "STORAGE_FAILED" ? "halt" : "retry");
  expect(storageError(error)).toBe(error);
});

test.each(["ENOSPC", "EACCES", "EISDIR"])("the error %s names what failed, if that is not the data dir", (code) => {
  const { message } = storageError(failed(code), "the file /var/log/app.log");
  expect(message).toContain("the file /var/log/app.log");
  expect(message).not.toContain("data dir");
});

/** Prepares a record by a journal that fails three times; told are the pauses. */
async function preparing(code: EngineError["code"], told: string[]): Promise<void> {
  const failures = [1, 2, 3].map(() => new EngineError(code, "for a while"));
  const telemetry = { paused: ({ pause }: { pause: { class: string } }) => told.push(pause.class) };
  const journal = {
    prepare: () => (failures.length > 0 ? Promise.reject(failures.pop()!) : Promise.resolve()),
  };
  const pause = new RetryPause("orders", telemetry as unknown as Telemetry, () => Promise.resolve());
  const never = new AbortController().signal;
  const writer = new JournalWriter(journal as unknown as Journal, new Pauses(pause, { leave: never, drain: never }));
  const record = { batch: 7 };
  expect(await writer.prepare(record as never)).toBe(record);
}

test.each([
  ["DISK_FULL", "disk"],
  ["STORAGE_UNAVAILABLE", "disk"],
  ["DEAD_LETTERS_FULL", "letters"],
] as const)("a journal that fails with %s is waited for, in a pause of the class %s", async (code, pause) => {
  const told: string[] = [];
  await preparing(code, told);
  expect(told).toEqual([pause]);
});

test("a journal whose failure does not pass is not waited for", async () => {
  const told: string[] = [];
  await expect(preparing("STORAGE_FAILED", told)).rejects.toMatchObject({ code: "STORAGE_FAILED" });
  expect(told).toEqual([]);
});
