import { link, mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { systemDisk } from "../../engine/system/disk.ts";
import { LogFiles, readAll } from "../../engine/join/log-files.ts";
import { type LoadedPart, readParts, readSegments } from "../../engine/join/log-reading.ts";
import { entryPrefix } from "../../engine/join/part.ts";
import { RecordedJoin, type RecordedStep } from "../support/model/recorded-join.ts";

/** How often the files of the log are looked for: each lives for seconds. */
const lookEvery = 100;

interface Windows {
  left: number;
  right: number;
}

interface Keys {
  left: readonly number[];
  right: readonly number[];
}

/** The rows of all steps, what the model does not allow of them, and the left events that never came into the join. */
export interface RecordedRows extends Pick<RecordedJoin, "rows" | "problems"> {
  missing: number[];
}

/** What the events of a join of many look like: see `KafkaMix`. */
type Left = { id: number; n: number };
type Right = { number: number; note: number };

/**
 * All steps that the join of a pipeline ever made. Its log removes files of which nothing counts any more: they stay here
 * under names of their own.
 */
export class JoinRecording {
  readonly #from: string;
  readonly #to: string;
  readonly #timer: NodeJS.Timeout;
  #looking: Promise<void> = Promise.resolve();

  private constructor(from: string, to: string) {
    this.#from = from;
    this.#to = to;
    this.#timer = setInterval(() => void this.#look(), lookEvery);
  }

  /** Begins to record the log in the folder `from`. `to` must be on the same file system. */
  static async begin(from: string, to: string): Promise<JoinRecording> {
    await mkdir(to, { recursive: true });
    return new JoinRecording(from, to);
  }

  end(): void {
    clearInterval(this.#timer);
  }

  /** Holds what was recorded against the model. The join must be at rest. `keys`: of the left and right events, by their ids. */
  async read(windows: Windows, keys: Keys): Promise<RecordedRows> {
    await this.#look();
    const recorded = new RecordedJoin(windows);
    const files = new LogFiles(systemDisk, this.#to);
    const segments = await readSegments(files);
    for (const [index, { number }] of segments.entries()) {
      if (number !== index + 1) recorded.problems.push(`file ${index + 1} of the log was not recorded`);
      const { parts } = await readParts(files, number, index === segments.length - 1);
      let step: RecordedStep = noStep();
      for (const part of parts) {
        if (part.head.isMoved) continue;
        step.clock = part.head.clock;
        await addPart(files, part, step, keys);
        if (!part.head.isLast) continue;
        recorded.step(step);
        step = noStep();
      }
    }
    await files.close();
    const missing = [...keys.left.keys()].filter((id) => !recorded.hasLeft(id));
    return { rows: recorded.rows, problems: recorded.problems, missing };
  }

  #look(): Promise<void> {
    return (this.#looking = this.#looking.then(() => this.#keep()));
  }

  async #keep(): Promise<void> {
    const names = await readdir(this.#from).catch((): string[] => []);
    for (const name of names.filter((of) => of.endsWith(".join"))) {
      await link(join(this.#from, name), join(this.#to, name)).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== "EEXIST" && error.code !== "ENOENT") throw error;
      });
    }
  }
}

function noStep(): RecordedStep {
  return { clock: 0, rows: [], lefts: [], rights: [] };
}

async function addPart(
  files: LogFiles,
  { head, offset, number }: LoadedPart,
  step: RecordedStep,
  keys: Keys,
): Promise<void> {
  const data = Buffer.allocUnsafe(head.dataLength);
  await files.use(number, (file) => readAll(file, data, offset + head.headLength));
  let from = 0;
  for (const end of head.rowEnds) {
    const { id, n } = JSON.parse(data.toString("utf8", from, end)) as Left;
    step.rows.push({ left: { key: keys.left[id]!, value: id }, right: { key: keys.right[n]!, value: n } });
    from = end;
  }
  let at = head.rowBytes;
  const entry = { side: "left" as "left" | "right", print: new Uint32Array(4), id: 0, time: 0, length: 0 };
  for (let index = 0; index < head.entries.count; index += 1) {
    head.entries.read(index, entry);
    const text = data.toString("utf8", at + entryPrefix, at + entryPrefix + entry.length);
    at += entryPrefix + entry.length;
    const event = JSON.parse(text) as Left & Right;
    if (entry.side === "left") step.lefts.push({ key: event.n, value: event.id });
    else step.rights.push({ key: event.number, value: event.note });
  }
}
