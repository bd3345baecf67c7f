import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { DeadLetters } from "../../engine/state/dead-letters.ts";
import { StoreJournal } from "../../engine/state/journal.ts";
import { Store } from "../../engine/state/store.ts";
import { memoryRoot } from "./memory-folder.ts";

/** A journal and its dead letters in a store of their own, in memory where there is such a folder. */
export interface TestJournal {
  letters: DeadLetters;
  journal: StoreJournal;
  /** Removes all of it. */
  close: () => Promise<void>;
}

export async function openJournal(): Promise<TestJournal> {
  const folder = await mkdtemp(join(memoryRoot(), "sluice-journal-"));
  const store = Store.open(folder);
  const letters: DeadLetters = new DeadLetters(store, (id) => journal.heldLetters(id));
  const journal = new StoreJournal(store, letters);
  const close = async (): Promise<void> => {
    await store.close();
    await rm(folder, { recursive: true, force: true });
  };
  return { letters, journal, close };
}
