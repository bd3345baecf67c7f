// Prints `N passed, N failed, N skipped`, added up over what the commands of the tests have noted of their last runs.
import { readFileSync } from "node:fs";

const runs = Object.values(JSON.parse(readFileSync(".cache/test-runs.json", "utf8")));
const sum = (name) => runs.reduce((total, run) => total + run[name], 0);
console.log(`${sum("passed")} passed, ${sum("failed")} failed, ${sum("skipped")} skipped`);
