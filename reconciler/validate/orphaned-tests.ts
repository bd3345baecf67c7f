import { problem, type Problem } from "../language/problem.ts";

const testName = /\.test\.(ya?ml|json)$/i;

/** Whether a file holds tests of a pipeline, by its name: `orders.test.yaml` those of `orders.yaml`. */
export function isTestFile(path: string): boolean {
  return testName.test(path);
}

/** The files, one of which has the pipeline of these tests. */
export function pipelinesOfTest(path: string): string[] {
  const name = path.replace(testName, "");
  return ["yaml", "yml", "json"].map((extension) => `${name}.${extension}`);
}

/** The files that may hold tests of the pipelines of a file. */
export function testsOfPipeline(path: string): string[] {
  const name = path.replace(/\.(ya?ml|json)$/i, "");
  return ["yaml", "yml", "json"].map((extension) => `${name}.test.${extension}`);
}

/** A file of tests without its pipeline. */
export function orphanedTest(file: string): Problem {
  const [pipeline = ""] = pipelinesOfTest(file).map((path) => path.slice(path.lastIndexOf("/") + 1));
  return problem(
    "ORPHANED_TEST",
    { file, line: 1, column: 1 },
    {
      subject: "file",
      expected: `the pipeline that it tests beside it, in ${pipeline}`,
      found: "no such file",
      suggestion: "name it as the file of its pipeline, with .test before the ending, or remove it",
    },
  );
}
