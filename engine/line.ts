import type { Event } from "./core/batch.ts";
import type { Sink } from "./core/sink.ts";
import type { Transform } from "./core/transform.ts";

/** The steps that the events of one source go through, in their order. */
export interface Course {
  /** What drops and refuses events. */
  transforms: readonly Transform[];
  /** What makes others of those that are left. */
  stateless?: Transform;
}

/** The steps of one revision of a pipeline, and the sink behind them. */
export interface Line {
  revision: number;
  /** By the origin of events; `undefined` is for those of any other. */
  courses: ReadonlyMap<string | undefined, Course>;
  sink: Sink;
}

/** The steps of an event. */
export function courseOf({ courses }: Pick<Line, "courses">, { origin }: Event): Course {
  const course = courses.get(origin) ?? courses.get(undefined);
  if (course === undefined) throw new Error("expected a line with a course for events of any origin");
  return course;
}
