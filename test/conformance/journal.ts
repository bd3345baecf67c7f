import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { DeadLetterQueue, Rejection } from "../../engine/core/dead-letter.ts";
import type { BatchRecord, Journal } from "../../engine/core/journal.ts";

export interface JournalUnderTest {
  journal: Journal;
  letters(pipeline_id: string): DeadLetterQueue;
  close(): Promise<void>;
}

export function record(batch: number, over: Partial<BatchRecord> = {}): BatchRecord {
  const first = batch * 10;
  return {
    batch,
    pipeline_id: "orders",
    range: { first, last: first + 9, count: 10 },
    revision: 1,
    token: `token-${batch}`,
    clock: 0,
    rows: 10,
    rejections: [],
    excluded: [],
    heard: "nothing",
    ...over,
  };
}

export function rejection(position: number): Rejection {
  return { component: "sink", reason: "schema_mismatch", error: "field a", original_message: "{}", position };
}

/** What every journal does. `open` opens the same journal each time it is called. */
export function journalSuite(
  name: string,
  make: () => Promise<{ open(): JournalUnderTest; clean(): Promise<void> }>,
): void {
  describe(name, () => {
    let made: Awaited<ReturnType<typeof make>>;
    let opened: JournalUnderTest;

    beforeEach(async () => {
      made = await make();
      opened = made.open();
    });

    afterEach(async () => {
      await opened.close();
      await made.clean();
    });

    const reopen = async (): Promise<void> => {
      await opened.close();
      opened = made.open();
    };

    test("a prepared batch is pending, also after the journal is opened again, word for word", async () => {
      const prepared = record(1, { rejections: [rejection(12)], excluded: [13], heard: "refused" });
      await opened.journal.prepare(prepared);
      await reopen();
      expect(opened.journal.pending("orders")).toEqual([prepared]);
      expect(opened.journal.progress("orders").position).toBe(0);
    });

    test("pending batches come in the order of their numbers, each pipeline its own", async () => {
      await Promise.all(
        [record(2), record(10), record(1), record(3, { pipeline_id: "other" })].map((r) => opened.journal.prepare(r)),
      );
      expect(opened.journal.pending("orders").map(({ batch }) => batch)).toEqual([1, 2, 10]);
    });

    test("preparing the same batch again replaces it", async () => {
      await opened.journal.prepare(record(1));
      await opened.journal.prepare(record(1, { token: "other" }));
      expect(opened.journal.pending("orders")).toMatchObject([{ token: "other" }]);
    });

    test("a commit makes positions final and letters visible, and takes the record out, at once", async () => {
      await opened.journal.prepare(record(1, { rejections: [rejection(12), rejection(14)] }));
      expect(opened.letters("orders").state().total_messages).toBe(0);
      await opened.journal.commit(record(1, { rejections: [rejection(12), rejection(14)] }));
      await reopen();
      expect(opened.journal.pending("orders")).toEqual([]);
      expect(opened.journal.progress("orders").position).toBe(19);
      const { messages } = opened.letters("orders").list(10);
      expect(messages.map(({ message_id, position }) => [message_id, position])).toEqual([
        ["1", 12],
        ["2", 14],
      ]);
    });

    test("a commit that is said twice changes nothing", async () => {
      const letters = record(1, { rejections: [rejection(12)] });
      await opened.journal.prepare(letters);
      await opened.journal.commit(letters);
      await opened.journal.commit(letters);
      expect(opened.letters("orders").state().total_messages).toBe(1);
    });

    test("dead letters are listed in pages, oldest first, and listing takes nothing out", async () => {
      const five = [1, 2, 3, 4, 5].map(rejection);
      await opened.journal.commit(record(1, { rejections: five }));
      const queue = opened.letters("orders");
      const first = queue.list(2);
      expect(first).toMatchObject({ next_cursor: "2", has_more: true });
      const second = queue.list(2, first.next_cursor);
      expect(second.messages.map(({ message_id }) => message_id)).toEqual(["3", "4"]);
      expect(queue.list(2, second.next_cursor)).toMatchObject({ has_more: false });
      expect(queue.state().unconsumed_messages).toBe(5);
    });
  });
}
