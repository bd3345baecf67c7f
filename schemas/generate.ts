import { writeFile } from "node:fs/promises";
import { declarations } from "./declarations.ts";

await writeFile(new URL("pipeline-v3.d.ts", import.meta.url), await declarations());
