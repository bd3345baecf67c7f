import { writeFile } from "node:fs/promises";
import { codesReference } from "./codes-reference.ts";

await writeFile(new URL("CODES.md", import.meta.url), await codesReference());
