// Prints `N passed, N failed, N skipped` from the test runner's JSON report.
import { readFileSync } from "node:fs";

const report = JSON.parse(readFileSync(process.argv[2], "utf8"));
const skipped = report.numPendingTests + report.numTodoTests;
// A file that could not be loaded has no test that failed, and is a failure all the same.
const broken = report.testResults.filter(
  ({ status, assertionResults }) => status === "failed" && assertionResults.length === 0,
);
console.log(`${report.numPassedTests} passed, ${report.numFailedTests + broken.length} failed, ${skipped} skipped`);
