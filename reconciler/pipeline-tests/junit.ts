import { grouped } from "../language/grouped.ts";
import { xml } from "../validate/formats/xml.ts";
import type { TestResult } from "./result.ts";
import { detailsOf } from "./text.ts";

/** JUnit's XML: a suite for each file, and a case for each test. */
export function junitOf(results: readonly TestResult[]): string {
  const byFile = grouped(results, ({ test }) => test.file);
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="sluice test" ${countsOf(results)}>`,
    ...[...byFile].flatMap(([file, of]) => suite(file, of)),
    "</testsuites>",
  ].join("\n");
}

function suite(file: string, results: readonly TestResult[]): string[] {
  return [
    `  <testsuite name="${xml(file)}" ${countsOf(results)} skipped="0">`,
    ...results.map((result) => testCase(file, result)),
    "  </testsuite>",
  ];
}

function testCase(file: string, result: TestResult): string {
  const seconds = (result.milliseconds / 1000).toFixed(3);
  const start = `    <testcase name="${xml(result.test.name)}" classname="${xml(file)}" time="${seconds}"`;
  if (result.status === "passed") return `${start}/>`;
  const [element, message] =
    result.status === "failed" ? ["failure", "another outcome than expected"] : ["error", result.failure];
  const text = detailsOf(result)
    .map((line) => line.text)
    .join("\n");
  return [
    `${start}>`,
    `      <${element} type="${result.status}" message="${xml(message)}">${xml(text)}</${element}>`,
    "    </testcase>",
  ].join("\n");
}

function countsOf(results: readonly TestResult[]): string {
  const count = (status: TestResult["status"]) => results.filter((one) => one.status === status).length;
  return `tests="${results.length}" failures="${count("failed")}" errors="${count("broken")}"`;
}
