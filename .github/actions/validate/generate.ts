import { writeFile } from "node:fs/promises";
import { bundled } from "./bundle.ts";

for (const [name, text] of Object.entries(await bundled())) await writeFile(new URL(name, import.meta.url), text);
