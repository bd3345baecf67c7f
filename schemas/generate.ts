import { writeFile } from "node:fs/promises";
import { declarations } from "./declarations.ts";
import { reference } from "./reference.ts";

await writeFile(new URL("pipeline-v3.d.ts", import.meta.url), await declarations());
await writeFile(new URL("REFERENCE.md", import.meta.url), await reference());
