import { writeFile } from "node:fs/promises";
import { textsPage } from "./page.ts";

await writeFile(new URL("../../../docs/reference/dead-letters-and-pauses.md", import.meta.url), await textsPage());
