import { execFileSync } from "node:child_process";
import { crash } from "./crash.ts";

/** `npm run faults -- NAME`: the long forms. Each prints what it counted, and ends with 1 if a promise was broken. */
const faults: Record<string, () => Promise<boolean>> = {
  async crash() {
    const report = await crash({ kills: 50, log: (line) => console.log(line) });
    console.log(JSON.stringify(report, undefined, 2));
    const { lost, doubled, strangers, dropped, replayed } = report;
    const isWhole = lost.length + doubled.length + strangers.length === 0;
    if (!isWhole) console.log("BROKEN: events were lost, doubled or invented");
    if (replayed === 0 || dropped === 0)
      console.log("BROKEN: no insert was repeated and dropped, so nothing was tested");
    return isWhole && replayed > 0 && dropped > 0;
  },
};

const name = process.argv[2] ?? "";
const fault = faults[name];
if (fault === undefined) {
  console.error(`usage: npm run faults -- NAME, where NAME is one of: ${Object.keys(faults).join(", ")}`);
  process.exitCode = 1;
} else {
  execFileSync("npm", ["run", "--silent", "build"], { stdio: "inherit" });
  process.exitCode = (await fault()) ? 0 : 1;
}
