import { writeFile } from "node:fs/promises";
import { declarations } from "./declarations.ts";
import { planReference } from "./plan-reference.ts";
import { reference } from "./reference.ts";

await writeFile(new URL("pipeline-v3.d.ts", import.meta.url), await declarations());
await writeFile(new URL("../docs/reference/pipeline.md", import.meta.url), await reference());
await writeFile(new URL("../docs/reference/plan-report.md", import.meta.url), await planReference());
