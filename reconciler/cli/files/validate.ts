import { format, type Format } from "../../validate/formats/format.ts";
import { type ExitCode, formatOf, type Invocation } from "../invocation/invocation.ts";
import { printable, printableLines } from "../invocation/terminal.ts";
import { type Ask, isValid, validationOf, withUnread } from "./validation.ts";

/** `sluice validate [PATH...]`: prints the problems of pipeline files, without running them. */
export async function validate(invocation: Invocation, paths: string[] = []): Promise<ExitCode> {
  const { settings, terminal } = invocation;
  const { unread, ...report } = await validationOf(
    invocation,
    paths.length === 0 ? ["."] : paths,
    settings.isOn("validate_resolve") ? asking(invocation) : undefined,
  );
  const as = formatOf(settings, "validate_format") as Format;
  // On a terminal they are told beside the report.
  const text = format(as === "text" ? report : withUnread(report, unread), as);
  terminal.out(printableLines(text.replace(/\n$/, "")));
  for (const { path, reason } of unread) terminal.err(printable(`${path}: not read: ${reason}`));
  return isValid({ ...report, unread }) ? 0 : 1;
}

/** Asks the servers of the pipelines; loads the engine. */
function asking(invocation: Invocation): Ask {
  return async (pipelines) => {
    const { resolveProblems } = await import("./resolve.ts");
    return resolveProblems(pipelines, invocation);
  };
}
