import { writeFile } from "node:fs/promises";
import { commandsReference } from "./reference.ts";

await writeFile(new URL("../../docs/reference/commands.md", import.meta.url), await commandsReference());
