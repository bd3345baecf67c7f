import { counted } from "../plan/render/words.ts";

/** What becomes of the events of the tests beside a pipeline, before and after its change. */
export interface TestedEvents {
  tests: number;
  events: number;
  /** Events with another outcome. */
  changed: number;
  /** Events that became rows before, that become rows after, and that a filter drops after. */
  written_before: number;
  written_after: number;
  filtered_after: number;
}

/** Such as `3 of 12 events in 2 tests have another outcome: 8 became rows, and 5 do`. */
export function testsText(tested: TestedEvents): string {
  const { tests, events, changed, written_before, written_after, filtered_after } = tested;
  const of = `${changed === 0 ? "none" : changed} of ${counted(events, "event")} in ${counted(tests, "test")}`;
  const said = `${of} ${changed === 1 || changed === 0 ? "has" : "have"} another outcome`;
  if (isEmptied(tested)) {
    const filter = filtered_after === 0 ? "" : `, and the filter drops ${filtered_after}`;
    return `${said}: ${written_before} became rows, and none does any more${filter}`;
  }
  return written_before === written_after
    ? said
    : `${said}: ${written_before === 0 ? "none" : written_before} became ${written_before === 1 ? "a row" : "rows"}, and ${written_after} ${written_after === 1 ? "does" : "do"}`;
}

/** Whether no event becomes a row any more. */
export function isEmptied({ written_before, written_after }: TestedEvents): boolean {
  return written_before > 0 && written_after === 0;
}
