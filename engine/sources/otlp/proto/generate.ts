import { writeFile } from "node:fs/promises";
import { messagesText } from "./messages-text.ts";

await writeFile(new URL("messages.json", import.meta.url), await messagesText());
