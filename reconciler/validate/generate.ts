import { writeFile } from "node:fs/promises";
import { codesReference } from "./codes-reference.ts";

await writeFile(new URL("../../docs/reference/problem-codes.md", import.meta.url), await codesReference());
