import { errorsBy, type SchemaError } from "./schema.ts";

/** A file of tests, as it is written (docs/pipeline-tests.md). */
export interface PipelineTests {
  pipeline_id?: string;
  now?: string;
  create?: string[];
  tests: PipelineTest[];
}

export interface PipelineTest {
  name: string;
  pipeline_id?: string;
  now?: string;
  create?: string[];
  events: GivenEvent[];
  expect?: Expectation;
}

/** One event, as `event` or as `text`. */
export interface GivenEvent {
  source?: string;
  after?: string;
  event?: Record<string, unknown>;
  text?: string;
}

/** Whole numbers beyond the safe range are bigints. */
export interface Expectation {
  rows?: Record<string, unknown>[];
  dead_letters?: Record<string, unknown>[];
  refused?: Record<string, unknown>[];
  filtered?: number | Record<string, unknown>[];
  deduplicated?: number | Record<string, unknown>[];
}

/** Every breach of the schema by a document; without one, it is a PipelineTests. */
export function testErrors(document: unknown): SchemaError[] {
  return errorsBy("pipeline-tests", document);
}
