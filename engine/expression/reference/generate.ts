import { writeFile } from "node:fs/promises";
import { reference } from "./reference.ts";

await writeFile(new URL("../../../docs/reference/expressions.md", import.meta.url), await reference());
