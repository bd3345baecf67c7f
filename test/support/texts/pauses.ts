import { type Pause, waysOut } from "../../../engine/core/pause.ts";

/** What makes a pause, and the pause that it makes. */
export interface PauseCase {
  /** A sentence without its full stop: what happens. */
  when: string;
  pause: () => PauseText | Promise<PauseText>;
}

/** A pause as far as its text goes; without a way out of its own it has that of its class. */
export type PauseText = Pick<Pause, "class" | "text"> & { way_out?: string | undefined };

export interface PauseSection {
  class: Pause["class"];
  cases: readonly PauseCase[];
}

/** A case with what was said. */
export interface ToldPause {
  when: string;
  text: string;
  way_out: string;
}

/** The pauses of the cases of a class. Throws an Error where one is of another class. */
export function pausesOf({ class: kind, cases }: PauseSection): Promise<ToldPause[]> {
  return Promise.all(
    cases.map(async ({ when, pause }) => {
      const made = await pause();
      if (made.class !== kind) throw new Error(`expected a pause of class ${kind} when ${when}, found ${made.class}`);
      return { when, text: made.text, way_out: made.way_out ?? waysOut[kind] };
    }),
  );
}
