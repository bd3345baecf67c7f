import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { open } from "lmdb";
import { DeadLetters } from "../../engine/state/dead-letters.ts";
import { StoreJournal } from "../../engine/state/journal.ts";
import { Store } from "../../engine/state/store.ts";
import { journalSuite } from "./journal.ts";

journalSuite("journal in the store", async () => {
  const folder = await mkdtemp(join(tmpdir(), "sluice-journal-"));
  return {
    open: () => {
      const store = Store.open(folder);
      const letters: DeadLetters = new DeadLetters(store, (id) => journal.heldLetters(id));
      const journal: StoreJournal = new StoreJournal(store, letters);
      return {
        journal,
        letters: (pipeline_id) => letters.queue(pipeline_id),
        bytes: () => usedBytes(join(folder, "state.mdb")),
        close: () => store.close(),
      };
    },
    clean: () => rm(folder, { recursive: true, force: true }),
  };
});

/** Of the pages that were ever used: behind them comes the reserve. */
async function usedBytes(path: string): Promise<number> {
  const store = open({ path, noSubdir: true, maxDbs: 32, readOnly: true });
  const { lastPageNumber } = store.getStats() as { lastPageNumber: number };
  await store.close();
  return (lastPageNumber + 1) * 4096;
}
