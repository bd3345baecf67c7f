import { load } from "../desired/load.ts";
import type { DesiredPipeline } from "../desired/desired-state.ts";
import type { SourceFile } from "../language/source-text.ts";
import type { Variables } from "../language/variables.ts";
import { textLine } from "../validate/formats/text.ts";
import { type NamedTest, readTests } from "./read-tests.ts";

/** A file of tests, and the file beside it with the pipelines that they test. */
export interface TestedFiles {
  tests: SourceFile;
  pipelines: SourceFile;
}

/** A test with its pipeline, or with the reason why there is none. */
export interface TestCase {
  test: NamedTest;
  pipeline: DesiredPipeline | { failure: string };
}

/** The tests of a file whose name holds a text. A file that is no file of tests is one that is broken. */
export function casesOf({ tests, pipelines }: TestedFiles, variables: Variables, named = ""): TestCase[] {
  const read = readTests(tests);
  if ("problems" in read) {
    const { problems } = read;
    const test = { name: "the file of tests", file: tests.path, line: problems[0]!.line, index: 0, events: [] };
    return [{ test, pipeline: { failure: problems.map(textLine).join("\n") } }];
  }
  const wanted = read.tests.filter(({ name }) => name.includes(named));
  const choose = pipelineIn(pipelines, variables);
  return wanted.map((test) => ({ test, pipeline: choose(test.pipeline_id) }));
}

/** The pipeline of a file by its id, or the only one. */
export function pipelineIn(
  file: SourceFile,
  variables: Variables,
): (pipeline_id: string | undefined) => DesiredPipeline | { failure: string } {
  const { pipelines, problems } = load([file], variables);
  const errors = problems.filter(({ severity }) => severity === "error").map(textLine);
  const ids = pipelines.map((one) => one.pipeline_id);
  return (pipeline_id) => {
    const found = pipelines.find((one) => one.pipeline_id === pipeline_id);
    const [only] = pipeline_id === undefined && pipelines.length === 1 && errors.length === 0 ? pipelines : [found];
    if (only !== undefined) return only;
    if (errors.length > 0) return { failure: errors.join("\n") };
    const expected = `expected the pipeline_id of a pipeline in ${file.path} (${ids.join(", ")})`;
    return { failure: `${expected}, found ${pipeline_id ?? "none"}` };
  };
}
