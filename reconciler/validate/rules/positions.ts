import { found } from "../found.ts";
import type { Problem } from "../problem.ts";
import type { Rule, View } from "../view.ts";

/** Directives about where a Kafka source reads from. */
export const positionRules: readonly Rule[] = [withoutKafka, startTime];

function* withoutKafka(document: View): Iterable<Problem> {
  if (document.sources("kafka").length > 0 || document.sources().length === 0) return;
  for (const key of ["start", "take_over"]) {
    const directive = document.get("x-sluice", key);
    if (directive.exists)
      yield directive.problem("UNUSED", { expected: "a Kafka source, which alone has positions", found: "none" });
  }
}

/** The schema checks what a time looks like; the 31st of February looks like one. */
function* startTime(document: View): Iterable<Problem> {
  const start = document.get("x-sluice", "start");
  const text = start.text ?? "";
  const [, day] = /^(\d{4}-\d\d-\d\d)T/.exec(text) ?? [];
  if (day === undefined || (isDay(day) && !Number.isNaN(Date.parse(text)))) return;
  yield start.problem("VALUE", { expected: "a time that exists", found: found(start.value, start.path) });
}

function isDay(text: string): boolean {
  const time = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text);
}
