import type { TokenView } from "../../../engine/index.ts";
import { facts } from "../invocation/terminal.ts";
import { daemonOf } from "../control/client.ts";
import { type ExitCode, type Invocation, show } from "../invocation/invocation.ts";

/** `sluice token show ID`: when the token was made and last used. Its value is not stored. */
export async function showToken(invocation: Invocation, id: string): Promise<ExitCode> {
  const token = (await daemonOf(invocation).get(tokenUrl(id))) as TokenView;
  return show(invocation, token, () =>
    facts([
      ["made", token.created_at],
      ["last used", token.last_used_at ?? "never"],
      ["comes from", token.brought ? "x-sluice.access_token of the pipeline's file" : "sluice"],
    ]),
  );
}

/** `sluice token rotate ID`: the new token alone on standard output, so that it can be piped into a secret store. */
export async function rotateToken(invocation: Invocation, id: string): Promise<ExitCode> {
  const now = invocation.settings.isOn("token_now");
  const url = `${tokenUrl(id)}/rotate${now ? "?now=true" : ""}`;
  const rotated = (await daemonOf(invocation).post(url)) as { access_token: string };
  const code = show(invocation, rotated, () => rotated.access_token);
  const earlier = now ? "is refused from now on" : "is accepted for ten minutes more";
  invocation.terminal.err(`This is shown once. The earlier token ${earlier}.`);
  return code;
}

function tokenUrl(id: string): string {
  return `/control/v1/pipeline/${encodeURIComponent(id)}/token`;
}
