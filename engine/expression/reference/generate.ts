import { writeFile } from "node:fs/promises";
import { reference } from "./reference.ts";

await writeFile(new URL("../REFERENCE.md", import.meta.url), await reference());
